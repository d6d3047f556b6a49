"""perf/scaling.py as a user starts it: a study of one and two ranks, its plot, its model, and what cannot be.

usage: test_scaling.py MYLOS REPOSITORY
"""
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(sys.argv[2])
sys.path[:0] = [str(REPOSITORY / "tests/apps"), str(REPOSITORY / "perf")]
from scaling_study import runs  # noqa: E402: the path is set first

from small_problem import prepare  # noqa: E402
from support.command import LAUNCHER, MODELLED, Command  # noqa: E402

TEMPLATE = " ".join(LAUNCHER) + " -n {ranks}"
OPTIONS = ["--mylos", sys.argv[1], "--launcher", TEMPLATE, "--warm-up", 2, "--patience", 0]
STUDY = ["run", "deck.toml", "model.hidden=[128, 128]", MODELLED, *OPTIONS]
# So many buckets that on two ranks gradients take less memory cut.
SHARDED = [MODELLED, f"model.hidden={12 * [128]}", "communication.bucket=4 KiB", "data.batch=24"]


class Scaling:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def run(self, *arguments):
        return subprocess.run(["/usr/bin/python3", REPOSITORY / "perf/scaling.py", *map(str, arguments)], cwd=self.folder,
                              env=dict(os.environ, OMP_NUM_THREADS="1"), capture_output=True, text=True, timeout=600)

    def must(self, *arguments, code=0):
        result = self.run(*arguments)
        assert result.returncode == code, f"{arguments}: {result.returncode}\n{result.stdout}\n{result.stderr}"
        return result

    def refuse(self, message, *arguments):
        said = self.must(*arguments, code=2).stderr
        assert message in said and "Traceback" not in said, f"{arguments} says\n{said}"
        return said


def timed_steps(scaling):
    """As many as take ten times what can be timed, on a machine of whatever speed."""
    steps = 500
    while True:
        first = scaling.run(*STUDY, "--weak", 6, "--ranks", 1, "--rounds", 1, "--steps", steps, "--out", "first.csv")
        if first.returncode == 0:
            break
        assert "too little to be timed: give more --steps" in first.stderr, first.stderr
        steps *= 4
    with open(scaling.folder / "first.csv", newline="", encoding="utf-8") as file:
        step_ms = float(next(csv.DictReader(file))["step_ms"])
    return max(steps, math.ceil(10 * runs.MIN_TIMED_MS / step_ms))


