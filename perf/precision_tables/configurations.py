"""Float, mixed, recomputed, both: memory, time and losses of a GPT of 12 layers."""

import pathlib
import statistics
import tempfile

import harness
from harness import machine, steps
from harness.runs import rows_of
from precision_tables import page

SUBJECTS = {"float": "fp32", "mixed": "bf16", "recompute": "fp32-save-62", "both": "bf16-save-58"}
BYTES = {"mixed": 0.55, "recompute": 0.40, "both": 0.22}
NATIVE_TIMES, OTHER_TIMES = {"mixed": 0.65, "both": 0.85}, {"mixed": 1.05, "both": 1.35}
WITHOUT_RECOMPUTING = {"recompute": "float", "both": "mixed"}
TRAINING = ["model.layers=12", "run.evaluate_every=0", "run.log_every=50", "checkpoint.every=0"]


def mylos(arguments, *words):
    """Runs the command; ends the study if it fails."""
    harness.finished([arguments.bin / "mylos", *words], env=harness.environment(arguments.threads, arguments.instructions))


def losses(arguments, folder, seed, compute, recompute):
    """The validation loss at the end of a short run."""
    deck = harness.ROOT / "inputs/gpt_shakespeare_cpu.toml"
    target = folder / f"{compute}-{recompute}-{seed}"
    held = [f"kernels.instructions={arguments.instructions}"] if arguments.instructions else []
    mylos(arguments, "train", deck, f"data.train={folder / 'shakespeare.h5'}", f"run.folder={target}",
          f"run.steps={arguments.training_steps}", f"schedule.warmup={arguments.training_steps // 10}",
          f"run.seed={seed}", f"precision.compute={compute}", f"memory.recompute={recompute}", *TRAINING, *held)
    return [float(row["loss"]) for row in rows_of(target, "evaluations.csv") if row["part"] == "validation"][-1]


def train_all(arguments):
    """{configuration: [loss of each seed]}."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mylos(arguments, "prepare", "text", harness.ROOT / "inputs/data/tinyshakespeare.txt", "--out", folder / "shakespeare.h5")
        found = {}
        for configuration, subject in SUBJECTS.items():
            recompute = "all" if "save" in subject else "none"
            found[configuration] = [losses(arguments, folder, seed, subject[:4], recompute)
                                    for seed in range(1, arguments.seeds + 1)]
            print(f"losses, {configuration}: {' '.join(f'{loss:.4f}' for loss in found[configuration])}", flush=True)
        return found


def measure(arguments, quiet):
    program = harness.start([arguments.bin / "gpt_bench", *steps.held(arguments), "medium12"], arguments)
    memory = {name: program.ask(f"memory {subject}")[0].split() for name, subject in SUBJECTS.items()}
    times = harness.measured(arguments.rounds, {
        name: lambda subject=subject: program.number(f"step {subject} {arguments.steps}")
        for name, subject in SUBJECTS.items()}, quiet)
    program.close()
    return memory, times


def recomputing(name, memory, times):
    """The time of a step over that of the same type without recomputation, by the plan and as measured."""
    if name not in WITHOUT_RECOMPUTING:
        return "–"
    return f"{1 + float(memory[name][1]):.2f}, {page.ratio(times[name], times[WITHOUT_RECOMPUTING[name]])}"


def table(arguments, quiet):
    memory, times = measure(arguments, quiet)
    trained = train_all(arguments)
    native = steps.has_16_bit_products(arguments) and machine.multiplies_bfloat16()
    bars = NATIVE_TIMES if native else OTHER_TIMES
    least = {name: int(words[0]) for name, words in memory.items()}
    rows = []
    for name in SUBJECTS:
        share = least[name] / least["float"]
        ratio = harness.median_ratio(times[name], times["float"])
        rows.append([
            name, f"{least[name] / 2**20:.1f} MiB", f"{share:.2f}" + (f" ({page.verdict(share, BYTES[name])})" if name in BYTES else ""),
            f"{statistics.median(times[name]):.1f} ms",
            page.ratio(times[name], times["float"]) + (f" ({page.verdict(ratio, bars[name])})" if name in bars else ""),
            recomputing(name, memory, times),
            f"{statistics.mean(trained[name]):.3f} ± {statistics.stdev(trained[name]):.3f}" if arguments.seeds > 1 else f"{trained[name][0]:.3f}"])
    return page.Table("configurations",
                      ["configuration", "activations", "of float", "step", "of float's", "recomputing, by the plan and measured", "validation loss"],
                      rows, [f"Losses: {arguments.training_steps} steps of inputs/gpt_shakespeare_cpu.toml with 12 layers, "
                             f"{arguments.seeds} seeds; recomputing everything leaves every bit as it is, so that rows differ by the type alone."])
