"""PyTorch's training step of an MLP with fused AdamW, on commands.

Speaks what step_bench speaks: "step NAME COUNT" on standard input is answered by the median time of a step in ms and
an empty line. First it prints the names it can do on this machine. NAME is type[-ddp][-compiled]:
  fp32           floats
  bf16-autocast  float weights, torch.autocast
  bf16-pure      weights, gradients and moments in bfloat16: less accurate than Mylos, which keeps float masters
  ddp            --ranks processes, which part threads and samples: DistributedDataParallel over gloo
"""

import dataclasses

import torch
from torch import nn

from pytorch_program import add_step_options, gentle_adamw, parser_of, serve, training_step


@dataclasses.dataclass
class Network:
    widths: tuple
    batch: int
    dropout: float = 0.0
    clip_norm: float = 0.0


NETWORKS = {"wide": Network((784, 2048, 2048, 10), 512),
            "fashion": Network((784, 1024, 1024, 10), 256, 0.2, 1.0)}  # inputs/fashion_mlp.toml


def model_of(network):
    layers = []
    for inputs, outputs in zip(network.widths, network.widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()] + ([nn.Dropout(network.dropout)] if network.dropout else [])
    while not isinstance(layers[-1], nn.Linear):
        layers.pop()
    return nn.Sequential(*layers)


def build(name, arguments):
    """One training step on this process' samples, as a function without arguments."""
    torch.manual_seed(1)
    network = NETWORKS[arguments.network]
    model = model_of(network)
    rows = network.batch // arguments.ranks
    inputs = torch.rand(rows, network.widths[0]) * 2 - 1
    labels = torch.arange(rows) % network.widths[-1]
    if name.startswith("bf16-pure"):
        model, inputs = model.bfloat16(), inputs.bfloat16()
    if arguments.ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    return training_step(name, model, lambda outputs: nn.functional.cross_entropy(outputs, labels), inputs,
                         [gentle_adamw(model.parameters(), fused=True)], network.clip_norm)


def main():
    parser = parser_of(__doc__)
    add_step_options(parser)
    parser.add_argument("--network", choices=NETWORKS, default="wide")
    parser.add_argument("--ranks", type=int, default=1)
    serve(["fp32", "bf16-autocast", "bf16-pure"], build, parser.parse_args())


if __name__ == "__main__":
    main()
