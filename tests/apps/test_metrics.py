"""How well a run uses the machine: summary.json and history.csv, against formulas on paper and the clock on the wall."""
import random
import time

import h5py
import numpy

from small_problem import gpt_deck, prepare, prepare_text
from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text
from support.tables import write_table

PARTS = ["compute_s", "communication_s", "data_wait_s", "evaluation_s", "checkpoints_s", "other_s"]
PEAK = 5e11

WIDE = deck_text(run=dict(peak_flops=None, name="wide", steps=12), data=dict(train="wide.h5", batch=64),
                 model=dict(type="mlp", hidden=[2048, 2048]))

GPT = gpt_deck(run=dict(peak_flops=None, steps=30, evaluate_every=10), data=dict(validation=0.2, batch=6), checkpoint=dict(every=10))


def write_problems(command):
    source = random.Random(5)
    write_table(command.folder / "wide.csv", [*(f"x{i}" for i in range(784)), "class"],
                ([*(f"{source.random():.3f}" for _ in range(784)), sample % 10] for sample in range(128)))
    command.must("prepare", "csv", "wide.csv", "--label", "class", "--out", "wide.h5")
    words = " ".join(source.choice(["to", "be", "or", "not"]) for _ in range(4000))
    prepare_text(command, words)
    command.write("wide.toml", WIDE)
    command.write("gpt.toml", GPT)


def train(command, deck, folder, *arguments, ranks=1, code=0):
    """The summary, the rows of the history, and the seconds of the whole command."""
    start = time.monotonic()
    result = command.must("train", deck, f"run.folder={folder}", *arguments, ranks=ranks, code=code)
    seconds = time.monotonic() - start
    summary = command.document(f"{folder}/summary.json")
    rows = [{key: float(value) for key, value in row.items()} for row in command.rows(f"{folder}/history.csv")]
    return summary, rows, seconds, result.stdout


def near(found, expected, share=1e-9):
    return abs(found - expected) <= share * abs(expected)


def check_time(summary, rows, seconds):
    """The parts are all of the start's time, which is the history's and no longer than the command's."""
    wall, parts = summary["wall_s"], summary["time"]
    assert list(parts) == PARTS and all(parts[part] >= 0 for part in PARTS), parts
    assert near(sum(parts.values()), wall), (sum(parts.values()), wall, parts)
    steps = rows[-summary["steps_of_start"]:]
    earlier = summary["elapsed_s"] - wall
    early = 1e-3 if summary["ranks"] == 1 else 0.5 * wall  # the history's is of rank 0, the summary's of all
    assert steps[-1]["elapsed_s"] - earlier - early <= wall <= seconds, (steps[-1], wall, seconds)
    for part in ("communication_s", "data_wait_s"):  # the history's are of rank 0, the summary's of all
        own = sum(row[part] for row in steps)
        assert own <= wall and (summary["ranks"] > 1 or near(own, parts[part], 0.01)), (part, own, parts)
    assert summary["fastest_rank"]["compute_s_per_step"] <= summary["slowest_rank"]["compute_s_per_step"]
    assert near(sum(summary[which]["compute_s_per_step"] for which in ("fastest_rank", "slowest_rank")) / 2
                * summary["steps_of_start"], parts["compute_s"], 1e-6) or summary["ranks"] > 2


def check_speed(summary, rows, flops_of_sample):
    speed, ranks, steps = summary["speed"], summary["ranks"], summary["steps_of_start"]
    training = summary["wall_s"] - summary["time"]["evaluation_s"] - summary["time"]["checkpoints_s"]
    assert near(speed["samples_per_s"], steps * summary["batch"] / training), (speed, training)
    assert near(speed["model_flops_per_sample"], flops_of_sample), (speed, flops_of_sample)
    assert near(speed["model_flops_per_s"], speed["samples_per_s"] * flops_of_sample), speed
    for name in ("samples_per_s", "model_flops_per_s"):
        assert near(speed[f"{name}_per_rank"] * ranks, speed[name]), (name, speed)
    assert near(speed["model_flop_utilisation"], speed["model_flops_per_s"] / (ranks * speed["peak_flops_per_rank"])), speed
    for row in rows[-steps:]:
        assert near(row["model_flops_per_s"], row["samples_per_s"] * flops_of_sample, 1e-4), row
        expected = row["model_flops_per_s"] / (ranks * speed["peak_flops_per_rank"])
        share = row["model_flop_utilisation"]
        # Steps that are faster than a measured peak become it: rows before them have a share of the lower one.
        assert near(share, expected, 1e-3) or speed["peak"] == "steps" and expected <= share <= 1, (row, expected)


