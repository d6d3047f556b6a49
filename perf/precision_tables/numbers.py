"""Errors and rates of GEMMs and conversions by type."""

import json

import harness
from harness import steps
from precision_tables import page

SIZES = (64, 128, 256, 512, 1024)


def answer_of(arguments, program, *words):
    return harness.output_of([arguments.bin / program, *words], env=harness.environment(arguments.threads, arguments.instructions))


def products(arguments):
    answer = answer_of(arguments, "product_error", *steps.held(arguments), *SIZES)
    print(answer, end="")
    rows = []
    for line in answer.splitlines():
        kind, size, engine, time, mean, largest = line.split()
        rate = 2 * int(size) ** 3 / float(time) / 1e6
        rows.append([f"{size}³", kind, engine, f"{rate:.0f} GFLOP/s", f"{float(mean):.1e}", f"{float(largest):.1e}"])
    return page.Table("products", ["product", "type", "engine", "rate", "error, root mean square", "largest error"], rows,
                      ["Errors are against the product of the float matrices in double, over the root mean square of its elements."])


def conversions(arguments):
    answer = answer_of(arguments, "conversion_bench", "--benchmark_format=json", "--benchmark_min_time=0.05")
    rates = {}
    for run in json.loads(answer)["benchmarks"]:
        what, size = run["name"].split("/")[:2]
        rates.setdefault(int(size), {})[what] = run["bytes_per_second"] / 1e9
    names = [name for name in next(iter(rates.values())) if name != "copy"]
    rows = [[f"{size / 2**20:g} MiB", *(f"{of[name]:.1f}" for name in names), f"{of['copy']:.1f}"]
            for size, of in sorted(rates.items())]
    return page.Table("conversions", ["read and written", *(name.replace("_to_", " → ") for name in names), "float copied"], rows,
                      ["GB/s, read and written."])
