#!/usr/bin/python3
"""How often 90 % intervals hold the target: of an ensemble of 5 networks, of dropout while predicting (Monte Carlo), of a
network that predicts its own standard deviation (loss "gaussian"), and of conformal calibration, absolute and scaled. Trains
small networks by the mylos command on random splits of each data set, and prints a table.

  perf/uncertainty/coverage_study.py build/host/bin/mylos [--data generated diabetes] [--splits 20] [--check]

diabetes: the set that scikit-learn contains (442 samples, 10 inputs); half trains, a quarter each calibrates and tests.
generated: y = sin(3 x) + 0.5 x + (0.05 + 0.3 |x|) e, x uniform in [-2, 2], e normal: 500 train, 400 calibrate, 1000 test.
--check ends with exit code 1 unless both conformal intervals hold 88 to 92 % on average over the splits; of fewer than 20, within
three standard deviations of what such calibrations and tests give.
"""
import pathlib
import platform
import sys
import tempfile

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from decks import deck_text  # noqa: E402: the path is set first
import harness  # noqa: E402
from harness import machine, tables  # noqa: E402

COVERAGE = 0.9
GAUSSIAN = 1.6448536269514722  # of the central 90 % of a normal distribution
MEMBERS = 5
PASSES = 50


def deck_of(steps):
    return deck_text(run={"name": "study", "steps": steps, "log_every": steps},
                     data={"train": "train.h5", "batch": 32, "normalize": "standard"}, model={"type": "mlp", "hidden": [32, 32]},
                     precision={"compute": "fp32"}, optimizer={"type": "adamw", "lr": 3e-3, "weight_decay": 1e-3},
                     checkpoint={"keep_last": 1})


def generated(random, counts):
    x = random.uniform(-2, 2, (sum(counts), 1))
    noise = (0.05 + 0.3 * numpy.abs(x)) * random.normal(size=x.shape)
    return x, numpy.sin(3 * x) + 0.5 * x + noise


def diabetes(random, counts):
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    order = random.permutation(len(x))
    return x[order], y[order, None]


# Of each set: its samples, those that train and calibrate and test, and the steps of a run.
SETS = {"generated": (generated, (500, 400, 1000), 1000), "diabetes": (diabetes, (222, 110, 110), 150)}


class Study:
    def __init__(self, program, folder):
        self.program = pathlib.Path(program).resolve()
        self.folder = pathlib.Path(folder)
        self.has_passes = "--mc-dropout" in self.mylos("predict", "--help")

    def mylos(self, *arguments):
        return harness.output_of([self.program, *arguments], cwd=self.folder, env=harness.environment(1))

    def split(self, name, number):
        draw, counts, steps = SETS[name]
        x, y = draw(numpy.random.default_rng(1000 + number), counts)
        first = 0
        for part, count in zip(("train", "calibration", "test"), counts):
            with h5py.File(self.folder / f"{part}.h5", "w") as file:
                file["inputs"] = x[first:first + count].astype("f4")
                file["targets"] = y[first:first + count].astype("f4")
            first += count
        (self.folder / "deck.toml").write_text(deck_of(steps), encoding="utf-8")

    def train(self, folder, *overrides):
        self.mylos("train", "deck.toml", f"run.folder={folder}", *overrides)
        return folder

    def predict(self, *arguments):
        self.mylos("predict", *arguments, "test.h5", "out.h5")
        with h5py.File(self.folder / "out.h5") as file:
            return {key: file[key][:].astype("f8") for key in ("outputs", "standard_deviation", "lower", "upper") if key in file}

    def judge(self, found):
        """The share of targets within the interval, its mean width, and the root mean square error."""
        with h5py.File(self.folder / "test.h5") as file:
            targets = file["targets"][:].astype("f8")
        lower, upper = found.get("lower"), found.get("upper")
        if lower is None:
            lower = found["outputs"] - GAUSSIAN * found["standard_deviation"]
            upper = found["outputs"] + GAUSSIAN * found["standard_deviation"]
        inside = (lower <= targets) & (targets <= upper)
        return inside.mean(), (upper - lower).mean(), numpy.sqrt(((found["outputs"] - targets) ** 2).mean())

    def calibrated(self, run):
        self.mylos("calibrate", run, "--data", "calibration.h5", "--coverage", COVERAGE, "--out", f"{run}.h5")
        return self.judge(self.predict(f"{run}.h5"))

    def ensemble(self, seeds):
        runs = [self.train(f"mse-{seed}", "model.loss=mse", f"run.seed={seed}") for seed in seeds]
        if self.has_passes:
            return runs[0], self.judge(self.predict("--ensemble", *runs))
        outputs = numpy.stack([self.predict(run)["outputs"] for run in runs])
        return runs[0], self.judge({"outputs": outputs.mean(axis=0), "standard_deviation": outputs.std(axis=0, ddof=1)})

    def methods(self, name, number):
        """(method, (coverage, width, error)) of one split."""
        self.split(name, number)
        found = {}
        seeds = [10 * number + member + 1 for member in range(MEMBERS)]
        single, found[f"ensemble of {MEMBERS}"] = self.ensemble(seeds)
        if self.has_passes:
            dropped = self.train("dropout", "model.loss=mse", "model.dropout=0.1", f"run.seed={seeds[0]}")
            found[f"MC dropout, {PASSES} passes"] = self.judge(self.predict(dropped, "--mc-dropout", PASSES))
        gaussian = self.train("gaussian", "model.loss=gaussian", f"run.seed={seeds[0]}")
        found["gaussian"] = self.judge(self.predict(gaussian))
        found["conformal, absolute"] = self.calibrated(single)
        found["conformal, scaled"] = self.calibrated(gaussian)
        return found


def tolerance(name, splits):
    if splits >= 20:
        return 0.02
    _, calibrating, testing = SETS[name][1]
    return 3 * (COVERAGE * (1 - COVERAGE) * (1 / calibrating + 1 / testing) / splits) ** 0.5


def versions(program, names):
    text = machine.version_of(program.resolve())
    text += f", Python {platform.python_version()}, NumPy {numpy.__version__}, h5py {h5py.__version__}"
    if "diabetes" in names:
        import sklearn

        text += f", scikit-learn {sklearn.__version__}"
    return text


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("program", type=pathlib.Path, help="the mylos command")
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    print(f"{machine.processor()}, 1 thread; {versions(arguments.program, arguments.data)}; {arguments.splits} splits")
    print(tables.head(["data", "intervals of 90 % by", "hold, mean", "least", "most", "mean width", "RMSE"]))
    wrong = []
    for name in arguments.data:
        rows = {}
        for number in range(arguments.splits):
            with tempfile.TemporaryDirectory() as folder:
                for method, values in Study(arguments.program, folder).methods(name, number).items():
                    rows.setdefault(method, []).append(values)
        for method, values in rows.items():
            coverage, width, error = numpy.array(values).T
            shares = [f"{100 * coverage.mean():.1f} %", f"{100 * coverage.min():.1f}", f"{100 * coverage.max():.1f}"]
            print(tables.row([name, method, *shares, f"{width.mean():.4g}", f"{error.mean():.4g}"]), flush=True)
            if method.startswith("conformal") and abs(coverage.mean() - COVERAGE) > tolerance(name, arguments.splits):
                wrong.append(f"{name}, {method}: {100 * coverage.mean():.2f} %")
    if arguments.check and wrong:
        sys.exit("conformal intervals hold too few or too many: " + "; ".join(wrong))


main()