def check_memory(summary):
    memory = summary["memory"]
    assert 1 << 20 < memory["host_bytes"] <= memory["host_peak_bytes"], memory
    assert memory["host_peak_bytes"] <= memory["planned_bytes"] * 1.01 and memory["planned_bytes"] <= memory["budget_bytes"], memory


def check_savings(command):
    """Estimated by the plan of the same deck in float without recomputation: what `mylos plan` states of both."""
    keys = {"fp32": ["precision.compute=fp32"], "bf16": ["precision.compute=bf16"],
            "recomputed": ["precision.compute=fp16", "memory.recompute=all"],
            "16-bit weights": ["precision.compute=bf16", "precision.masters=none"]}
    planned = {name: command.plan_json("wide.toml", *own)["rank_bytes"] for name, own in keys.items()}
    assert planned["16-bit weights"] < planned["fp32"] - (16 << 20), "weights and gradients have half the bytes"
    for name, own in keys.items():
        summary, *_ = train(command, "wide.toml", f"saved-{name}", *own, "run.steps=2", "run.peak_flops=1e12")
        saved = summary["memory"]["estimated_memory_savings"]
        assert abs(saved - (planned["fp32"] - planned[name])) < 4 << 20, (name, saved, planned)  # processes differ in size


def check_mlp(command, ranks):
    """784-2048-2048-10: three products of each layer but for the gradient of the data, and 8 of an output for the loss."""
    products = 2 * (784 * 2048 + 2048 * 2048 + 2048 * 10)
    flops = 3 * products - 2 * 784 * 2048 + 8 * 10
    summary, rows, seconds, output = train(command, "wide.toml", f"wide-{ranks}", f"run.peak_flops={PEAK}", ranks=ranks)
    assert summary["outcome"] == "done" and summary["ranks"] == ranks and summary["threads_per_rank"] == 1, summary
    assert summary["speed"]["peak_flops_per_rank"] == PEAK and summary["speed"]["peak"] == "deck", summary
    assert "tokens_per_s" not in summary["speed"] and rows[-1]["tokens_per_s"] == 0, summary
    assert " % of peak  ETA" in output, output
    check_time(summary, rows, seconds)
    check_speed(summary, rows, flops)
    check_memory(summary)
    if ranks > 1:
        assert summary["time"]["communication_s"] > 0.001 * summary["wall_s"], summary
    print(f"an mlp on {ranks} ranks: {summary['speed']['model_flops_per_s']:.3g} FLOP/s, parts "
          f"{sum(summary['time'].values()):.3f} of {summary['wall_s']:.3f} s")


def check_gpt(command, ranks):
    """Stopped and restarted: each start speaks of itself. The peak is measured."""
    layers, width, context = 2, 32, 16
    folder = f"gpt-{ranks}"
    first, rows, seconds, _ = train(command, "gpt.toml", folder, "--stop-after", 13, ranks=ranks, code=85)
    assert (first["outcome"], first["step"], first["steps_of_start"]) == ("stopped", 13, 13), first
    check_time(first, rows, seconds)
    second, rows, seconds, output = train(command, "gpt.toml", folder, "--restart", "latest", ranks=ranks)
    assert (second["outcome"], second["step"], second["steps_of_start"]) == ("done", 30, 17), second
    assert abs(second["elapsed_s"] - second["wall_s"] - rows[12]["elapsed_s"]) < 0.001, "earlier starts count for elapsed_s"
    check_time(second, rows, seconds)
    vocabulary = len(set(command.text("text.txt")))
    layer = 3 * 24 * width**2 + 6 * width * (context + 1) + 44 * width + 20 * 4 * width
    flops = context * (layers * layer + 3 * width + 22 * width + 6 * width * vocabulary)
    check_speed(second, rows, flops)
    check_memory(second)
    speed = second["speed"]
    assert near(speed["tokens_per_s"], context * speed["samples_per_s"]) and speed["peak"] in ("measured", "steps"), speed
    assert 1e6 < speed["peak_flops_per_rank"] < 1e15 and 0 < speed["model_flop_utilisation"] <= 1, speed
    assert near(rows[-1]["tokens_per_s"], context * rows[-1]["samples_per_s"], 1e-4), rows[-1]
    assert second["time"]["evaluation_s"] > 0 and second["time"]["checkpoints_s"] > 0, second
    assert " tokens/s  " in output, output
    print(f"a gpt on {ranks} ranks, restarted: {speed['tokens_per_s']:.0f} tokens/s, "
          f"{100 * speed['model_flop_utilisation']:.2g} % of {speed['peak_flops_per_rank']:.3g} FLOP/s per rank")


