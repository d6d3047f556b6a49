"""PyTorch's training step of chain_bench's networks with fused AdamW, on commands.

Speaks what chain_bench speaks; names and types are those of pytorch_step.py. All is channels last, which PyTorch's
convolutions on hosts are fastest in.
"""

import argparse

import torch
from torch import nn

from pytorch_program import serve


def convolution(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride, padding=1)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = convolution(channels, channels), convolution(channels, channels)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class Residual(nn.Sequential):
    sample, batch = (1, 28, 28), 128

    def __init__(self):
        layers, before = [], 1
        for channels in 32, 64, 128:
            layers += [convolution(before, channels, 1 if before == 1 else 2), nn.ReLU()]
            layers += [Block(channels) for _ in range(3)]
            before = channels
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10))

    @staticmethod
    def loss(outputs):
        return nn.functional.cross_entropy(outputs, torch.arange(len(outputs)) % 10)


def two(inputs, outputs):
    return nn.Sequential(convolution(inputs, outputs), nn.ReLU(), convolution(outputs, outputs), nn.ReLU())


class UNet(nn.Module):
    sample, batch = (3, 64, 64), 16

    def __init__(self):
        super().__init__()
        self.left32, self.left64, self.bottom = two(3, 32), two(32, 64), two(64, 128)
        self.right64, self.right32, self.head = two(128 + 64, 64), two(64 + 32, 32), nn.Conv2d(32, 1, 1)
        self.targets = torch.rand(self.batch, 1, 64, 64) * 2 - 1

    def forward(self, x):
        half = nn.functional.max_pool2d
        twice = nn.Upsample(scale_factor=2)
        left32 = self.left32(x)
        left64 = self.left64(half(left32, 2))
        x = self.bottom(half(left64, 2))
        x = self.right64(torch.cat((twice(x), left64), 1))
        return self.head(self.right32(torch.cat((twice(x), left32), 1)))

    def loss(self, outputs):
        return nn.functional.mse_loss(outputs.float(), self.targets)


NETWORKS = {"residual": Residual, "unet": UNet}


def build(name, network):
    """One training step as a function without arguments."""
    torch.manual_seed(1)
    model = network()
    inputs = torch.rand(network.batch, *network.sample) * 2 - 1
    if name.startswith("bf16-pure"):
        model, inputs = model.bfloat16(), inputs.bfloat16()
    model, inputs = model.to(memory_format=torch.channels_last), inputs.to(memory_format=torch.channels_last)
    # The same low learning rate as for Mylos: thousands of steps on one batch must not overfit.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-7, weight_decay=0.01, fused=True)
    autocast = name.startswith("bf16-autocast")

    def loss_of(x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            return model.loss(model(x))

    if name.endswith("-compiled"):
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(inputs).backward()
        optimizer.step()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--network", choices=NETWORKS, default="residual")
    parser.add_argument("--types", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    names = [name for name in ("fp32", "bf16-autocast", "bf16-pure") if name.split("-")[0] in arguments.types]
    if not arguments.no_compile:
        names += [name + "-compiled" for name in names]
    serve(names, lambda name: build(name, NETWORKS[arguments.network]))


if __name__ == "__main__":
    main()
