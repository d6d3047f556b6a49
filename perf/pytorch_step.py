"""PyTorch's training step of an MLP 784-2048-2048-10 at batch 512 with fused AdamW, on commands.

Speaks what step_bench speaks: "step NAME COUNT" on standard input is answered by the median time of a step in ms and
an empty line. First it prints the names it can do on this machine. NAME is type[-compiled]:
  fp32           floats
  bf16-autocast  float weights, torch.autocast
  bf16-pure      weights, gradients and moments in bfloat16: less accurate than Mylos, which keeps float masters
"""

import sys

import torch

from pytorch_program import serve

BATCH, WIDTHS = 512, (784, 2048, 2048, 10)


def build(name):
    """One training step as a function without arguments."""
    torch.manual_seed(1)
    layers = []
    for inputs, outputs in zip(WIDTHS, WIDTHS[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    inputs = torch.rand(BATCH, WIDTHS[0]) * 2 - 1
    labels = torch.arange(BATCH) % WIDTHS[-1]
    if name.startswith("bf16-pure"):
        model, inputs = model.bfloat16(), inputs.bfloat16()
    # As slow as Mylos' here: thousands of steps on one batch must not fit it.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7, weight_decay=0.01, fused=True)
    autocast = name.startswith("bf16-autocast")

    def loss_of(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            return torch.nn.functional.cross_entropy(model(x), y)

    if name.endswith("-compiled"):
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(inputs, labels).backward()
        optimizer.step()

    return step


def main():
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    names = ["fp32", "bf16-autocast", "bf16-pure"]
    if "--no-compile" not in sys.argv:
        names += [name + "-compiled" for name in names]
    serve(names, build)


if __name__ == "__main__":
    main()
