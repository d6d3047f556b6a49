"""Builds ONNX models with PyTorch's exporters, and the outputs of ONNX Runtime.

usage: onnx_torch_models.py FOLDER

Writes NAME.onnx and NAME.npz, or NAME.txt, as onnx_exported.py says, by TorchScript at two opsets and by the dynamo exporter. Networks
of tokens are in FOLDER/tokens: inputs are their tokens, outputs the logits.
"""
import logging
import pathlib
import sys
import warnings

import numpy
import torch
from torch import nn
from torch.nn import functional

from onnx_exported import ROWS, write, write_refused


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


class Attention(nn.Module):
    """Causal attention with one matrix for queries, keys and values, as in nanoGPT."""

    def __init__(self, width, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for part in self.qkv(x).split(width, 2))
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.tril(torch.ones(tokens, tokens, dtype=torch.bool))
            scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
            y = functional.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1) @ v
        return self.output(y.transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, width, heads, fused, hidden):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width, heads, fused), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, fused=False, tied=True, hidden=64, width=16):
        super().__init__()
        self.token, self.position = nn.Embedding(29, width), nn.Embedding(12, width)
        self.blocks = nn.Sequential(*(Block(width, 2, fused, hidden) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 29, bias=False)
        if tied:
            self.head.weight = self.token.weight

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class Encoder(nn.Module):
    """PyTorch's own layers with a causal mask, for one number of tokens."""

    def __init__(self, norm_first=True, activation=None, causal=True):
        super().__init__()
        self.token, self.position = nn.Embedding(29, 16), nn.Parameter(torch.randn(12, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 64, 0.0, activation or (lambda x: functional.gelu(x, approximate="tanh")),
                                           batch_first=True, norm_first=norm_first)
        self.layers = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16), enable_nested_tensor=False)
        self.head, self.causal = nn.Linear(16, 29, bias=False), causal

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(12) if self.causal else None
        return self.head(self.layers(self.token(tokens) + self.position, mask=mask, is_causal=self.causal))


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


def token_networks():
    """Name: network, tokens of a sample, whether that number is fixed."""
    return {"gpt": (Gpt(), 9, False), "gpt-fused": (Gpt(fused=True, tied=False, hidden=40), 9, False), "encoder": (Encoder(), 12, True)}


def refused_token_networks():
    """Name: network, words of the message."""
    return {"post-norm": (Encoder(norm_first=False), ()), "relu": (Encoder(activation="relu"), ("relu", "gelu")),
            "not-causal": (Encoder(causal=False), ("Softmax", "causal")),
            "wide": (Gpt(hidden=80), ("80 hidden units",))}


def refused_networks():
    """Name: network, shape of a sample, words of the message."""
    return {"attention": (SelfAttention(), (7, 8), ("Transpose", "[batch, 7, 8]")),
            "prelu": (nn.Sequential(nn.Linear(5, 8), nn.PReLU(), nn.Linear(8, 2)), (5,), ("[batch, 8]",)),
            "recurrent": (Recurrent(), (7, 4), ("Transpose", "[batch, 7, 4]")),
            "epsilon": (nn.Sequential(nn.Linear(5, 8), nn.LayerNorm(8, eps=1e-3), nn.Linear(8, 2)), (5,), ("epsilon", "1e-5"))}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(4, 6, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]


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


def exported(network, x, path, how, is_fixed=False):
    """`is_fixed`: the second axis of a network of tokens."""
    axes = {0: "batch"} if is_fixed or x.ndim != 2 or x.is_floating_point() else {0: "batch", 1: "tokens"}
    if how == "dynamo":
        torch.onnx.export(network, (x,), path, dynamo=True, dynamic_shapes=(axes,), verbose=False, external_data=False)
    else:
        torch.onnx.export(network, (x,), path, dynamo=False, opset_version=how, input_names=["x"], dynamic_axes={"x": axes})
    return path.read_bytes()


def randomise_statistics(network):
    for module in network.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            module.weight.data.uniform_(0.5, 2)
            module.bias.data.normal_()


def main(folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    tokens = folder / "tokens"
    tokens.mkdir(exist_ok=True)
    path = folder / "exported"
    for how in (14, 17, "dynamo"):
        for name, (network, shape, is_last) in networks().items():
            randomise_statistics(network)
            x = torch.randn(ROWS, *shape)
            write(folder, f"{name}-{how}", exported(network.eval(), x, path, how), x.numpy(), is_last)
        for name, (network, shape, words) in refused_networks().items():
            write_refused(folder, f"{name}-{how}", exported(network.eval(), torch.randn(ROWS, *shape), path, how), "unsupported-feature", *words)
    for how in (14, 17, "dynamo"):
        for name, (network, length, is_fixed) in token_networks().items():
            x = torch.randint(0, 29, (ROWS, length))
            write(tokens, f"{name}-{how}", exported(network.eval(), x, path, how, is_fixed), x.numpy(), is_last=True)
    for name, (network, words) in refused_token_networks().items():
        x = torch.randint(0, 29, (ROWS, 12))
        write_refused(folder, f"{name}-17", exported(network.eval(), x, path, 17, True), "unsupported-feature", *words)
    path.unlink()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
