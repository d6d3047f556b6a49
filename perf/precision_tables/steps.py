"""Steps by type, network and batch, and the cost of the loss scaler and of monitoring every parameter."""

import statistics

import harness
from harness.steps import held, step_jobs
from precision_tables import page

HEADER = ["network", "batch", "float", "bf16", "fp16", "bf16 is faster by", "fp16 by"]
NETWORKS = {
    "MLP 784-2048-2048-10": ("step_bench", ["--network", "wide"], (64, 128, 256, 512)),
    "MLP 784-1024-1024-10": ("step_bench", ["--network", "fashion"], (64, 128, 256, 512)),
    "GPT 4 × 128, 64 characters": ("gpt_bench", ["small"], (64, 128, 256, 512)),
    "GPT 6 × 384, 256 characters": ("gpt_bench", ["medium"], (2, 4, 8)),
}
CONVOLUTIONS = {
    "residual network, 21 convolutions, 28 × 28": ("chain_bench", ["residual"], (32, 128)),
    "U-Net, 11 convolutions, 64 × 64": ("chain_bench", ["unet"], (4, 16)),
}
COSTS = {"MLP 784-2048-2048-10": ("step_bench", ["--network", "wide"]),
         "MLP 784-1024-1024-10": ("step_bench", ["--network", "fashion"]),
         "GPT 4 × 128, 64 characters": ("gpt_bench", ["small"]),
         "GPT 6 × 384, 256 characters": ("gpt_bench", ["medium"])}
HEALTH_BAR = 1.02


def program_of(arguments, bench, words):
    return harness.start([arguments.bin / bench, *held(arguments), *words], arguments)


def times_of(networks, arguments, quiet):
    """Rows of times and ratios by network and batch."""
    rows = []
    for network, (bench, words, batches) in networks.items():
        for batch in batches:
            print(f"{network}, batch {batch}")
            program = program_of(arguments, bench, words)
            names = [f"{kind}-batch-{batch}" for kind in harness.TYPES]
            times = harness.measured(arguments.rounds, step_jobs(program, names, arguments.steps), quiet)
            program.close()
            of = {kind: times[f"{kind}-batch-{batch}"] for kind in harness.TYPES}
            rows.append([network, batch, *(f"{statistics.median(of[kind]):.2f} ms" for kind in harness.TYPES),
                         *(page.ratio(of["fp32"], of[kind]) for kind in harness.TYPES[1:])])
    return rows


def by_batch(arguments, quiet):
    return page.Table("steps", HEADER, times_of(NETWORKS, arguments, quiet))


def convolutions(arguments, quiet):
    return page.Table("convolutions", HEADER, times_of(CONVOLUTIONS, arguments, quiet))


def costs(arguments, quiet):
    rows = []
    for network, (bench, words) in COSTS.items():
        print(f"{network}: scaler, health")
        program = program_of(arguments, bench, words)
        names = ["bf16", "bf16-health", "fp16", "fp16-off"] if bench == "step_bench" else ["bf16", "bf16-health"]
        times = harness.measured(2 * arguments.rounds, step_jobs(program, names, arguments.steps), quiet)
        program.close()
        health = harness.median_ratio(times["bf16-health"], times["bf16"])
        rows.append([network, f"{page.ratio(times['bf16-health'], times['bf16'])} ({page.verdict(health, HEALTH_BAR)})",
                     page.ratio(times["fp16"], times["fp16-off"]) if "fp16-off" in times else "–"])
    return page.Table("costs", ["network", "health.every = 1, of the step without", "loss scaler, of the step without"], rows)