def check_study(scaling, steps):
    """Weak and strong on one and two ranks; a second call, as of another job, adds to the table."""
    study = [*STUDY, "--weak", 6, "--strong", 48, "--machine", "a test", "--steps", steps]
    scaling.must(*study, "--ranks", 1, "--rounds", 2)
    scaling.must(*study, "--ranks", 2, "--rounds", 1)
    with open(scaling.folder / "scaling.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    places = sorted((row["scaling"], int(row["ranks"]), int(row["batch"])) for row in rows)
    assert places == sorted([*2 * [("weak", 1, 6), ("strong", 1, 48)], ("weak", 2, 12), ("strong", 2, 48)]), places
    for row in rows:
        assert float(row["samples_per_s"]) > 0 and int(row["rank_bytes"]) > int(row["process_bytes"]) > 0, row
        assert row["compute"] == "bf16" and row["machine"] == "a test" and len(row["deck_sha256"]) == 64, row
        assert row["mylos"].startswith("0.") and row["bucket_bytes"] == str(1 << 20), row
    assert [path.name for path in scaling.folder.glob("scaling-*")] == [], "run folders are left"


def slices_of_gradients(command):
    """Bytes, of two ranks: 0 where gradients are kept whole."""
    plan = command.must("plan", "deck.toml", *SHARDED, "optimizer.shard=gradients", "--ranks", 2, "--json").stdout
    return next(entry["bytes"] for entry in json.loads(plan)["memory"] if entry["name"] == "slices of gradients")


def check_overrides_that_the_model_asks_for(scaling, steps, shard):
    """The batch and the sharding of the study: each plan is asked for with its own."""
    study = f"{shard}.csv"
    scaling.must("run", "deck.toml", *SHARDED, *OPTIONS, f"optimizer.shard={shard}", "--ranks", "1,2", "--rounds", 1, "--steps", steps,
                 "--out", study)
    said = scaling.must("model", study, "--allreduce", "sums-2.csv", "--mylos", sys.argv[1], "--up-to", 2, "--out",
                        "predicted.csv").stdout
    assert said.count("exact") == 2, said
    with open(scaling.folder / "predicted.csv", newline="", encoding="utf-8") as file:
        predicted = {row["shard"] for row in csv.DictReader(file) if row["ranks"] == "2"}
    assert predicted == {"none", "state", "gradients"}, predicted


def check_plot(scaling):
    scaling.must("plot", "scaling.csv", "scaling.png")
    assert (scaling.folder / "scaling.png").read_bytes().startswith(b"\x89PNG")


def check_model(scaling):
    """Here the bytes of a rank are tested and the way through; rates of so short steps are nobody's promise."""
    study = ["model", "scaling.csv", "--allreduce", "sums-2.csv", "sums-3.csv", "--mylos", sys.argv[1]]
    far = scaling.must(*study, "--hold-out", 2, "--within", 1000, "--out", "predicted.csv", "--plot", "model.svg", "--wire", "2,12.5",
                       "--up-to", 64).stdout
    assert far.count("held out") == 2 and far.count("exact ") == 4 and far.endswith(", bytes exact\n"), far
    assert scaling.must(*study, "--hold-out", 2, "--within", 0, "--up-to", 2, code=1).stdout.endswith("% off\n")
    scaling.refuse("--hold-out 3: the table has no runs on so many ranks; it has [1, 2]", *study, "--hold-out", "2,3")
    assert re.search(r"left out: strong, 64 ranks and more: mylos: .*48", far), far
    said = scaling.must("model", "scaling.csv", "--allreduce", "sums-2.csv", "--mylos", sys.argv[1], "--up-to", 4).stdout
    assert said.count("exact") == 4, said
    assert "the figures of ranks in a node stand for the network's" in said, said
    with open(scaling.folder / "predicted.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {int(row["ranks"]) for row in rows if row["scaling"] == "weak"} == {1, 2, 4, 8, 16, 32, 64}
    assert {int(row["ranks"]) for row in rows if row["scaling"] == "strong"} == {1, 2, 4, 8, 16, 32}, "of 48 samples"
    assert (scaling.folder / "model.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


def check_messages(scaling):
    run = ["run", "deck.toml", "--mylos", sys.argv[1]]
    scaling.refuse("none.toml: the deck cannot be read", "run", "none.toml", "--mylos", sys.argv[1])
    scaling.refuse("there is no launcher 'no-such-launcher' here; --launcher takes mpirun, srun, flux", *run, "--launcher",
                   "no-such-launcher -n {ranks}")
    scaling.refuse("has no place for {ranks}", *run, "--launcher", "env A=1")
    scaling.refuse("is none of its places", *run, "--launcher", "env {rank}")
    scaling.refuse("--folder nowhere: is no folder that can be written", *run, "--launcher", TEMPLATE, "--folder", "nowhere")
    scaling.refuse("there is no program 'no-such-mylos'", "run", "deck.toml", "--mylos", "no-such-mylos")
    said = scaling.refuse("'model.hiden'", *run, "model.hiden=[8]", "--launcher", TEMPLATE, "--ranks", 1, "--patience", 0)
    assert "[unknown-key]" in said, said
    scaling.refuse("has no column 'scaling'", *run, "--launcher", TEMPLATE, "--out", "sums-2.csv")
    scaling.refuse("has no column 'scaling'", "plot", "sums-2.csv", "plot.png")
    scaling.refuse("none.csv: cannot be read", "plot", "none.csv", "plot.png")
    scaling.refuse("has no column 'benchmark'", "model", "scaling.csv", "--allreduce", "scaling.csv", "--mylos", sys.argv[1])
    scaling.refuse("is no list of numbers from 1 on", *run, "--ranks", "1,0")


def check_divided(scaling):
    """Runs send what plans say, to the byte and the message; a machine that is not here is predicted."""
    field = ["--extents", "24,16", "--channels", "4,6", "--mylos", sys.argv[1]]
    said = scaling.must("divided", "--machine", "here", "--ranks", "1,2,4", "--type", "fp32", "--steps", 3, "--within", "1e9",
                        "--patience", 0, *field).stdout
    assert said.count(" exact ") == 3 and " NO " not in said, said
    predicted = scaling.must("divided", "--ranks", "1,8,256", "--box", "8,8", *field).stdout
    rows = re.findall(r"^ +(\d+) +(\d+ x \d+|whole) +[\d.]+ +([\d.]+) ", predicted, re.MULTILINE)
    assert [(int(ranks), space) for ranks, space, _ in rows] == [
        (1, "whole"), (8, "4 x 2"),  # strong: 256 boxes are more than there are points on the second level
        (1, "whole"), (8, "4 x 2"), (256, "4 x 2"), (1, "whole"), (8, "4 x 2"), (256, "16 x 16")], predicted
    assert all((float(exchange) > 0) == (space != "whole") for _, space, exchange in rows), predicted
    assert "left out: strong" in predicted, predicted


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = Command(sys.argv[1], folder)
        prepare(command)
        for ranks in (2, 3):
            command.must("bench", "allreduce", "--sizes", "4KiB,16KiB", "--types", "bf16", "--rounds", 1, "--csv",
                         f"sums-{ranks}.csv", ranks=ranks)
        scaling = Scaling(folder)
        steps = timed_steps(scaling)
        check_study(scaling, steps)
        assert slices_of_gradients(command) > 0
        for shard in ("state", "gradients"):
            check_overrides_that_the_model_asks_for(scaling, steps // 5, shard)  # of a network that takes longer
        check_plot(scaling)
        check_model(scaling)
        check_messages(scaling)
        check_divided(scaling)


main()
