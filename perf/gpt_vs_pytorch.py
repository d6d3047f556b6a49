#!/usr/bin/env python3
"""Compares Mylos' GPT with PyTorch's best, in one interleaved run.

  perf/gpt_vs_pytorch.py        a training step of 6 layers, 6 heads, 384 wide, context 256, batch 4, beside PyTorch in
                                every type, eager and compiled, fused and plain attention, and beside its own floor
  perf/gpt_vs_pytorch.py --shape small
                                the same for 4 layers, 4 heads, 128 wide, context 64, batch 12
  perf/gpt_vs_pytorch.py --ranks 2 [--batch 16] [--bucket 2048]
                                steps on RANKS ranks, which divide the threads and the samples, unsharded and with sharded
                                masters, compared with one rank and with PyTorch's DistributedDataParallel
  perf/gpt_vs_pytorch.py --run  whole runs of inputs/gpt_shakespeare_cpu.toml, from the start of the process to its
                                end, beside the same training by PyTorch's fastest type and in nanoGPT's manner

Ratios are formed within a round, and --instructions and --older are, as step_vs_pytorch.py says. Needs a build with
benchmarks (--run: with the command), and scripts/peers for PyTorch.
"""

import pathlib
import re
import statistics
import tempfile
import time

import harness
from harness import steps

BATCHES = {"medium": 4, "small": 12}
SHAPES = {"medium": "6/6/384, context 256, batch 4", "small": "4/4/128, context 64, batch 12"}
SCRIPT = harness.ROOT / "perf/pytorch_gpt.py"
TEXT = harness.ROOT / "inputs/data/tinyshakespeare.txt"
DECK = harness.ROOT / "inputs/gpt_shakespeare_cpu.toml"


def peer_steps(shape, arguments):
    return [SCRIPT, "--threads", str(arguments.threads), "steps", shape]


def peer_bars(arguments):
    """Bars of the medium GPT by instructions; the small one must only not be slower."""
    if arguments.shape == "small":
        return {(name, ""): 1.00 for name in harness.TYPES}
    if not steps.has_16_bit_products(arguments):
        return {("fp32", ""): 1 / 1.1}
    return {("bf16", ""): 1 / 1.4, ("fp32", "fp32"): 1.00}


def compare_steps(arguments):
    if arguments.shape == "small":
        arguments.floors = False
    quiet = harness.Quiet(arguments.patience)
    mylos, results = steps.compare(f"GPT {SHAPES[arguments.shape]}, AdamW", [arguments.shape], harness.TYPES,
                                   [peer_steps(arguments.shape, arguments)], arguments, quiet,
                                   floor_bars={"fp32": 1.15, "bf16": 1.15}, peer_bars=peer_bars(arguments))
    quiet.report()
    harness.store(arguments.json, {arguments.shape: results}, quiet)
    mylos.close()


def compare_ranks(arguments):
    batch = arguments.batch or BATCHES[arguments.shape]
    harness.print_machine(f"GPT {SHAPES[arguments.shape]}, {batch} samples over {arguments.ranks} ranks, buckets of "
                          f"{arguments.bucket} KiB", arguments.threads, arguments.instructions)
    quiet = harness.Quiet(arguments.patience)
    words = [*steps.held(arguments), arguments.shape]
    several = harness.start(steps.command_of(arguments.bench, arguments, words), arguments, arguments.ranks)
    one = harness.start([arguments.bench, *words], arguments)
    step = f"batch-{batch}-bucket-{arguments.bucket}"
    jobs = {}
    for name in arguments.types:
        jobs |= {f"{name} one rank": lambda name=name: one.number(f"step {name}-{step} {arguments.steps}"),
                 name: lambda name=name: several.number(f"step {name}-{step} {arguments.steps}"),
                 f"{name} state": lambda name=name: several.number(f"step {name}-{step}-state {arguments.steps}")}
    peer = steps.Peer([*peer_steps(arguments.shape, arguments), "--ranks", arguments.ranks, "--batch", batch], arguments)
    jobs |= peer.jobs(arguments.steps)
    results = harness.measured(arguments.rounds, steps.without_hopeless(jobs), quiet)
    steps.print_times(results, arguments.rounds)
    print(harness.HEADING_OF_RATIOS)
    for name in arguments.types:
        harness.print_ratio(f"{name}, {arguments.ranks} ranks / one rank", results[name], results[f"{name} one rank"], 1 / 0.92)
        harness.print_ratio(f"{name}, masters cut / plain", results[f"{name} state"], results[name], 1.03)
    best = harness.best_of(results, arguments.types)
    steps.print_against_peer(results, {(best, ""): 1 / (1.3 if steps.has_16_bit_products(arguments) else 1.15)})
    quiet.report()
    harness.store(arguments.json, {arguments.shape: results}, quiet)
    for program in several, one, peer:
        program.close()


