#!/usr/bin/python3
"""Fourier neural operators in half and bfloat16 beside float: skipped steps, losses and bytes of activations.

usage: half_precision.py [--build BUILD] [--grids 128x128 64x64x64] [--seeds 5] [--steps 200] [--threads 2] [--folder FOLDER]
Data: periodic sources of 4 periods and less, and the solutions of Poisson's equation. For every seed the loss is the mean of the
last tenth of the steps, and the head stays in float. Bytes are those of `mylos plan`, and the difference between the largest
resident memories of two runs that differ in data.micro_batch alone; without float layers, and beside it with a float head, whose
input and its gradient are then held a second time, as floats.
"""
import itertools
import json

import h5py
import numpy

import cases
from decks import deck_text
import harness
from harness.runs import rows_of

FREE_SKIPS = 50  # steps in which the scaler searches for its scale
WAVES = 4


def random_field(random, extents):
    """Source and solution of -Laplace u = f."""
    spectrum = numpy.zeros(extents, dtype=complex)
    squares = numpy.zeros(extents)
    for wave in itertools.product(range(-WAVES, WAVES + 1), repeat=len(extents)):
        spectrum[wave] = complex(*random.standard_normal(2)) if any(wave) else 0
        squares[wave] = sum(k * k for k in wave)
    source = numpy.fft.ifftn(spectrum).real
    solution = numpy.fft.ifftn(numpy.fft.fftn(source) / numpy.where(squares > 0, squares, 1)).real
    return source / source.std(), solution / source.std()


def write_data(path, extents, samples):
    if not path.exists():
        random = numpy.random.default_rng(1)
        pairs = [random_field(random, extents) for _ in range(samples)]
        with h5py.File(path, "w") as file:
            for name, part in (("f", 0), ("u", 1)):
                file[name] = numpy.stack([pair[part] for pair in pairs]).astype(numpy.float32)


class Runs:
    """Trainings on one grid."""

    def __init__(self, extents, folder, arguments):
        self.folder, self.arguments = folder, arguments
        flat = len(extents) == 2
        self.batch = 8 if flat else 2
        self.axes = "y x" if flat else "z y x"
        self.modes, self.width = ([16] * 2, 32) if flat else ([8] * 3, 16)
        self.data = f"{'x'.join(map(str, extents))}.h5"
        write_data(folder / self.data, extents, 64 if flat else 16)

    def deck(self, precision, seed=1, steps=3, micro_batch=0):
        return deck_text(
            run={"name": "half", "steps": steps, "seed": seed, "threads": self.arguments.threads, "log_every": 1000},
            data={"train": self.data, "batch": self.batch, "micro_batch": micro_batch, "normalize": "channel"},
            data__arrays={"inputs": ["/f"], "targets": ["/u"], "axes": f"sample {self.axes}"},
            model={"type": "fno", "modes": self.modes, "width": self.width, "blocks": 4, "loss": "relative_l2"},
            precision=precision, memory={"recompute": "none"}, optimizer={"lr": 2e-3},
            schedule={"type": "cosine", "warmup": min(20, steps // 2)}, checkpoint={"every": 0})

    def train(self, deck):
        """The run's folder."""
        return cases.train(deck, self.folder, "half", self.arguments)[0]

    def losses(self, compute, seed):
        """The mean loss of the last tenth of the steps, the skipped steps, and those among them after the first."""
        run = self.train(self.deck(cases.precision_of(compute), seed, self.arguments.steps))
        rows = rows_of(run)
        last = [float(row["loss"]) for row in rows[-len(rows) // 10:]]
        skipped = [int(row["step"]) for row in rows if int(row["overflow"])]
        return sum(last) / len(last), len(skipped), sum(step > FREE_SKIPS for step in skipped)

    def planned_bytes(self, precision):
        (self.folder / "plan.toml").write_text(self.deck(precision), encoding="utf-8")
        said = cases.run([self.arguments.mylos, "plan", "plan.toml", "--json"], self.folder, self.arguments.threads)
        return json.loads(said)["activation_bytes"]

    def process_bytes(self, precision):
        """Of the samples that a micro-batch of the batch has more than one of a sample."""
        peaks = []
        for micro_batch in (1, self.batch):
            run = self.train(self.deck(precision, micro_batch=micro_batch))
            summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
            peaks.append(summary["memory"]["host_peak_bytes"])
        return peaks[1] - peaks[0]


def print_losses(runs, arguments):
    for seed in range(1, arguments.seeds + 1):
        expected, _, _ = runs.losses("fp32", seed)
        for compute in ("fp16", "bf16"):
            loss, skipped, late = runs.losses(compute, seed)
            verdict = "" if compute == "bf16" else f"   {harness.met(late == 0 and abs(loss / expected - 1) <= 0.01)}"
            print(f"  seed {seed} {compute}: loss {loss:.5f}, {loss / expected:.4f} of float's {expected:.5f}; "
                  f"{skipped} steps skipped, {late} of them after step {FREE_SKIPS}{verdict}", flush=True)


def print_bytes(runs):
    for what, measure in (("plan", runs.planned_bytes), ("process", runs.process_bytes)):
        of_float = measure({"compute": "fp32"})
        print(f"  activations by {what}: fp32 {of_float / 2**20:.1f} MiB", flush=True)
        for name, precision in (("bf16", {"compute": "bf16"}), ("bf16, float head", cases.precision_of("bf16"))):
            size = measure(precision)
            verdict = "" if "rules" in precision else f"   bar 0.55: {harness.met(size <= 0.55 * of_float)}"
            print(f"    {name}: {size / 2**20:.1f} MiB, {size / of_float:.3f} of it{verdict}", flush=True)


def main():
    parser = cases.basic_parser(__doc__, seeds=5)
    parser.add_argument("--grids", nargs="+", default=["128x128", "64x64x64"])
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    folder = cases.folder_of(arguments, "half-precision")
    for grid in arguments.grids:
        runs = Runs(tuple(map(int, grid.split("x"))), folder, arguments)
        print(f"{grid}: modes {runs.modes}, width {runs.width}, batch {runs.batch}, {arguments.steps} steps")
        print_bytes(runs)
        print_losses(runs, arguments)


if __name__ == "__main__":
    main()
