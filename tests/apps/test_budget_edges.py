"""At the edge of its budget a run starts, takes no more, and below it no command starts it: random decks of every kind of
network, data, metric and setting.

usage: test_budget_edges.py MYLOS [--seed N] [--full] [--only NUMBER]

`train` is refused with 1 MiB and names the smallest budget; `train --check` and `mylos plan` name the same one, but for the
size of their processes. With that budget all three accept the deck, and the peak of every rank stays within it and 1 %; with
less than what the libraries' reserve gives up at a start, all three refuse it.
"""
import math
import os
import random
import re
import sys
import tempfile

import h5py
import numpy

from process_peaks import peaks_of
from support.cases import chosen_numbers, chosen_seed
from support.command import Command
from support.data_files import write_data
from support.decks import sections_text

MEBIBYTE = 1 << 20
SPREAD = 4  # MiB: of the sizes of processes
RESERVE = 8  # MiB below: what a start takes from the libraries' share, and the spread
SAMPLE = (12, 21)  # tokens that a larger budget lets be held, and a matrix of 1,500 classes or more


class Edge:
    """A deck, its data and its ranks."""

    def __init__(self, source):
        self.source = source
        self.ranks = source.choice([1, 1, 1, 2, 3])
        self.keys = {"run": {"name": "r", "folder": "run", "steps": 4, "threads": 1, "peak_flops": 1e12},
                     "data": {"train": "train.h5"}, "memory": {"times": "model"}, "precision": {}, "optimizer": {"lr": 1e-4}}
        kinds = [self.classes, self.many_classes, self.targets, self.wide_table, self.deep, self.tokens, self.images, self.fields,
                 self.operator, self.trajectories]
        self.kind = source.choice(kinds)
        self.kind()
        self.settings()

    def set(self, **of):
        for section, keys in of.items():
            self.keys.setdefault(section, {}).update(keys)

    def some(self, share):
        return self.source.random() < share

    # ---- networks and their data ----

    def table(self, columns, samples, classes=0, targets=0, bytes_=False):
        source = numpy.random.default_rng(3)
        def write(folder):
            for name, count in (("train", samples), ("test", samples // 2 + 1)):
                with h5py.File(folder / f"{name}.h5", "w") as file:
                    file["inputs"] = (source.integers(0, 255, (count, columns), dtype="u1") if bytes_ else
                                      source.standard_normal((count, columns), dtype="f4"))
                    if classes:
                        file.attrs["classes"] = classes
                        file["labels"] = source.integers(0, classes, count).astype("i4")
                    else:
                        file["targets"] = source.standard_normal((count, targets), dtype="f4")
        self.write = write
        if self.some(0.6):
            self.set(data={"test": "test.h5"})
        if self.some(0.4):
            self.set(data={"validation": 0.2})
        self.set(data={"batch": self.source.choice([6, 24, 96]), "normalize": self.source.choice(["none", "standard", "minmax"]),
                       "shuffle": self.source.choice(["samples", "blocks"])})

    def mlp(self, loss, layers=None):
        self.set(model={"type": "mlp", "loss": loss, "activation": "gelu",
                        "hidden": [self.source.choice([16, 64, 300]) for _ in range(layers or self.source.randint(1, 5))]})

    def classes(self):
        self.table(self.source.choice([10, 200]), 400, classes=self.source.choice([2, 10]), bytes_=self.some(0.5))
        self.mlp("cross_entropy")
        self.metrics("top5", "confusion")

    def many_classes(self):
        self.table(20, 600, classes=self.source.choice([500, 1500, 3000]))
        self.mlp("cross_entropy")
        self.measure(["confusion"])

    def targets(self):
        loss = self.source.choice(["mse", "l1", "huber", "gaussian"])
        self.table(30, 500, targets=self.source.choice([1, 7, 3000]))
        self.mlp(loss)
        self.metrics("r2", *(["crps"] if loss == "gaussian" else []))

    def wide_table(self):
        self.table(self.source.choice([20000, 100000]), 150, targets=self.source.choice([1, 5]))
        self.mlp("mse", 1)
        self.set(model={"hidden": [8]}, data={"batch": 24})

    def deep(self):
        self.table(40, 300, classes=5)
        self.mlp("cross_entropy")
        self.set(model={"hidden": [64] * self.source.choice([30, 100]), "norm": "layernorm"}, data={"batch": 96})

    def tokens(self):
        count = self.source.choice([20_000, 3_000_000, 12_000_000])
        def write(folder):
            tokens = numpy.random.default_rng(3).integers(0, 90, count).astype("u2")
            for name in ("train", "test"):
                write_data(folder / f"{name}.h5", tokens=tokens[:count if name == "train" else 5000], vocabulary=90)
        self.write = write
        heads = self.source.choice([1, 4])
        self.set(model={"type": "gpt", "layers": self.source.randint(1, 6), "heads": heads, "width": 32 * heads, "context": 64},
                 data={"batch": self.source.choice([6, 24])})
        if self.some(0.5):
            self.set(data={"test": "test.h5"})

    def images(self):
        side = self.source.choice([8, 16, 28])
        self.table(side * side * 3, 200, classes=10, bytes_=True)
        self.set(model={"type": "cnn", "channels": [8, 16]}, data={"shape": [side, side, 3], "batch": 24})
        self.metrics("top5", "confusion")

    def arrays(self, extents, sample_axis):
        source = numpy.random.default_rng(3)
        def write(folder):
            for name, count in (("train", 40), ("test", 14)):
                with h5py.File(folder / f"{name}.h5", "w") as file:
                    for array in "uv":
                        file[array] = source.standard_normal((count, *extents), dtype="f4")
        self.write = write
        axes = [sample_axis, "z y x".split()[-len(extents):]]
        self.keys["data.arrays"] = {"inputs": ["/u", "/v"], "targets": ["/u"], "axes": " ".join([axes[0], *axes[1]])}
        self.set(data={"batch": 6, "normalize": self.source.choice(["none", "channel"])})
        if self.some(0.7):
            self.set(data={"test": "test.h5"})

    def fields(self):
        self.arrays(self.source.choice([[16, 16], [64, 32], [8, 8, 8]]), "sample")
        loss = self.source.choice(["mse", "relative_l2", "gaussian"])
        self.set(model={"type": "unet", "channels": [8, 16], "loss": loss})
        self.metrics("r2", "relative_l2", "relative_h1", *(["crps"] if loss == "gaussian" else []))

    def operator(self):
        self.arrays(self.source.choice([[64], [24, 20]]), "sample")
        self.set(model={"type": "fno", "modes": 8, "width": 16, "blocks": self.source.randint(1, 4), "loss": "relative_l2"})
        self.metrics("relative_l2")

    def trajectories(self):
        self.arrays(self.source.choice([[40], [16, 12]]), "time")
        self.keys["data.arrays"].update(inputs=["/u", "/v"], targets=["/u", "/v"])
        self.set(model={"type": "fno", "modes": 8, "width": 16, "blocks": 2, "fields": 2, "loss": "mse"})
        if "test" in self.keys["data"]:
            self.metrics("relative_l2", "rollout3")
        if self.some(0.5):
            self.set(rollout={"steps": self.source.choice([2, 4])})

    def metrics(self, *names):
        chosen = [name for name in names if self.some(0.6)]
        if chosen:
            self.measure(chosen)

    def measure(self, metrics):
        self.set(run={"metrics": metrics, "evaluate_every": self.source.choice([0, 2])})
        if not {"test", "validation"} & set(self.keys["data"]):
            self.set(data={"test": "test.h5"})

    # ---- what any run may set ----

    def settings(self):
        self.set(precision={"compute": self.source.choice(["fp32", "bf16", "fp16"])},
                 optimizer={"type": self.source.choice(["adamw", "sgd", "lamb"])})
        if self.some(0.5):
            self.set(memory={"recompute": self.source.choice(["auto", "none", "all", "every 3"])})
        if self.ranks > 1 and self.some(0.5):
            self.set(optimizer={"shard": "state"})
        if self.some(0.25):
            self.set(optimizer={"average": 0.9})
        if self.some(0.25):
            self.set(health={"every": 1})
        if self.some(0.5):
            self.set(checkpoint={"every": 2, "background": self.some(0.5)})
        if self.some(0.3) and self.keys["data"]["batch"] // self.ranks >= 8:
            self.set(data={"micro_batch": 4})

    def text(self):
        return sections_text({section: keys for section, keys in self.keys.items() if keys})

    def __str__(self):
        return f"{self.kind.__name__}, {self.ranks} ranks"


class Judge:
    def __init__(self, program, edge, folder):
        self.edge = edge
        self.command = Command(os.path.abspath(program), folder)
        edge.write(self.command.folder)
        self.command.write("deck.toml", edge.text())

    def run(self, name, mebibytes):
        budget = f'memory.budget="{mebibytes} MiB"'
        if name == "plan":
            return self.command.run("plan", "deck.toml", budget, "--json", "--ranks", self.edge.ranks)
        check = ["--check"] if name == "check" else []
        return self.command.run("train", "deck.toml", budget, *check, ranks=self.edge.ranks)

    def must(self, name, mebibytes, code):
        result = self.run(name, mebibytes)
        self.require(result, code, f"{name} with {mebibytes} MiB")
        return result

    def require(self, result, code, what):
        assert result.returncode == code, (f"{self.edge}: {what}: exit code {result.returncode}, expected {code}\n{self.edge.text()}\n"
                                           f"{result.stdout[-2000:]}\n{result.stderr}")

    def smallest(self, name):
        said = re.search(r'would do is memory.budget = "(\d+) MiB"', self.must(name, 1, 3).stderr)
        assert said, (self.edge, name)
        return int(said[1])

    def edge_of(self):
        """The budget named by each command, and what the largest rank took of the largest of them."""
        named = {name: self.smallest(name) for name in ("train", "check", "plan")}
        assert max(named.values()) - min(named.values()) <= SPREAD, f"{self.edge}: {named}\n{self.edge.text()}"
        budget = max(named.values())
        for name in named:
            self.must(name, min(named.values()) - RESERVE, 3)
        for name in ("check", "plan"):
            self.must(name, budget, 0)
        result, peaks = peaks_of(self.command, self.edge.ranks, "train", "deck.toml", f'memory.budget="{budget} MiB"')
        self.require(result, 0, f"train with {budget} MiB")
        assert len(peaks) == self.edge.ranks, peaks
        return named, max(peaks) / (budget * MEBIBYTE)


def main():
    seed, shares, wrong = chosen_seed(), [], []
    for number in chosen_numbers(SAMPLE, range(500)):
        edge = Edge(random.Random(f"{seed} {number}"))
        with tempfile.TemporaryDirectory() as folder:
            try:
                named, share = Judge(sys.argv[1], edge, folder).edge_of()
            except AssertionError as error:
                wrong.append(number)
                print(f"{number}: {error}", flush=True)
                continue
        shares.append(share)
        print(f"{number}: {edge}: {named}, peak {share:.3f} of the budget", flush=True)
        if share > 1.01:
            wrong.append(number)
    print(f"seed {seed}: {len(shares)} edges, peak / budget up to {max(shares, default=math.nan):.3f}; wrong: {wrong or 'none'}")
    assert not wrong, wrong


main()
