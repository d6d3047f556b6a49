"""Random networks on divided samples: the losses and gradients of whole samples, or a refusal that names mesh.space.

usage: test_mesh_chains.py MYLOS [--full] [--seed N] [--networks N] [--network K]

--full: 60 networks instead of 8. `--network` repeats one of them.
"""
import argparse
import pathlib
import tempfile

import h5py
import numpy

from support.command import Command
from support.decks import deck_text, layer
from support.run_folders import losses_of, weights_of

CHANNELS, LEVELS, BATCH = 2, 9, 4
AXES = ("z", "y", "x")
EXTENTS = {1: (16, 24, 48), 2: (8, 12, 16), 3: (4, 6, 8)}
REFUSALS = 0.4  # of the networks at most: with more of them the comparison says little


class Network:
    """Layers on a grid whose extents every division below divides."""

    def __init__(self, seed, number):
        self.source = source = numpy.random.default_rng([seed, number])
        self.axes = int(source.integers(1, 4))
        self.extents = [int(source.choice(EXTENTS[self.axes])) for _ in range(self.axes)]
        self.grid, self.channels, self.layers = list(self.extents), CHANNELS, []
        self.skips = []  # name, grid and channels of outputs
        for i in range(int(source.integers(2, 6))):
            getattr(self, str(source.choice(["conv", "conv", "conv", "pool", "upsample", "transposed", "join", "norm"])))(f"layer{i + 1}")
        self.layers.append(layer("conv", name="last", outputs=2, kernel=1))
        self.compute = str(source.choice(["fp32", "fp32", "bf16", "fp16"]))
        self.loss = str(source.choice(["mse", "l1", "huber"]))

    def draw(self, *choices):
        return choices[int(self.source.integers(len(choices)))]

    def edges(self):
        return self.draw({}, dict(edges="periodic"), dict(edges=[self.draw("zero", "periodic") for _ in range(self.axes)]))

    def finish(self, name, **keys):
        self.layers.append(dict(name=name) | keys)
        self.skips.append((name, list(self.grid), self.channels))

    def conv(self, name):
        outputs = int(self.draw(3, 4, 6))
        keys = dict(outputs=outputs, kernel=self.draw(1, 3, 3, 5)) | self.edges()
        if keys["kernel"] == 3 and self.source.random() < 0.3:
            keys["dilation"] = 2
        elif self.source.random() < 0.3 and all(extent % 4 == 0 for extent in self.grid):
            keys["stride"] = 2
            self.grid = [extent // 2 for extent in self.grid]
        if self.source.random() < 0.3 and self.channels == outputs:
            keys["groups"] = outputs
        if self.source.random() < 0.7:
            keys["activation"] = self.draw("relu", "gelu", "tanh")
        self.channels = outputs
        self.finish(name, kind="conv", **keys)

    def pool(self, name):
        if any(extent % 4 for extent in self.grid):
            return self.conv(name)
        self.grid = [extent // 2 for extent in self.grid]
        return self.finish(name, kind=self.draw("max_pool", "average_pool"), kernel=2)

    def upsample(self, name):
        self.grid = [2 * extent for extent in self.grid]
        self.finish(name, kind="upsample", factor=2)

    def transposed(self, name):
        self.grid = [2 * extent for extent in self.grid]
        self.channels = int(self.draw(3, 4))
        self.finish(name, kind="conv", outputs=self.channels, kernel=self.draw(2, 4), stride=2, padding=self.draw(0, 1), transposed=True)
        last = self.layers[-1]
        last["padding"] = (last["kernel"] - 2) // 2

    def join(self, name):
        fitting = [skip for skip in self.skips[:-1] if skip[1] == self.grid]
        if not fitting:
            return self.conv(name)
        earlier, _, channels = self.draw(*fitting)
        if channels == self.channels and self.source.random() < 0.5:
            return self.finish(name, kind="add", skip_from=earlier)
        self.channels += channels
        return self.finish(name, kind="concat", skip_from=earlier)

    def norm(self, name):
        self.finish(name, kind="norm", norm=self.draw("batchnorm", "groupnorm", "layernorm"))
        if self.layers[-1]["norm"] == "batchnorm":
            self.layers[-1]["norm_over"] = "ranks"
        elif self.layers[-1]["norm"] == "groupnorm":
            self.layers[-1]["norm_groups"] = 1

    def divisions(self):
        """Boxes along each axis and ranks, up to 8 of them; some of the ranks share the batch."""
        found = []
        for _ in range(3):
            space = [int(self.draw(1, 2, 2, 3, 4)) for _ in range(self.axes)]
            boxes = int(numpy.prod(space))
            if 1 < boxes <= 8 and space not in [one for one, _ in found]:
                found.append((space, boxes * (2 if boxes <= 4 and self.source.random() < 0.3 else 1)))
        return found

    def write(self, folder):
        shape = (LEVELS, *self.extents)
        with h5py.File(folder / "data.h5", "w") as file:
            for name in ("u", "v"):
                file[name] = self.source.normal(size=shape).astype("f4")
            if self.grid == self.extents:
                targets = ["/p", "/q"]
                for name in ("p", "q"):
                    file[name] = self.source.normal(size=shape).astype("f4")
                return targets
        return None

    def deck(self, targets):
        return deck_text(run=dict(name="mesh", steps=2, log_every=1, seed=3), data=dict(train="data.h5", batch=BATCH, normalize="none"),
                         data__arrays=dict(inputs=["/u", "/v"], targets=targets, axes="time " + " ".join(AXES[-self.axes:])),
                         model=dict(type="chain", loss=self.loss), precision=dict(compute=self.compute),
                         precision__scaler=dict(initial_scale=256) if self.compute == "fp16" else None,
                         optimizer=dict(type="sgd", momentum=0.0, lr=1e-2, weight_decay=0.0), checkpoint=dict(every=1, keep_last=0),
                         layers=self.layers)

    def return_to_the_grid(self):
        """Targets lie on the grid of the inputs."""
        for number in range(8):
            if self.grid == self.extents:
                return
            if self.grid[0] > self.extents[0]:
                self.finish(f"back{number}", kind="average_pool", kernel=2)
                self.grid = [extent // 2 for extent in self.grid]
            else:
                self.upsample(f"back{number}")


def compare(command, network, folder, what):
    rough = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 6e-2}[network.compute]
    numpy.testing.assert_allclose(losses_of(command, folder), losses_of(command, "whole"), rtol=rough / 5, err_msg=what)
    first, whole, divided = (weights_of(command.folder / name) for name in ("start.h5", "whole/checkpoints/step-0000000001.h5",
                                                                            f"{folder}/checkpoints/step-0000000001.h5"))
    moved = {name: numpy.abs(whole[name] - first[name]).max() if name in first else numpy.abs(whole[name]).max() for name in whole}
    noise = 1e-2 * max(moved.values())  # a bias before a norm has a gradient of rounding errors alone
    for name, change in moved.items():
        off = numpy.abs(divided[name] - whole[name]).max()
        assert off <= rough * max(change, noise) + 1e-7, f"{what}: {name} is off by {off}, of changes up to {change}"


def check(program, seed, number, folder):
    """The divisions that were compared, and that were refused."""
    network = Network(seed, number)
    last = network.layers.pop()
    network.return_to_the_grid()
    network.layers.append(last)
    command = Command(program, folder)
    targets = network.write(folder)
    command.write("deck.toml", network.deck(targets))
    command.must("train", "deck.toml", "run.folder=whole")
    command.must("init", "deck.toml", "start.h5")
    compared = refused = 0
    for space, ranks in network.divisions():
        what = f"network {number}, mesh.space = {space} on {ranks} ranks"
        name = f"divided-{'x'.join(map(str, space))}-{ranks}"
        result = command.run("train", "deck.toml", f"run.folder={name}", f"mesh.space={space}", ranks=ranks)
        if result.returncode == 2:
            assert "mesh.space" in result.stderr, f"{what}:\n{result.stderr}"
            refused += 1
            continue
        assert result.returncode == 0, f"{what}: code {result.returncode}\n{result.stdout}\n{result.stderr}"
        compare(command, network, name, what)
        compared += 1
    return compared, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mylos", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--networks", type=int)
    parser.add_argument("--network", type=int)
    arguments = parser.parse_args()
    count = arguments.networks or (60 if arguments.full else 8)
    numbers = range(count) if arguments.network is None else [arguments.network]
    compared = refused = 0
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            of_network = check(arguments.mylos.resolve(), arguments.seed, number, pathlib.Path(folder))
        compared, refused = compared + of_network[0], refused + of_network[1]
    print(f"{compared} divisions of {len(numbers)} networks have the losses and gradients of whole samples; {refused} were refused")
    assert arguments.network is not None or compared > 0 and refused <= REFUSALS * (compared + refused), (compared, refused)


main()