def least_times(command, folder, *options):
    """Of some runs: other programs make single ones longer."""
    times = []
    for number in range(5):
        summary, rows, seconds, _ = train(command, "deck.toml", f"{folder}-{number}", *options)
        check_time(summary, rows, seconds)
        times.append(summary["time"])
    return {part: min(time[part] for time in times) for part in times[0]}


def check_evaluation_share(command):
    """A run that evaluates after each step, and writes a checkpoint after each, says so."""
    many = least_times(command, "judged", "run.evaluate_every=1", "checkpoint.every=1", "checkpoint.background=false")
    few = least_times(command, "unjudged", "run.evaluate_every=1000", "checkpoint.every=0")
    for part in ("evaluation_s", "checkpoints_s"):
        assert many[part] > 3 * few[part], (part, many, few)
    print("evaluations and checkpoints are told from steps")


def check_rows_without_progress(command, ranks):
    """Every step has its rows, however rarely progress is shown: a device keeps 1024 steps, and 16 looks at health."""
    folder = f"silent-{ranks}"
    _, rows, _, _ = train(command, "deck.toml", folder, "run.steps=2100", "run.log_every=100000", "run.evaluate_every=100000",
                          "checkpoint.every=0", "health.every=50", ranks=ranks)
    assert [row["step"] for row in rows] == list(range(1, 2101)), len(rows)
    looks = sorted({int(row["step"]) for row in command.rows(f"{folder}/health.csv")})
    assert looks == list(range(50, 2101, 50)), looks
    print(f"every step has its rows, {ranks} ranks")


def check_many_classes(command):
    """top5 has no matrix; that of confusion is refused before anything is computed, by the check as well, and named where
    it does not fit."""
    numbers = numpy.random.default_rng(3)
    write_data(command.folder / "many.h5", inputs=numbers.standard_normal((96, 4)).astype("f4"),
               labels=numpy.arange(96, dtype="i4"), classes=5000)
    train = ["train", "deck.toml", "data.train=many.h5", "data.test=many.h5", "data.batch=32", "run.epochs=2", "model.hidden=[4]"]
    command.must(*train, 'run.metrics=["top5"]', "run.folder=many", "checkpoint.keep_best=test.top5")
    assert all(0 <= float(row["top5"]) <= 1 for row in command.rows("many/evaluations.csv") if row["top5"])
    said = [command.must_refuse([*train, 'run.metrics=["top5", "confusion"]', "run.folder=none", *words], "not-measured",
                                "mylos: command line: run.metrics: ", '"confusion"', "8 bytes", "5000 classes", "4096").stderr
            for words in ([], ["--check"])]
    assert said[0] == said[1], said
    assert not (command.folder / "none").exists()
    with h5py.File(command.folder / "many.h5", "r+") as file:
        file.attrs["classes"] = 4000
    command.must_refuse([*train, 'run.metrics=["confusion"]', "run.folder=none", "memory.budget=200 MiB"], "does-not-fit",
                        'run.metrics without "confusion"', "4000 classes", code=3)


def check_no_summary_of_another_start(command):
    """A start that fails leaves none: that of the start before would speak of other steps."""
    summary = command.folder / "judged-0" / "summary.json"
    assert summary.exists()
    command.must("train", "deck.toml", "run.folder=judged-0", "--restart", "latest", "run.epochs=40", "precision.compute=fp16",
                 "optimizer.lr=100", "optimizer.clip_norm=0", "precision.scaler.max_consecutive_skips=3", code=4)
    assert not summary.exists()
    print("a start that diverges leaves no summary.json")


run_cases(prepare, write_problems, (check_mlp, 1), (check_gpt, 1), (check_rows_without_progress, 1), (check_mlp, 2), (check_gpt, 2),
          (check_rows_without_progress, 2), check_savings, check_evaluation_share, check_many_classes,
          check_no_summary_of_another_start)
