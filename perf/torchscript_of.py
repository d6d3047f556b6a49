"""Makes a frozen TorchScript model of an MLP that `mylos convert RUN FILE.safetensors` wrote, for FTorch.

usage: torchscript_of.py FILE.safetensors OUT.pt
"""
import pathlib
import sys

import torch
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests/apps"))
import safetensors_file  # noqa: E402: the path is set first


def network_of(path):
    """Its layers in the file's order of names: hidden1, hidden2, ..., then head."""
    _, tensors = safetensors_file.read(path)
    names = {name.rpartition(".")[0] for name in tensors}
    hidden = sorted((name for name in names if name != "head"), key=lambda name: int(name.removeprefix("hidden")))
    layers = []
    for name in [*hidden, "head"]:
        weight, bias = (torch.tensor(tensors[f"{name}.{part}"]) for part in ("weight", "bias"))
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": bias})
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval()


torch.jit.freeze(torch.jit.script(network_of(pathlib.Path(sys.argv[1])))).save(sys.argv[2])
