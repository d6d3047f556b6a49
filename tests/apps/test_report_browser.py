"""Pages of mylos report in a headless Chromium, by scripts/check-report: a small run, two of them, one of 100,000 steps with
everything there is, one with hostile names, and sweeps: a grid that has ended, one that is damaged, and one of 64 members."""
import subprocess
import sys

from small_problem import prepare
from support.cases import run_cases
from sweep_folders import describe, list_key, make_sweep, range_key, write_table
from test_report import HEADER, check_fields, check_hostile, check_long, check_uncertainty, make_run

SWEEP = "parallel,importance,curves"
CURVES = "loss,lr,scale,gradient-norm,rate"


def make_sweeps(command):
    """A real grid; the same with damaged files; and 64 members of which some were stopped, diverged or failed."""
    keys = [list_key("optimizer.lr", "1e-4", "1e-2"), range_key("model.dropout", 0, 0.4)]
    folder, members = make_sweep(command, "grid", keys, [[lr, dropout] for lr in ("1e-4", "1e-2") for dropout in ("0.0", "0.3")])
    command.must("report", "grid", "--out", "grid.html")
    members[0].update(state="</script>", cause='"quoted", </script>')
    write_table(folder, keys, members)
    (folder / "members/0001/evaluations.csv").write_text("step,part\n1,2,3\n", encoding="utf-8")
    command.must("report", "grid", "--out", "damaged.html")
    (folder / "sweep.json").unlink()
    command.must("report", "grid", "--out", "bare.html")
    keys = [range_key("optimizer.lr", 1e-5, 1e-1, "log"), range_key("model.dropout", 0, 0.5), list_key("model.hidden", "[16]", "[32, 16]", "[64, 32]"), list_key("optimizer.type", "sgd", "adamw")]
    large = command.folder / "large"
    large.mkdir()
    describe(large, keys, "", trials=64, strategy="halving", rungs=[100, 300, 900])
    rows = []
    for i in range(64):
        state = ("done", "stopped", "stopped", "diverged", "failed", "waiting", "running", "does_not_fit")[i % 8]
        measured = state in ("done", "stopped", "running")
        last = 900 if state == "done" else 100
        value = 0.3 + (i * 37 % 64) / 64
        rows.append({"state": state, "rung": 2 if state == "done" else 0, "steps": last, "value": value if measured else "", "best_step": last if measured else "",
                     "cause": "the loss is not finite, at step 3" if state == "diverged" else "", "optimizer.lr": 10 ** (-5 + i / 16), "model.dropout": i * 29 % 64 / 128,
                     "model.hidden": keys[2]["values"][i % 3], "optimizer.type": keys[3]["values"][i % 2]})
        run = large / f"members/{i:04}"
        run.mkdir(parents=True)
        if measured or state == "diverged":
            (run / "evaluations.csv").write_text("step,part,loss\n" + "".join(f"{step},test,{value + 10 / step}\n" for step in range(5, last + 1, 5)), encoding="utf-8")
    write_table(large, keys, rows)
    command.must("report", "large", "--out", "large.html")


def make_signed(command):
    """A loss that begins positive and becomes negative, as a Gaussian one does, and a gradient that is 0 in some steps."""
    losses = [90 / (1 + step) - 3 for step in range(40)]
    make_run(command, "signed", HEADER + "".join(f"{i + 1},0,{loss},1e-3,{i % 3},1,0,{i + 1},10,0,{i}\n" for i, loss in enumerate(losses)))
    command.must("report", "signed")


def check_pages(command, repository):
    for name, compute in (("one", "bf16"), ("other", "fp16")):
        command.must("train", "deck.toml", f"run.folder={name}", f"precision.compute={compute}")
    advice = command.must("advise", "deck.toml", "--steps", "4", "--rounds", "1", "--json", "--out", "advised.toml").stdout
    command.write("one/advice.json", advice)
    command.must("report", "one")
    command.must("report", "one", "other", "--out", "both.html")
    check_long(command)
    check_hostile(command)
    check_fields(command)
    check_uncertainty(command)
    make_signed(command)
    make_sweeps(command)
    for expected, pages in ((f"{CURVES},share,parts,time,memory,memory-steps", ["one/report.html"]),
                            (f"{CURVES},share,parts-compute_s,parts-communication_s,parts-data_wait_s,time,memory,memory-host_bytes,memory-host_peak_bytes", ["both.html"]),
                            ("loss,rollout-0-0-nrmse,rollout-0-0-spectrum,rollout-0-0-rmse-0,rollout-0-0-coverage-0,rollout-0-0-picture-0,samples-0-test-0,samples-0-test-1,samples-0-test-2", ["fields/report.html"]),
                            ("loss,reliability-0", ["sure/report.html"]), ("loss,gradient-norm", ["signed/report.html"]), (SWEEP, ["grid.html", "large.html"]), ("parallel,curves", ["damaged.html"]),
                            ("", ["bare.html"]), (f"{CURVES},health-0,ratio-0,parts", ["long/report.html"]), ("loss", ["hostile/report.html", "old/report.html"])):
        line = [repository / "scripts/check-report", "--expect", expected, *(command.folder / page for page in pages)]
        code = subprocess.run(line, check=False).returncode
        if code != 0:
            sys.exit(code)


run_cases(prepare, check_pages, arguments=["repository"])
