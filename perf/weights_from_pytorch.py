#!/usr/bin/env python3
"""Takes the weights of ten PyTorch networks into Mylos, and compares the outputs.

  PYTHON perf/weights_from_pytorch.py [--build build/host] [--networks mlp resnet ...] [--bar 1e-6]

PYTHON has torch, and neuraloperator for `fno`. Each network is drawn at random, statistics of batch normalisation too, and
written as a safetensors file with the order of its state_dict; `mylos convert FILE OUT.h5 --deck DECK` makes a checkpoint
of it, of which the library's Model computes the outputs. Printed is the largest difference from PyTorch's in double,
relative to the largest output, beside that of PyTorch's own float. Needs a build with tests (bin/model_outputs,
bin/gpt_logits).
"""

import pathlib
import sys
import tempfile

import numpy
import torch
from torch import nn

from decks import deck_text
import harness

sys.path.append(str(harness.ROOT / "tests/apps"))
import safetensors_file  # noqa: E402: the path is set first


def deck(model, shape=None, layers=()):
    """`model`: lines of [model]; `layers`: those of a chain, as dictionaries."""
    kind = 'type = "chain"\n' if layers else ""
    return deck_text(run={"name": "net", "steps": 1}, precision={"compute": "fp32"},
                     data={"batch": 4, "shape": list(shape) if shape else None}, model=f'loss = "mse"\n{model}\n{kind}', layers=layers)


class Residual(nn.Module):
    """torchvision's BasicBlock."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, channels=(8, 16, 24, 32), classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, channels[0], 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels[0])
        before = channels[0]
        for stage, width in enumerate(channels, 1):
            first = Residual(before, width, 1 if stage == 1 else 2)
            setattr(self, f"layer{stage}", nn.Sequential(first, Residual(width, width, 1)))
            before = width
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for stage in range(1, 5):
            x = getattr(self, f"layer{stage}")(x)
        return self.fc(x.mean((2, 3)))


def two_convolutions(inputs, outputs):
    return nn.Sequential(*(part for width in (inputs, outputs)
                           for part in (nn.Conv2d(width, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU())))


class UNet(nn.Module):
    def __init__(self, inputs=2, fields=3, channels=(8, 16, 32)):
        super().__init__()
        self.downs = nn.ModuleList(two_convolutions(a, b) for a, b in zip((inputs, *channels), channels))
        up = list(zip(channels[::-1], channels[-2::-1]))
        self.larger = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in up)
        self.ups = nn.ModuleList(two_convolutions(2 * b, b) for _, b in up)
        self.out = nn.Conv2d(channels[0], fields, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.downs):
            x = down(x if i == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for larger, up, beside in zip(self.larger, self.ups, kept[-2::-1]):
            x = up(torch.cat([larger(x), beside], 1))
        return self.out(x)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(nn.functional.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads)
        self.ln_2, self.mlp = nn.LayerNorm(width), FeedForward(width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """nanoGPT's names: GPT-2 with linear layers [outputs, inputs], and a tied head."""

    def __init__(self, layers=3, width=48, heads=4, context=20, vocabulary=101):
        super().__init__()
        self.transformer = nn.ModuleDict({
            "wte": nn.Embedding(vocabulary, width), "wpe": nn.Embedding(context, width),
            "h": nn.ModuleList(Block(width, heads) for _ in range(layers)), "ln_f": nn.LayerNorm(width)})
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, tokens):
        t = self.transformer
        x = t.wte(tokens) + t.wpe(torch.arange(tokens.shape[1]))
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x))


class Transposed(nn.Module):
    """Linear layers [inputs, outputs], as of networks from JAX or TensorFlow."""

    def __init__(self, widths=(12, 40, 24, 5)):
        super().__init__()
        self.kernels = nn.ParameterList(torch.randn(a, b) / a**0.5 for a, b in zip(widths, widths[1:]))
        self.biases = nn.ParameterList(torch.randn(b) for b in widths[1:])

    def forward(self, x):
        for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases)):
            x = x @ kernel + bias
            x = torch.tanh(x) if i + 1 < len(self.kernels) else x
        return x

    def exported(self):
        state = {}
        for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases)):
            state |= {f"dense{i}.weight": kernel, f"dense{i}.bias": bias}
        return state


