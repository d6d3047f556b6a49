"""What the pages presuppose: a folder with the tables, fields, decks and runs that their command lines name. All of it is small."""
import math
import pathlib
import random
import shutil
import struct
import sys
import zlib

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
from small_problem import gpt_deck
from support.command import Command
from support.decks import deck_text


class Workshop(Command):
    """A folder in which a page's command lines run. Kept: what a page writes, lines of other pages do not see."""

    def table(self, name, rows, seed, targets=True, separator=","):
        numbers = random.Random(seed)
        lines = [separator.join(["mach", "alpha", "chord", *(["lift", "drag"] if targets else [])])]
        for _ in range(rows):
            x = [numbers.uniform(-1, 1) for _ in range(3)]
            y = [x[0] * x[1], math.sin(x[2])] if targets else []
            lines.append(separator.join(f"{value:.6f}" for value in (*x, *y)))
        self.write(name, "\n".join(lines) + "\n")

    def prepare_tables(self, rows=400):
        """flow.csv, new.csv, and flow.h5, test.h5, new.h5."""
        self.table("flow.csv", rows, 1)
        self.table("test.csv", 60, 2)
        self.table("new.csv", 20, 3, targets=False)
        for name in ("flow", "test"):
            self.must("prepare", "csv", f"{name}.csv", "--targets", "lift,drag", "--out", f"{name}.h5")
        self.must("prepare", "csv", "new.csv", "--out", "new.h5")

    def deck(self, name="surrogate", file="deck.toml", steps=30, loss="mse", more=""):
        self.write(file, deck_text(
            run=dict(name=name, steps=steps), data=dict(train="flow.h5", test="test.h5", validation=0.1, batch=32, normalize="standard"),
            model=dict(hidden=[16, 16], dropout=0.1, loss=loss), optimizer=dict(lr=1e-3), schedule=dict(type="cosine"),
            checkpoint=dict(every=10, keep_best="validation.loss")) + more)

    def train_table(self, name="surrogate", *options, **of_the_deck):
        """A run of tables, in runs/NAME."""
        if not (self.folder / "flow.h5").exists():
            self.prepare_tables()
        self.deck(name, **of_the_deck)
        self.must("train", "deck.toml", *options)

    def fields(self, name, levels, extent=8, seed=1):
        """Waves that wander over a periodic grid, two samples."""
        phase = numpy.random.default_rng(seed).uniform(0, 6, (2, 1, 1, 1))
        time = numpy.arange(levels).reshape(1, -1, 1, 1) * 0.1
        y, x = (axis.reshape(1, 1, extent, extent) for axis in numpy.meshgrid(*[numpy.arange(extent) * 2 * math.pi / extent] * 2,
                                                                              indexing="ij"))
        with h5py.File(self.folder / name, "w") as file:
            file["u"] = numpy.sin(x - time + phase).astype(numpy.float32)
            file["v"] = numpy.cos(y + time + phase).astype(numpy.float32)

    def train_fields(self, name):
        """A run of arrays of 8 x 8 points, in runs/NAME."""
        for number in range(2):
            self.fields(f"run0{number}.h5", 20, seed=number)
        self.write(f"{name}.toml", deck_text(
            run=dict(name=name, steps=12),
            data=dict(train=["run0[0-1].h5"], validation=0.2, test="run00.h5", batch=8, normalize="channel"),
            data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes="sample time y x"),
            model=dict(type="unet", fields=2, channels=[8, 16], norm="groupnorm", loss="mse")))
        self.must("train", f"{name}.toml")

    def pictures(self, folder, classes):
        """8 x 8 points in grey, four of each class; without classes, beside each other."""
        for number, kind in enumerate(classes or [""]):
            for picture in range(4):
                rows = b"".join(b"\0" + bytes((40 * number + 8 * x + 3 * y + picture) % 256 for x in range(8)) for y in range(8))
                chunks = ((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
                path = self.folder / folder / kind / f"{picture + 1}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
                    struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks))

    def train_tokens(self, name):
        """A small GPT of a text, in runs/NAME."""
        self.write("text.txt", "to be, or not to be, that is the question. " * 40)
        self.must("prepare", "text", "text.txt", "--out", "text.h5")
        self.write("gpt.toml", gpt_deck(run=dict(steps=3), data=dict(batch=4)))
        self.must("train", "gpt.toml", f"run.name={name}")

    def copy(self, source, target):
        (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.folder / source, self.folder / target)
