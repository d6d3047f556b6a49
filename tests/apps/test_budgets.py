"""No process takes more memory than its plan says, or than memory.budget: random convolutional networks, MLPs and GPTs.

usage: test_budgets.py MYLOS [--seed N] [--full] [--only NUMBER]

Each deck is planned, and then run with a budget that leaves MARGIN beside what the plan must have: the peak of every rank
(ru_maxrss, what VmHWM is) is at most that budget, and at most the plan and 1 %.
"""
import math
import os
import random
import sys
import tempfile

import numpy

from process_peaks import peaks_of
from support.cases import chosen_numbers, chosen_seed
from support.command import Command
from support.data_files import write_data
from support.decks import sections_text

MEBIBYTE = 1 << 20
MARGIN = 2 * MEBIBYTE  # one start is not as large as the next
MAX_FLOPS = 4e9  # of a step's forward pass: the tests end


class Deck:
    def __init__(self, name, model, layers=(), data=None, more=None, ranks=1):
        self.name, self.model, self.layers, self.ranks = name, model, layers, ranks
        self.data, self.more = data or {}, more or {}

    def text(self, folder):
        sections = {"run": {"name": "r", "folder": folder, "steps": 3, "log_every": 1, "threads": 1},
                    "data": {"train": "train.h5", "test": "test.h5", **self.data}, "model": self.model,
                    "memory": {"times": "model"}, **self.more}
        return sections_text(sections, self.layers)


