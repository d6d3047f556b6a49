#!/usr/bin/env python3
"""Compares training steps of a GPT on this node's NVIDIA device with PyTorch's best, interleaved.

  perf/device_vs_pytorch.py [--deck inputs/gpt2_124m.toml] [--micro-batches 16 32 64] [--rounds 3] [--steps 40]
                            [--mylos build/cuda/bin/mylos] [--python python3] [--set KEY=VALUE ...]

Each takes its best micro-batch of those named; both see random tokens. The last lines are the ratio of their rates, each
within a round, and the share of the rate of a large bfloat16 product that the same run measured: 6 operations per weight
and token, and 12 per layer, width and token of context, as in the PaLM paper (arXiv:2204.02311, appendix B).
"""

import pathlib
import statistics
import tempfile
import tomllib

import harness
from harness import runs

PEER = harness.ROOT / "perf/pytorch_device.py"


class NoStep(Exception):
    """Why a step of this micro-batch was impossible: it may be too large for the device's memory."""


class Mylos:
    def __init__(self, arguments, model, folder):
        self.arguments, self.model, self.folder, self.runs = arguments, model, folder, 0
        raw, self.tokens = folder / "tokens.bin", folder / "tokens.h5"
        runs.write_random_tokens(raw, model["vocabulary"], 4_000_000)
        harness.finished([arguments.mylos, "prepare", "tokens", raw, "--vocabulary", model["vocabulary"], "--out", self.tokens])

    def rate(self, micro_batch):
        """Tokens per second over the second half of a run's steps."""
        self.runs += 1
        run = self.folder / f"run-{self.runs}"
        settings = {"data.train": self.tokens, "data.validation": 0.0, "data.batch": micro_batch,
                    "data.micro_batch": micro_batch, "run.folder": run, "run.steps": self.arguments.steps,
                    "run.log_every": 4, "schedule.warmup": 0}
        try:
            harness.finished([self.arguments.mylos, "train", self.arguments.deck, *(f"{key}={value}" for key, value in settings.items()),
                              *self.arguments.set])
        except harness.ProgramFailed as failure:
            raise NoStep(harness.last_lines(failure.messages, 1)) from None
        return runs.samples_per_s(run) * self.model["context"]


class PyTorch:
    """One process, which compiles each step once and frees its memory between turns."""

    def __init__(self, arguments, model):
        self.steps = arguments.steps
        shape = [model[key] for key in ("layers", "heads", "width", "context", "vocabulary")]
        self.program = harness.Server([arguments.python, PEER, *shape])

    def rate(self, micro_batch):
        rate = self.program.number(f"steps {micro_batch} {self.steps}")
        if rate == 0:
            raise NoStep("does not fit this device's memory")
        return rate

    def product(self):
        """TFLOP/s of a large GEMM."""
        return self.program.number("product")


def operations_per_token(model):
    width, layers = model["width"], model["layers"]
    weights = layers * 12 * width**2 + model["vocabulary"] * width
    return 6 * weights + 12 * layers * width * model["context"]


def best_micro_batch(side, name, micro_batches):
    """Skips micro-batches of which no step is possible."""
    rates = {}
    for micro_batch in micro_batches:
        try:
            rates[micro_batch] = side.rate(micro_batch)
            print(f"  {name:8} micro-batch {micro_batch:3}   {rates[micro_batch]:12,.0f} tokens/s", flush=True)
        except NoStep as reason:
            print(f"  {name:8} micro-batch {micro_batch:3}   {reason}", flush=True)
    if not rates:
        raise SystemExit(f"{name} made no step")
    return max(rates, key=rates.get)


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("--deck", type=pathlib.Path, default=harness.ROOT / "inputs/gpt2_124m.toml")
    parser.add_argument("--micro-batches", type=int, nargs="+", default=[16, 32, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--mylos", type=pathlib.Path, default=harness.ROOT / "build/cuda/bin/mylos")
    parser.add_argument("--python", default="python3")
    harness.add_json_option(parser)
    parser.add_argument("--set", nargs="+", default=[], help="overrides of the deck, for Mylos")
    arguments = parser.parse_args()
    model = tomllib.loads(arguments.deck.read_text())["model"]

    with tempfile.TemporaryDirectory() as folder:
        sides = {"Mylos": Mylos(arguments, model, pathlib.Path(folder)), "PyTorch": PyTorch(arguments, model)}
        best = {name: best_micro_batch(side, name, arguments.micro_batches) for name, side in sides.items()}
        peak = sides["PyTorch"].product()

        def show(number, found):
            print(f"  round {number}   " + "   ".join(f"{name} {rates[-1]:,.0f}" for name, rates in found.items()), flush=True)

        rates = harness.interleaved(arguments.rounds, {name: lambda name=name: sides[name].rate(best[name]) for name in sides}, after_round=show)

    print(f"\n  a product of 8192 in bf16      {peak:8.1f} TFLOP/s")
    for name, found in rates.items():
        share = statistics.median(found) * operations_per_token(model) * 1e-12 / peak
        print(f"  {name:8} micro-batch {best[name]:3}   {statistics.median(found):12,.0f} tokens/s   {100 * share:5.1f} % of it")
    times = {name: [1e6 / rate for rate in found] for name, found in rates.items()}
    harness.store(arguments.json, {"device": times}, harness.Quiet(0), "µs")
    print(f"  Mylos / PyTorch   {harness.spread(harness.ratios(rates['Mylos'], rates['PyTorch'])).lstrip()}")


if __name__ == "__main__":
    main()
