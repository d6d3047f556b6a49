"""Builds ONNX models with PyTorch's exporters, and the outputs of PyTorch.

usage: onnx_torch_models.py FOLDER

Writes NAME.onnx and NAME.npz, as onnx_models.py does, by TorchScript at two opsets and by the dynamo exporter.
"""
import logging
import pathlib
import sys
import warnings

import numpy
import torch
from torch import nn
from torch.nn import functional

ROWS = 7


class Residual(nn.Module):
    """The first stage of a ResNet, and its head."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv1, self.norm1 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.short, self.norm3 = nn.Conv2d(8, 16, 1, stride=2, bias=False), nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        x = functional.relu(self.norm(self.stem(x)))
        y = self.norm2(self.conv2(functional.relu(self.norm1(self.conv1(x)))))
        x = functional.relu(y + self.norm3(self.short(x)))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(2, outputs), nn.GELU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1, padding_mode="circular"), nn.GroupNorm(2, outputs), nn.SiLU())


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.down1, self.down2, self.middle = block(2, 8), block(8, 16), block(16, 16)
        self.pool = nn.MaxPool2d(2)
        if up == "transposed":
            self.up2, self.up1 = nn.ConvTranspose2d(16, 16, 2, stride=2), nn.ConvTranspose2d(16, 8, 2, stride=2)
        else:
            self.up2 = nn.Upsample(scale_factor=2, mode=up)
            self.up1 = nn.Sequential(nn.Upsample(scale_factor=2, mode=up), nn.Conv2d(16, 8, 1))
        self.decode2, self.decode1, self.last = block(32, 16), block(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        y = self.decode2(torch.cat([self.up2(self.middle(self.pool(b))), b], 1))
        return self.last(self.decode1(torch.cat([a, self.up1(y)], 1)))


class Scaled(nn.Module):
    def __init__(self, network, inputs, outputs):
        super().__init__()
        self.network = network
        for name, values in (("mean", torch.randn(inputs)), ("deviation", torch.rand(inputs) + 0.5), ("scale", torch.rand(outputs) + 0.5),
                             ("shift", torch.randn(outputs))):
            self.register_buffer(name, values)

    def forward(self, x):
        return self.network((x - self.mean) / self.deviation) * self.scale + self.shift


class PreNorm(nn.Module):
    """A feed-forward block with a layer scale."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.gate = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x + self.gate * self.down(functional.gelu(self.up(self.norm(x)), approximate="tanh"))


def networks():
    """Name: network, shape of a sample, whether channels are last."""
    return {
        "mlp": (nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 12), nn.GELU(), nn.LayerNorm(12), nn.Linear(12, 8), nn.Tanh(),
                              nn.Dropout(0.1), nn.Linear(8, 3)), (5,), False),
        "flags": (nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 12), nn.GELU(approximate="tanh"), nn.BatchNorm1d(12),
                                nn.Linear(12, 8), nn.Sigmoid()), (5,), False),
        "classes": (nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(-1)), (6,), False),
        "scaled": (Scaled(nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3)), 5, 3), (5,), False),
        "blocks": (nn.Sequential(nn.Linear(5, 16), PreNorm(16), PreNorm(16), nn.Linear(16, 2)), (5,), False),
        "cnn": (nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(6, 12, (3, 5), stride=(2, 1), padding=(1, 2), groups=3), nn.GELU(), nn.AvgPool2d(2), nn.Flatten(),
                              nn.Linear(24, 5)), (3, 8, 8), False),
        "residual": (Residual(), (3, 8, 8), False),
        "unet-transposed": (UNet("transposed"), (2, 8, 12), False),
        "unet-nearest": (UNet("nearest"), (2, 8, 12), False),
        "unet-bilinear": (UNet("bilinear"), (2, 8, 12), False),
        "line": (nn.Sequential(nn.Conv1d(2, 6, 5, dilation=2, padding=4, padding_mode="circular"), nn.InstanceNorm1d(6, affine=True),
                               nn.Tanh(), nn.Conv1d(6, 3, 3, padding=1, padding_mode="reflect")), (2, 20), False),
        "solid": (nn.Sequential(nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4, eps=1e-3), nn.ReLU(),
                                nn.ConvTranspose3d(4, 2, 4, stride=2, padding=1)), (1, 3, 4, 5), False),
        "points": (nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)), (7, 4), True),
        "finer": (nn.Sequential(nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1), nn.ReLU(),
                                nn.ConvTranspose2d(4, 2, 3, stride=2)), (2, 4, 4), False),
    }


def export(network, x, path, how):
    if how == "dynamo":
        torch.onnx.export(network, (x,), path, dynamo=True, dynamic_shapes=({0: "batch"},), verbose=False, external_data=False)
    else:
        torch.onnx.export(network, (x,), path, dynamo=False, opset_version=how, input_names=["x"], dynamic_axes={"x": {0: "batch"}})


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    for name, (network, shape, is_last) in networks().items():
        for module in network.modules():
            if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
                module.weight.data.uniform_(0.5, 2)
                module.bias.data.normal_()
        network.eval()
        x = torch.randn(ROWS, *shape)
        with torch.no_grad():
            arrays = [array if is_last or array.ndim < 3 else numpy.moveaxis(array, 1, -1) for array in (x.numpy(), network(x).numpy())]
        inputs, outputs = (array.reshape(ROWS, -1) for array in arrays)
        for how in (13, 17, "dynamo"):
            export(network, x, folder / f"{name}-{how}.onnx", how)
            numpy.savez(folder / f"{name}-{how}.npz", inputs=inputs, outputs=outputs)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
