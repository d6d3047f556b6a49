"""The table of speeds: kernels by Google Benchmark, complete steps by `mylos train`."""

import json
import statistics
import time

from harness.budget import MIN_STEPS, OutOfTime, rounds_within
from harness.measurements import median_ratio
from harness.rounds import interleaved

GPT2_VOCABULARY = 50257
TYPES = ("bf16", "fp16")
KERNEL_SECONDS = 60
BENCHMARKS = ("conversion_bench", "gemm_bench", "attention_bench", "optimizer_bench")


def run(installation, report, training, sample):
    report.section("Speeds of kernels")
    _kernels(installation, report, sample)
    report.section("Speeds of whole steps")
    try:
        decks = _decks(installation, training, sample)
    except OutOfTime as late:
        report.record("steps of decks", "LATE", 0, str(late))
        return
    for i, (deck, length, overrides) in enumerate(decks):
        share = installation.budget.left() / (len(decks) - i)
        report.check(f"steps of {deck}", lambda: _steps(report, training, deck, length, overrides, share, sample))


def _kernels(installation, report, sample):
    missing = [program for program in BENCHMARKS if not installation.has(program)]
    if missing:
        report.record("benchmarks", "SKIP", 0, f"not built: {', '.join(missing)}")
        return
    minimum = 0.01 if sample else 0.5
    largest = 2**24 if sample else 3 * 2**28
    for pair in ("copy", "fp32_to_bf16", "fp32_to_fp16", "bf16_to_fp32"):
        _benchmark(installation, report, "conversion_bench", f"^{pair}/{largest}/", minimum, "bytes_per_second", 1e-9, "GB/s")
    shape = "y/1024x384x1536" if installation.on_host else "y/16384x768x3072"
    for compute in ("fp32", "bf16", "fp16"):
        _benchmark(installation, report, "gemm_bench", f"/{compute}/{shape}/", minimum, "GFLOP/s", 1, "GFLOP/s")
    for direction in ("forward", "backward"):
        _benchmark(installation, report, "attention_bench", f"^{direction}/4x256x384/bf16/real_time", minimum, "GFLOP/s",
                   1, "GFLOP/s")
    elements = 2**20 if sample else 2**26
    for kernel in ("fused_adamw", "streaming_kernel"):
        _benchmark(installation, report, "optimizer_bench", f"^{kernel}/{elements}/2/", minimum, "bytes_per_second", 1e-9,
                   "GB/s")


def _benchmark(installation, report, program, filter_, minimum, counter, factor, unit):
    """Reports one line per benchmark that the filter matches."""
    try:
        process = installation.run(program, f"--benchmark_filter={filter_}", f"--benchmark_min_time={minimum}",
                                   "--benchmark_format=json", timeout=KERNEL_SECONDS)
    except OutOfTime as late:
        report.record(f"{program} {filter_}", "LATE", 0, str(late))
        return
    start = process.stdout.find("{\n")
    try:
        results = json.JSONDecoder().raw_decode(process.stdout[start:])[0]["benchmarks"]
    except (ValueError, KeyError):
        results = []
    if process.returncode != 0 or not results:
        report.record(f"{program} {filter_}", "FAIL", 0, f"ended with code {process.returncode}, no result")
    for result in results:
        if counter in result:
            report.speed(f"{program.removesuffix('_bench')} {result['name'].removesuffix('/real_time')}",
                         result[counter] * factor, unit)


def _decks(installation, training, sample):
    """Returns the deck, the tokens of a sample, and overrides of the deck."""
    if sample:
        return [("gpt_shakespeare_cpu", 64, [])]
    if installation.on_host:
        return [("gpt_shakespeare_cpu", 64, []), ("gpt_shakespeare", 256, ["data.batch=4"])]
    tokens = training.random_tokens(GPT2_VOCABULARY, 4_000_000)  # more than the largest batch times the most steps
    decks = [("gpt_shakespeare", 256, [])]
    for micro_batch in (16, 32, 64):
        decks.append(("gpt2_124m", 1024, [f"data.train={tokens}", f"data.batch={micro_batch}",
                                          f"data.micro_batch={micro_batch}"]))
    return decks


def _steps(report, training, deck, length, overrides, seconds, sample):
    """Measures for about `seconds` seconds, estimated from one step. Types are interleaved, so that changes of the machine's
    speed affect all of them."""
    start, step = training.time_a_step(deck, *overrides)
    chosen = (1, MIN_STEPS) if sample else rounds_within(seconds - start - 3 * step, len(TYPES), start, step)
    if chosen is None:
        raise OutOfTime(f"a start takes {start:.1f} s and a step {step:.2f} s, of {seconds:.0f} s left for it (--budget)")
    rounds, steps = chosen

    def rate(compute):
        run = training.run(deck, f"speed-{deck}-{compute}-{time.monotonic()}", f"precision.compute={compute}", f"run.steps={steps}",
                           *overrides, "run.log_every=4")
        return training.samples_per_s(run)

    rates = interleaved(rounds, {compute: lambda compute=compute: rate(compute) for compute in TYPES})
    batch = next((f", micro-batch {override.split('=')[1]}" for override in overrides if "micro_batch" in override), "")
    for compute, found in rates.items():
        report.speed(f"{deck}{batch}, {compute}", statistics.median(found) * length, "tokens/s")
    report.speed(f"{deck}{batch}, fp16 with the loss scaler against bf16", 100 * median_ratio(rates["fp16"], rates["bf16"]), "%")
    return f"{steps} steps, {rounds} rounds"