def convolution(source, extents, channels, kernels):
    """A layer, its grid, and the FLOPs of a sample."""
    axes = len(extents)
    dilation = 2 if source.random() < 0.1 else 1
    stride = 2 if source.random() < 0.15 and min(extents) >= 8 else 1
    kernel = [source.choice(kernels) for _ in extents] if source.random() < 0.3 else [source.choice(kernels)] * axes
    padding = [(k - 1) * dilation // 2 for k in kernel]
    if any(p >= n for p, n in zip(padding, extents)):
        kernel, padding, dilation = [1] * axes, [0] * axes, 1
    outputs = source.choice([4, 8, 16, 16, 24, 32, 48, 64])
    groups = source.choice([1, 1, 1, 1, 1, 2, channels])
    if channels % groups or outputs % groups:
        groups = 1
    layer = {"kind": "conv", "outputs": outputs, "kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation,
             "groups": groups, "edges": source.choice(["zero"] * 5 + ["periodic", "reflect"]), "bias": source.random() < 0.7,
             "activation": source.choice(["none", "relu", "gelu"])}
    if source.random() < 0.2:
        layer["norm"] = source.choice(["batchnorm", "layernorm"])
    after = [(n + 2 * p - dilation * (k - 1) - 1) // stride + 1 for n, p, k in zip(extents, padding, kernel)]
    return layer, after, outputs, 2.0 * math.prod(after) * math.prod(kernel) * outputs * channels / groups


def convolutional(source):
    axes = source.choice([1, 1, 1, 2, 2, 2, 3])
    sizes = {1: [16, 60, 130, 256, 700, 1024, 2048, 3000], 2: [8, 14, 28, 32, 64, 130], 3: [4, 8, 12]}[axes]
    kernels = {1: [1, 3, 5, 7, 15, 31, 63, 127], 2: [1, 3, 3, 3, 5, 7, 11], 3: [1, 3, 3, 5]}[axes]
    extents = [source.choice(sizes) for _ in range(axes)]
    channels = source.randint(1, 8)
    shape, layers, flops = [*extents, channels], [], 0.0
    for _ in range(source.choice([1, 2, 2, 4, 8, 16, 30])):
        layer, after, outputs, more = convolution(source, extents, channels, kernels)
        if flops + more > MAX_FLOPS / 2:
            break
        layers.append(layer)
        extents, channels, flops = after, outputs, flops + more
    layers += [{"kind": "global_pool"}, {"kind": "dense"}]
    return finished(source, f"{axes}-d, {len(layers) - 2} convolutions", {"type": "chain"}, layers, flops, shape)


def finished(source, name, model, layers, flops, shape, ranks=None):
    ranks = ranks or source.choice([1, 1, 1, 2])
    largest = max(2 * ranks, min(64, int(MAX_FLOPS / max(flops, 1))))
    batch = source.randint(2 * ranks, largest)
    data = {"batch": batch, "shape": shape}
    share = -(-batch // ranks)
    if share > 3 and source.random() < 0.4:
        data["micro_batch"] = source.randint(2, share - 1)
        smallest = min((each - 1) % data["micro_batch"] + 1 for each in (share, batch // ranks))
        if smallest == 1:
            del data["micro_batch"]
    return Deck(name, model, layers, data, options(source), ranks)


def options(source):
    more = {"precision": {"compute": source.choice(["fp32", "fp32", "bf16", "fp16"])},
            "optimizer": {"lr": 1e-4, "type": source.choice(["adamw", "sgd", "lamb"])}, "checkpoint": {"every": 2}}
    if source.random() < 0.2:
        more["health"] = {"every": 1}
    if source.random() < 0.2:
        more["optimizer"]["average"] = 0.9
    return more


def reported():
    """Decks that took up to 2.4 times their plan."""
    plain = {"precision": {"compute": "fp32"}, "checkpoint": {"every": 2}}

    def conv(kernel):
        return {"kind": "conv", "outputs": 16, "kernel": kernel, "activation": "relu"}
    tail = [{"kind": "global_pool"}, {"kind": "dense"}]
    yield Deck("a long kernel", {"type": "chain"}, [conv(63), conv(63), *tail], {"batch": 32, "shape": [2048, 2]}, plain)
    yield Deck("longer on two ranks", {"type": "chain"}, [conv(255), conv(255), *tail], {"batch": 16, "shape": [2048, 2]}, plain, 2)
    many = [{**conv(1 + 2 * (i % 4)), "outputs": 8 + 8 * (i // 4 % 4)} for i in range(60)]
    yield Deck("sixty convolutions", {"type": "chain"}, [*many, *tail], {"batch": 20, "shape": [200, 4]}, plain)


def plain_network(source):
    if source.random() < 0.5:
        widths = [source.choice([16, 64, 200, 512, 900]) for _ in range(source.randint(1, 12))]
        model = {"type": "mlp", "hidden": widths, "activation": source.choice(["relu", "gelu"])}
        deck = finished(source, f"mlp of {len(widths)}", model, (), 2.0 * sum(widths) * max(widths), None)
        deck.data["batch"] = source.choice([16, 100, 600, 2000]) * deck.ranks
        deck.data.pop("micro_batch", None)
        del deck.data["shape"]
        return deck
    heads = source.choice([1, 2, 4])
    model = {"type": "gpt", "layers": source.randint(1, 8), "heads": heads, "width": heads * source.choice([16, 32, 64]),
             "context": source.choice([16, 64, 128]), "vocabulary": 128}
    deck = finished(source, f"gpt of {model['layers']}", model, (), 1e7 * model["layers"], None)
    deck.data = {"batch": source.choice([2, 8, 24]) * deck.ranks}
    return deck


def decks(seed, convolutions, others):
    yield from reported()
    for number in range(convolutions):
        yield convolutional(random.Random(f"{seed} convolution {number}"))
    for number in range(others):
        yield plain_network(random.Random(f"{seed} other {number}"))


def prepare_data(command, deck):
    source = numpy.random.default_rng(1)
    batch = deck.data["batch"]
    if deck.model["type"] == "gpt":
        text = bytes(source.integers(32, 127, 200 * (deck.model["context"] + 1), dtype="u1"))
        for name in ("train", "test"):
            (command.folder / f"{name}.txt").write_bytes(text)
            command.must("prepare", "text", f"{name}.txt", "--out", f"{name}.h5")
        return
    columns = math.prod(deck.data["shape"]) if "shape" in deck.data else 20
    for name, samples in (("train", 3 * batch), ("test", batch + batch // 2 + 1)):
        write_data(command.folder / f"{name}.h5", classes=3, inputs=source.standard_normal((samples, columns), dtype="f4"),
                   labels=source.integers(0, 3, samples).astype("i4"))


def judge(program, deck):
    """The share of its plan that the largest rank took, and of its budget."""
    with tempfile.TemporaryDirectory() as folder:
        command = Command(os.path.abspath(program), folder)
        prepare_data(command, deck)
        command.write("deck.toml", deck.text("run"))
        plan = command.plan_json("deck.toml", "--ranks", deck.ranks)
        whole = plan["rank_bytes"] - plan["checkpoint_copy_bytes"]
        budget = whole + MARGIN
        result, peaks = peaks_of(command, deck.ranks, "train", "deck.toml", f'memory.budget="{budget} B"')
        assert result.returncode == 0, f"{deck.name}: {result.returncode}\n{deck.text('run')}{result.stdout}{result.stderr}"
        assert len(peaks) == deck.ranks, peaks
        return max(peaks) / whole, max(peaks) / budget, whole


def main():
    seed, shares, too_large = chosen_seed(), [], []
    drawn = list(decks(seed, 200, 100) if "--full" in sys.argv else decks(seed, 3, 3))
    for number in chosen_numbers(range(len(drawn)), range(len(drawn))):
        deck = drawn[number]
        of_plan, of_budget, whole = judge(sys.argv[1], deck)
        shares.append(of_plan)
        print(f"{number}: {deck.name}, {deck.ranks} ranks: {of_plan:.3f} of a plan of {whole / MEBIBYTE:.1f} MiB", flush=True)
        if of_plan > 1.01 or of_budget > 1:
            too_large.append(number)
    print(f"seed {seed}: {len(shares)} decks, peak / plan {min(shares):.3f} to {max(shares):.3f}, "
          f"median {sorted(shares)[len(shares) // 2]:.3f}; above the plan and 1 %, or above the budget: {too_large or 'none'}")
    assert not too_large, too_large


main()