class WholeRuns:
    """A training by a command that depends on its seed. A call runs it with the next seed, from 1 on, and returns the
    seconds of its process."""

    def __init__(self, command_of, arguments):
        self.command_of = command_of
        self.environment = harness.environment(arguments.threads, arguments.instructions)
        self.losses = []  # over the validation windows, by seed

    def __call__(self):
        start = time.monotonic()
        output = harness.output_of(self.command_of(len(self.losses) + 1), env=self.environment)
        seconds = time.monotonic() - start
        self.losses.append(float(re.findall(r"validation.*loss ([0-9.]+)", output)[-1]))
        return seconds


def fastest_names(arguments, quiet):
    """PyTorch's fastest eager and compiled variants, by their steps of the small GPT."""
    pytorch = steps.Peer(peer_steps("small", arguments), arguments)
    if not pytorch.names:
        return []
    jobs = steps.without_hopeless(pytorch.jobs(arguments.steps))
    results = harness.measured(3, jobs, quiet)
    steps.print_times(results, 3)
    pytorch.close()
    eager = [name for name in jobs if not name.endswith("-compiled")]
    compiled = [name for name in jobs if name.endswith("-compiled")]
    return [harness.best_of(results, names).removeprefix("PyTorch ") for names in (eager, compiled) if names]


def compare_runs(arguments):
    harness.print_machine(f"{DECK.name}, {arguments.run_steps} steps", arguments.threads, arguments.instructions)
    quiet = harness.Quiet(arguments.patience)
    names = fastest_names(arguments, quiet)
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "text.h5"
        harness.finished([arguments.mylos, "prepare", "text", TEXT, "--out", data], env=harness.environment(arguments.threads))

        def ours(name):
            held = [f"kernels.instructions={arguments.instructions}"] if arguments.instructions else []
            return WholeRuns(lambda seed: [
                arguments.mylos, "train", DECK, f"data.train={data}", f"run.folder={folder}/{name}-{seed}",
                f"run.steps={arguments.run_steps}", f"run.seed={seed}", f"precision.compute={name}", *held],
                arguments)

        def peer(name):
            return WholeRuns(lambda seed: [
                arguments.python, SCRIPT, "--threads", arguments.threads, "run", name, TEXT,
                "--steps", arguments.run_steps, "--seed", seed], arguments)

        runs = {name: ours(name) for name in harness.TYPES}
        runs |= {f"PyTorch {name}": peer(name) for name in names + (["nanogpt"] if names else [])}
        seconds = harness.measured(arguments.rounds, runs, quiet, "s")

    print(f"\nSeconds of a run, median of {arguments.rounds} rounds [smallest .. largest]; validation losses by seed")
    for name, run in runs.items():
        losses = " ".join(f"{loss:.4f}" for loss in run.losses)
        print(f"  {name:40} {harness.spread(seconds[name])}   {losses}   mean {statistics.mean(run.losses):.4f}")
    if names:
        print(harness.HEADING_OF_RATIOS)
        fastest = harness.best_of(seconds, [f"PyTorch {name}" for name in names])
        harness.print_ratio(f"bf16 / {fastest}", seconds["bf16"], seconds[fastest], 1 / 1.4)
        harness.print_ratio("bf16 / PyTorch nanogpt", seconds["bf16"], seconds["PyTorch nanogpt"], 1 / 2)
    quiet.report()
    harness.store(arguments.json, {"run": seconds}, quiet, "s")


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "gpt_bench")
    harness.add_peer_options(parser)
    parser.add_argument("--shape", choices=SHAPES, default="medium", help="shape of the GPT")
    parser.add_argument("--ranks", type=int, default=1, help="more than one: compare steps on this number of ranks; default 2 threads in total")
    parser.add_argument("--batch", type=int, help="with --ranks: samples of a step, over all ranks")
    parser.add_argument("--bucket", type=int, default=2048, help="with --ranks: KiB of gradients per bucket")
    parser.add_argument("--types", choices=harness.TYPES, nargs="+", default=harness.TYPES, help="with --ranks: types of Mylos")
    parser.add_argument("--run", action="store_true", help="compare complete runs; a round takes about four minutes")
    harness.add_mylos_option(parser)
    parser.add_argument("--run-steps", type=int, default=2000)
    arguments = harness.read_options(parser)
    if arguments.run:
        harness.require_program(parser, arguments.mylos, "build the target mylos, or name it with --mylos")
        compare_runs(arguments)
    elif arguments.ranks > 1:
        compare_ranks(arguments)
    else:
        compare_steps(arguments)


if __name__ == "__main__":
    main()
