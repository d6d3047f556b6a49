"""Trains the FNO of neuraloperator as a file of settings says, with that library's loss and optimizer, and writes its predictions.

usage: anchor.py SETTINGS.json     in the environment that README.md describes
"""
import json
import sys
import time

import h5py
import torch
from neuralop import H1Loss, LpLoss
from neuralop.models import FNO
from neuralop.training import AdamW


def array(path, name):
    """[samples, 1, ...], float."""
    with h5py.File(path) as file:
        return torch.tensor(file[name][()], dtype=torch.float32).unsqueeze(1)


def optimizer_of(settings, parameters):
    kind = {"adamw": AdamW, "adam": torch.optim.Adam}[settings["optimizer"]]
    return kind(parameters, lr=settings["lr"], weight_decay=settings["weight_decay"])


def schedule_of(settings, optimizer):
    """Once per epoch, as its trainer does."""
    if settings["schedule"] == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=settings["schedule_epochs"])
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=settings["schedule_epochs"], gamma=0.5)


def train(model, settings):
    inputs, targets = array(settings["train"], settings["input"]), array(settings["train"], settings["target"])
    axes = len(settings["modes"])
    loss_of = {"relative_h1": H1Loss, "relative_l2": LpLoss}[settings["loss"]](d=axes)  # summed over the samples
    optimizer = optimizer_of(settings, model.parameters())
    schedule = schedule_of(settings, optimizer)
    for _ in range(settings["epochs"]):
        for rows in torch.randperm(len(inputs)).split(settings["batch"]):
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(inputs[rows]), targets[rows]).backward()
            optimizer.step()
        schedule.step()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        settings = json.load(file)
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(settings["seed"])
    model = FNO(n_modes=tuple(settings["modes"]), in_channels=1, out_channels=1, hidden_channels=settings["width"],
                n_layers=settings["blocks"], domain_padding=settings["padding"] or None)
    begin = time.perf_counter()
    train(model, settings)
    with h5py.File(settings["out"], "w") as out, torch.no_grad():
        out.attrs["seconds"] = time.perf_counter() - begin
        out.attrs["parameters"] = sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())
        for name, path in settings["tests"].items():
            batches = array(path, settings["input"]).split(settings["batch"])
            out[name] = torch.cat([model(batch) for batch in batches])[:, 0].numpy()


main()