def fno(modes=(8, 6), width=16, blocks=3):
    from neuralop.models import FNO
    return FNO(n_modes=modes, in_channels=2, out_channels=1, hidden_channels=width, n_layers=blocks)


def conv(outputs, kernel, **more):
    return {"kind": "conv", "outputs": outputs, "kernel": kernel, **more}


def networks():
    """name -> (PyTorch's, the deck, shape of a sample: extents and channels, or features)"""
    dense = lambda outputs, **more: {"kind": "dense", "outputs": outputs, **more}
    return {
        "mlp": (lambda: nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(),
                                      nn.LayerNorm(64), nn.Linear(64, 7)),
                deck('type = "mlp"\nhidden = [64, 64]\nactivation = "gelu"\nnorm = "layernorm"\ninputs = 20\noutputs = 7'), (20,)),
        "resnet": (ResNet, deck('type = "resnet"\nchannels = [8, 16, 24, 32]\nblocks = 2\noutputs = 10\ninputs = 768', (16, 16, 3)),
                   (16, 16, 3)),
        "unet": (UNet, deck('type = "unet"\nchannels = [8, 16, 32]\nblocks = 2\nfields = 3\nactivation = "silu"\nnorm = "groupnorm"\n'
                            'inputs = 512\noutputs = 768', (16, 16, 2)), (16, 16, 2)),
        "groupnorm": (lambda: nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
                                            nn.Conv2d(16, 24, 3, 2, 1), nn.GroupNorm(6, 24), nn.ReLU(), nn.Flatten(),
                                            nn.Linear(24 * 9, 30), nn.ReLU(), nn.Linear(30, 4)),
                      deck("inputs = 432\noutputs = 4", (12, 12, 3), [
                          conv(16, 3, norm="groupnorm", norm_groups=4, activation="relu"), {"kind": "max_pool"},
                          conv(24, 3, stride=2, norm="groupnorm", norm_groups=6, activation="relu"),
                          dense(30, activation="relu"), {"kind": "dense"}]), (12, 12, 3)),
        "gpt2": (Gpt, deck_text(run={"name": "gpt", "steps": 1}, data={"batch": 2}, precision={"compute": "fp32"}, model={
            "type": "gpt", "layers": 3, "heads": 4, "width": 48, "context": 20, "vocabulary": 101}), ()),
        "fno": (fno, deck('type = "fno"\nmodes = [8, 6]\nwidth = 16\nblocks = 3\nfields = 1\ninputs = 800\noutputs = 400', (20, 20, 2)),
                (20, 20, 2)),
        "conv1d": (lambda: nn.Sequential(nn.Conv1d(2, 12, 5, padding=2, padding_mode="circular"), nn.BatchNorm1d(12), nn.Tanh(),
                                         nn.Conv1d(12, 12, 3, padding=2, dilation=2), nn.Tanh(), nn.ConvTranspose1d(12, 6, 4, 2, 1),
                                         nn.Tanh(), nn.Conv1d(6, 3, 1)),
                   deck("inputs = 60\noutputs = 180", (30, 2), [
                       conv(12, 5, edges="periodic", norm="batchnorm", activation="tanh"), conv(12, 3, dilation=2, activation="tanh"),
                       conv(6, 4, stride=2, padding=1, transposed=True, activation="tanh"), conv(3, 1)]), (30, 2)),
        "conv3d": (lambda: nn.Sequential(nn.Conv3d(2, 6, 3, padding=1), nn.ReLU(), nn.Conv3d(6, 8, (1, 3, 3), padding=(0, 1, 1)),
                                         nn.ReLU(), nn.Conv3d(8, 2, 3, padding=1, groups=2)),
                   deck("inputs = 480\noutputs = 480", (6, 5, 8, 2), [
                       conv(6, 3, activation="relu"), conv(8, [1, 3, 3], activation="relu"), conv(2, 3, groups=2)]),
                   (6, 5, 8, 2)),
        "depthwise": (lambda: nn.Sequential(nn.Conv2d(4, 16, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.ReLU(),
                                            nn.Conv2d(16, 8, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5)),
                      deck("inputs = 400\noutputs = 5", (10, 10, 4), [
                          conv(16, 1, activation="relu"), conv(16, 3, groups=16, activation="relu"), conv(8, 1),
                          {"kind": "global_pool"}, {"kind": "dense"}]), (10, 10, 4)),
        "transposed": (Transposed, deck('type = "mlp"\nhidden = [40, 24]\nactivation = "tanh"\ninputs = 12\noutputs = 5'), (12,)),
    }


