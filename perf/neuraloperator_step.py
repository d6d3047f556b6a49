"""The training step of neuraloperator's networks with fused AdamW, on commands.

Speaks what chain_bench speaks; the networks are its fno-64-12 and spectral-64-12. Names are type[-compiled]:
  fp32            floats
  fp16-mixed      its fno_block_precision: transforms in float, products of modes in half
  fp16-half       transforms in half too
  bf16-autocast   torch.autocast, which leaves transforms in float
"""

import os

import torch
from neuralop.layers.spectral_convolution import SpectralConv
from neuralop.models import FNO
from torch import nn

from pytorch_program import add_step_options, gentle_adamw, parser_of, serve, training_step

WIDTH, BATCH = 32, 16
PRECISIONS = {"fp16-mixed": "mixed", "fp16-half": "half"}


def model_of(network, name):
    kind, points, modes = network.split("-")
    precision = PRECISIONS.get(name.removesuffix("-compiled"), "full")
    if kind == "fno":
        model = FNO(n_modes=(int(modes),) * 2, in_channels=1, out_channels=1, hidden_channels=WIDTH, n_layers=4,
                    fno_block_precision=precision)
        return model, 1, 1, int(points)
    return SpectralConv(WIDTH, WIDTH, (int(modes),) * 2, fno_block_precision=precision), WIDTH, WIDTH, int(points)


def build(name, arguments):
    """One training step as a function without arguments."""
    torch.manual_seed(1)
    model, inputs, outputs, points = model_of(arguments.network, name)
    x = torch.rand(BATCH, inputs, points, points) * 2 - 1
    targets = torch.rand(BATCH, outputs, points, points) * 2 - 1
    # PyTorch's fused AdamW knows no complex numbers; the foreach form is its fastest for them.
    real, complex_ = ([p for p in model.parameters() if p.is_complex() == which] for which in (False, True))
    optimizers = [gentle_adamw(part, **form) for part, form in ((real, {"fused": True}), (complex_, {"foreach": True})) if part]
    return training_step(name, model, lambda outputs: nn.functional.mse_loss(outputs.float(), targets), x, optimizers)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--network", default="fno-64-12")
    add_step_options(parser)
    os.environ.setdefault("WANDB_MODE", "disabled")
    serve(["fp32", *PRECISIONS, "bf16-autocast"], build, parser.parse_args())


if __name__ == "__main__":
    main()
