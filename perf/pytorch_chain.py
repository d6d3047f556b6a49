"""PyTorch's training step of chain_bench's networks with fused AdamW, on commands.

Speaks what chain_bench speaks; names and types are those of pytorch_step.py. All is channels last, which PyTorch's
convolutions on hosts are fastest in.
"""

import torch
from torch import nn

from pytorch_program import add_step_options, gentle_adamw, parser_of, serve, training_step


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


def build(name, arguments):
    """One training step as a function without arguments."""
    torch.manual_seed(1)
    network = NETWORKS[arguments.network]
    model = network()
    inputs = torch.rand(network.batch, *network.sample) * 2 - 1
    if name.startswith("bf16-pure"):
        model, inputs = model.bfloat16(), inputs.bfloat16()
    model, inputs = model.to(memory_format=torch.channels_last), inputs.to(memory_format=torch.channels_last)
    return training_step(name, model, model.loss, inputs, [gentle_adamw(model.parameters(), fused=True)])


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--network", choices=NETWORKS, default="residual")
    parser.add_argument("--types", nargs="+", default=["fp32", "bf16"])
    add_step_options(parser)
    arguments = parser.parse_args()
    names = [name for name in ("fp32", "bf16-autocast", "bf16-pure") if name.split("-")[0] in arguments.types]
    serve(names, build, arguments)


if __name__ == "__main__":
    main()