def draw(network):
    """Random statistics too: those that a new network has are 0 and 1."""
    for name, tensor in network.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            tensor.uniform_(0.5, 2)
    for name, tensor in network.named_parameters():
        if tensor.ndim == 1 and not name.startswith("biases"):
            tensor.data.add_(0.3 * torch.randn_like(tensor))
    return network.eval()


def as_double(network):
    for module in network.modules():
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if tensor is not None and tensor.is_complex():
                    table[name] = type(tensor)(tensor.data.to(torch.complex128)) if isinstance(tensor, nn.Parameter) else tensor
    return network.double()


def compare(name, made, text, shape, build, folder):
    torch.manual_seed(5)
    network = draw(made())
    state = network.exported() if hasattr(network, "exported") else network.state_dict()
    state = {key: value.detach().clone() for key, value in state.items() if torch.is_tensor(value)}
    safetensors_file.write(folder / "net.safetensors", {key: state[key].numpy() for key in sorted(state)}, order=state)
    (folder / "deck.toml").write_text(text, encoding="utf-8")
    said = harness.output_of([build / "bin/mylos", "convert", "net.safetensors", "net.h5", "--deck", "deck.toml"], cwd=folder)
    with torch.no_grad():
        if shape:
            x = torch.randn(5, *shape)
            samples = x.movedim(-1, 1) if len(shape) > 1 else x
            x.numpy().tofile(folder / "x.bin")
            harness.output_of([build / "bin/model_outputs", "net.h5", "x.bin", "float", "right", "y.bin"], cwd=folder)
        else:
            samples = torch.randint(0, 101, (2, 20))
            samples.numpy().astype(numpy.int32).tofile(folder / "x.bin")
            harness.output_of([build / "bin/gpt_logits", "net.h5", "x.bin", "y.bin"], cwd=folder)
        single = network(samples)
        exact = as_double(network)(samples.double() if shape else samples)
    channels_last = (lambda y: y.movedim(1, -1)) if shape and exact.ndim > 2 else (lambda y: y)
    exact = channels_last(exact).contiguous().numpy()
    single = channels_last(single).contiguous().numpy()
    ours = numpy.fromfile(folder / "y.bin", numpy.float32).reshape(exact.shape)
    largest = abs(exact).max()
    return abs(ours - exact).max() / largest, abs(single - exact).max() / largest, said


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=harness.ROOT / "build/host")
    parser.add_argument("--networks", nargs="+", choices=networks(), default=list(networks()))
    parser.add_argument("--bar", type=float, default=1e-6)
    parser.add_argument("--tables", action="store_true", help="print what mylos convert says")
    harness.add_json_option(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    failed, errors = [], {}
    for name in arguments.networks:
        with tempfile.TemporaryDirectory() as folder:
            error, of_pytorch, said = compare(name, *networks()[name], arguments.build.resolve(), pathlib.Path(folder))
        if arguments.tables:
            print(said)
        errors[name] = {"Mylos": [float(error)], "PyTorch": [float(of_pytorch)]}
        print(f"{name:12}  {error:.2e} of the largest output (PyTorch's own float: {of_pytorch:.2e})", flush=True)
        if not error <= arguments.bar:
            failed.append(name)
    harness.store(arguments.json, errors, harness.Quiet(0), "of the largest output")
    sys.exit(f"above {arguments.bar:g}: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
