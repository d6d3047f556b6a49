"""What scripts/to-tensorboard writes is what TensorBoard's library reads: every number, at its step and time.

usage: test_tensorboard.py MYLOS SOURCE

Only where scripts/to-tensorboard has installed that library before.
"""
import json
import os
import pathlib
import subprocess

from small_problem import prepare
from support.cases import run_cases, skip

# In the library's Python: all scalars below a folder, as JSON.
READ = """
import json, pathlib, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = {}
root = pathlib.Path(sys.argv[1])
for folder in sorted({file.parent for file in root.rglob("events.out.tfevents.*")}):
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0, "scalars": 0})
    events.Reload()
    for tag in events.Tags()["tensors"]:
        values = [(e.step, float(e.tensor_proto.float_val[0]), e.wall_time) for e in events.Tensors(tag)]
        found[f"{folder.relative_to(root)}:{tag}"] = values
print(json.dumps(found))
"""

HEALTH = """step,parameter,gradient_norm,zeros
4,hidden1/weight,0.5,0.25
4,head/bias,0.125,
8,hidden1/weight,0.0625,0
"""


def nearly(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))  # TensorBoard keeps floats


def check_board(command, repository):
    cache = os.environ.get("MYLOS_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "mylos")
    python = pathlib.Path(cache) / "tensorboard/bin/python"
    if not python.exists():
        skip("TensorBoard's library is not here: scripts/to-tensorboard installs it")
    script = repository / "scripts/to-tensorboard"
    command.must("train", "deck.toml", "run.evaluate_every=7", "run.folder=a")
    command.must("train", "deck.toml", "run.epochs=1", "run.folder=b")
    command.write("a/health.csv", HEALTH)
    with open(command.folder / "b/history.csv", "a", encoding="utf-8") as file:
        file.write("11,0.9,0.4")  # a row that is being written

    def run(*arguments):
        return subprocess.run([script, *arguments], cwd=command.folder, capture_output=True, text=True, check=False)

    for _ in range(2):  # the second time in the place of the first
        result = run("a", "b", "--out", "board")
        assert result.returncode == 0 and result.stderr == "", result.stderr
        assert result.stdout.splitlines()[-1].endswith("tensorboard --logdir board"), result.stdout
    read = subprocess.run([python, "-c", READ, command.folder / "board"], capture_output=True, text=True, check=True)
    found = json.loads(read.stdout)
    for name in ("a", "b"):
        history = [row for row in command.rows(f"{name}/history.csv") if row["elapsed_s"]]
        for column in ("loss", "lr", "scale", "samples_per_s"):
            values = found[f"{name}:{column}"]
            assert [step for step, _, _ in values] == [int(row["step"]) for row in history], values
            assert all(nearly(value, float(row[column])) for (_, value, _), row in zip(values, history)), column
        ends = [wall for _, _, wall in found[f"{name}:loss"]]
        took = float(history[-1]["elapsed_s"]) - float(history[0]["elapsed_s"])
        assert abs(ends[-1] - ends[0] - took) < 0.01, (ends, took)
        evaluations = command.rows(f"{name}/evaluations.csv")
        for part, quantity in (("train", "loss"), ("test", "loss"), ("test", "accuracy")):
            expected = [(int(row["step"]), float(row[quantity])) for row in evaluations if row["part"] == part]
            values = found[f"{name}/{part}:evaluation/{quantity}"]
            assert [step for step, _, _ in values] == [step for step, _ in expected]
            assert all(nearly(value, want) for (_, value, _), (_, want) in zip(values, expected))
        assert f"{name}/train:evaluation/accuracy" not in found
    health = {tag: [(step, value) for step, value, _ in values] for tag, values in found.items() if "weight" in tag or "bias" in tag}
    assert health == {"a:gradient_norm/hidden1/weight": [(4, 0.5), (8, 0.0625)], "a:gradient_norm/head/bias": [(4, 0.125)],
                      "a:zeros/hidden1/weight": [(4, 0.25), (8, 0.0)]}, health
    refused = run("a", ".")
    assert refused.returncode == 1 and ".: is not a run's folder" in refused.stderr, refused.stderr
    print(f"{sum(map(len, found.values()))} numbers of two runs read back")


run_cases(prepare, check_board, arguments=["repository"])
