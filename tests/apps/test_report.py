"""mylos report: the page's structure for runs that are done, going on, crashed, strangers', of other versions, or damaged."""
import json
import math
import os
import re
import shutil
import signal
import subprocess

import numpy

from small_problem import prepare
from support.cases import run_cases
from support.processes import wait_until

HEADER = "step,epoch,loss,lr,gradient_norm,scale,overflow,updates,samples_per_s,tokens_per_s,elapsed_s\n"
MOST_BYTES = 3 << 20


def data_of(page):
    """What the page draws. Its script elements must be the two of the template, whatever its data hold."""
    text = page.read_text(encoding="utf-8")
    assert len(re.findall("<script", text)) == 2 and len(re.findall("</script", text)) == 2, "broken out of its element"
    assert not re.search(r'(src|href)="(?!#|data:)', text) and "url(" not in text, "loads something"
    assert "{{" not in re.sub(r'<script.*?</script>', "", text, flags=re.S), "a part of the template is missing"
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def report(command, *arguments, page=None):
    command.must("report", *arguments)
    return data_of(command.folder / (page or f"{arguments[0]}/report.html"))


def check_done(command):
    command.must("train", "deck.toml", "run.folder=done")
    run, = report(command, "done")["runs"]
    rows = command.text("done/history.csv").splitlines()[1:]
    curves = run["history"]["curves"]
    assert run["progress"] == "done" and run["name"] == "small" and run["notes"] == [], run["notes"]
    assert run["history"]["rows"] == len(rows) == run["steps_of_run"] == curves["first"][-1]
    assert "last" not in curves and "least" not in curves["loss"], "each step is a point of its own"
    for row, loss in zip(rows, curves["loss"]["mean"]):
        assert math.isclose(float(row.split(",")[2]), loss, rel_tol=1e-5), (row, loss)
    for row, resident in zip(rows, curves["host_bytes"]["mean"]):
        assert math.isclose(float(row.split(",")[-3]), resident, rel_tol=1e-5), (row, resident)
    assert "host_peak_bytes" in curves and "device_bytes" not in curves, "without a device there is no curve of it"
    plan = command.document("done/plan.json")
    assert math.isclose(sum(part["bytes"] for part in run["plan"]["parts"]), plan["rank_bytes"], rel_tol=0.01)
    types = {layer["name"]: layer["compute"] for layer in run["layers"]}
    assert types == {"hidden1": "bf16", "hidden2": "bf16", "head": "bf16"}, types
    assert ["optimizer.lr", "0.01"] in run["deck"]
    assert run["health"] is None and run["events"] is None


def check_several(command):
    command.must("train", "deck.toml", "run.folder=half", "precision.compute=fp16", "optimizer.lr=0.02")
    document = report(command, "done", "half", "--out", "pages/both.html", page="pages/both.html")
    report(command, "done", "half", "--out", "pages/both.html", page="pages/both.html")  # a page is written anew
    before = (command.folder / "done/history.csv").read_bytes()
    command.must("report", "done", "--out", "done/history.csv", code=2)
    assert (command.folder / "done/history.csv").read_bytes() == before, "a run's file was replaced by a page"
    assert [run["label"] for run in document["runs"]] == ["done", "half"], "runs of one name go by their folders"
    decks = [dict(run["deck"]) for run in document["runs"]]
    differing = {key for key in decks[0] if decks[0][key] != decks[1].get(key)}
    assert differing == {"run.folder", "precision.compute", "optimizer.lr"}, differing


def wait_for(condition, what):
    wait_until(condition, f"{what} did not come")


def check_running_and_crashed(command):
    """Watched while it runs, killed, and watched no more."""
    history = command.folder / "live/history.csv"
    run = command.start("train", "deck.toml", "run.folder=live", "run.epochs=1000000", "checkpoint.every=100000", "run.log_every=500",
                        "run.evaluate_every=1000000")  # what it prints is not read, and must fit a pipe
    wait_for(lambda: history.exists() and history.stat().st_size > 5000, "a history")
    watcher = command.start("report", "live", "--watch", "1")
    page = command.folder / "live/report.html"
    wait_for(page.exists, "the page")
    before = data_of(page)
    assert before["reload_s"] == 1 and before["runs"][0]["progress"] == "running", before["runs"][0]["progress_text"]
    wait_for(lambda: data_of(page)["runs"][0]["history"]["step"] > before["runs"][0]["history"]["step"], "a newer page")
    assert report(command, "live", "--out", "once.html", page="once.html")["reload_s"] == 0
    run.send_signal(signal.SIGKILL)
    run.communicate()
    watcher.communicate(timeout=600)
    assert watcher.returncode == 0
    after = data_of(page)
    assert after["reload_s"] == 0 and after["runs"][0]["progress"] == "unfinished", after["runs"][0]["progress_text"]


def check_stopped_and_checkpoint(command):
    """Without its history the curves are those that the newest sound checkpoint keeps; a damaged one is named."""
    command.must("train", "deck.toml", "run.folder=part", "--stop-after", "20", code=85)
    run, = report(command, "part")["runs"]
    assert run["progress"] == "stopped" and "step 20" in run["progress_text"], run["progress_text"]
    assert [(row["kind"], row["step"]) for row in run["events"]["rows"]] == [("stop", 20)], run["events"]
    losses = run["history"]["curves"]["loss"]["mean"]
    (command.folder / "part/history.csv").unlink()
    run, = report(command, "part")["runs"]
    assert run["history"]["curves"]["loss"]["mean"] == losses, "other curves"
    assert any("step-0000000020.h5 keeps" in note for note in run["notes"]), run["notes"]
    newest = command.folder / "part/checkpoints/step-0000000020.h5"
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    run, = report(command, "part")["runs"]
    assert any("step-0000000020.h5 is not used" in note for note in run["notes"]), run["notes"]
    assert run["history"]["rows"] == 18, "the checkpoint before it"
    for file in (command.folder / "part/checkpoints").glob("*.h5"):
        file.write_bytes(b"no HDF5" * 1000)
    run, = report(command, "part")["runs"]
    assert run["history"]["rows"] == 0 and len(run["notes"]) >= 2, run["notes"]


def make_run(command, name, history, **files):
    folder = command.folder / name
    folder.mkdir()
    (folder / "history.csv").write_text(history, encoding="utf-8")
    for file, text in files.items():
        (folder / file.replace("_", ".")).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def check_told_ends(command):
    """Not every run without a last step was ended from outside."""
    command.must("train", "deck.toml", "run.folder=far", "optimizer.type=sgd", "optimizer.lr=1000", "optimizer.clip_norm=0",
                 "precision.compute=fp16", "precision.scaler.max_consecutive_skips=3", code=4)
    run, = report(command, "far")["runs"]
    assert run["progress"] == "diverged" and "the run diverged at step" in run["progress_text"], run["progress_text"]
    command.must("train", "deck.toml", "run.folder=early", "optimizer.lr=1e-30", "run.patience=1")
    run, = report(command, "early")["runs"]
    told = "the run stopped early, after 1 evaluations without a better test.loss (run.patience); the best: test.loss"
    assert run["progress"] == "done" and told in run["progress_text"], run["progress_text"]


def check_long(command):
    """100,000 steps with everything there is: small enough, with every spike."""
    lines = [HEADER]
    for step in range(1, 100_001):
        loss = 50 if step == 54_321 else 2 + 1 / step + 0.01 * (step * 7919 % 101)
        lines.append(f"{step},{step / 100},{loss},0.001,{1 + step % 7},{2.0 ** (step // 5000)},{int(step % 40 == 0)},{step},1000,64000,{step}.5\n")
    health = ["step,parameter,gradient_norm,weight_norm,update_ratio,largest_gradient,largest_weight,zeros,subnormals,non_finite\n"]
    for step in range(100, 100_001, 100):
        health += [f"{step},layer{i}/weight,{1e-3 * (i + 1)},1,0.001,1,1,0,0,{int(step == 500 and i == 3)}\n" for i in range(100)]
    events = "".join(json.dumps({"step": i, "kind": "warning", "cause": "c", "subject": "s", "text": "t" * 200}) + "\n" for i in range(5000))
    make_run(command, "long", "".join(lines), health_csv="".join(health), events_jsonl=events, resolved_toml="[run]\nname = \"long\"\n[data]\nbatch = 10\n")
    document = report(command, "long")
    size = (command.folder / "long/report.html").stat().st_size
    assert size <= MOST_BYTES, size
    run, = document["runs"]
    curves, overflows = run["history"]["curves"], run["history"]["overflows"]
    assert run["history"]["rows"] == 100_000 and 1000 < len(curves["first"]) <= 2000
    assert max(curves["loss"]["largest"]) == 50 and max(curves["loss"]["mean"]) < 10
    assert overflows["total"] == 2500 and overflows["every"] == 2 and len(overflows["steps"]) == 1250
    maps = run["health"]["maps"]["gradient_norm"]
    assert len(maps["rows"]) == 100 and maps["broken"] == [[3, 0]], maps["broken"]
    assert run["events"]["total"] == 5000
    assert [row["step"] for row in run["events"]["rows"]] == [*range(200), *range(4800, 5000)], "the first and the last"
    print(f"100,000 steps: {size / 2**20:.2f} MiB")


def check_hostile(command):
    """Names that would end a script, half files, columns of another version; nothing but notes comes of it."""
    name = '</script><script>alert(1)</script><!-- " \\ & \u2028'
    deck = f"[run]\nname = '{name}'\nunknown_key = 1\n[data]\nbatch = 10\n".encode() + b"x = \"\xff\xfe\"\n"
    history = HEADER + "1,0,2.5,1,1,1,0,1,10,0,1\nnonsense\n2,0,nan,1,1,1,0,2,10,0,2\n-3,0,1,1,1,1,0,1,1,1,1\n,,,,,,,,,,\n3,0,2.25,1,1"
    event = json.dumps({"step": 1, "kind": name, "cause": 7, "text": name})
    make_run(command, "hostile", history, resolved_toml=deck, summary_json='{"outcome": "done", "speed":', plan_json="[" * 100_000,
             events_jsonl=event.encode() + b'\n{"step": -1}\n\xff\xfe\n{"step"', evaluations_csv="step,part,loss,accuracy\n1,</script>,1,\n1,a\n",
             health_csv="step,parameter\n1,</script>\n", confusion_json='{"step": 3, "classes": ["a", "b"], "parts": {"test": [[1, 2], [3]]}}',
             targets_json='{"step": 3, "targets": ["a", "b"], "parts": {"test": [0.5]}}')
    run, = report(command, "hostile")["runs"]
    assert run["name"] == name and run["progress"] == "unfinished"
    assert run["history"]["rows"] == 2 and run["history"]["broken_losses"] == 1
    assert run["events"]["rows"][0]["text"] == name and run["events"]["rows"][0]["cause"] == ""
    notes = "\n".join(run["notes"])
    for part in ("history.csv: 3 damaged rows", "history.csv: ends within a row", "summary.json", "plan.json", "evaluations.csv: 1 damaged row",
                 "events.jsonl: 2 damaged lines", "types per layer", "confusion.json: is not whole", "targets.json: is not whole"):
        assert part in notes, (part, notes)
    # A folder whose name is not UTF-8, which some file systems have.
    odd = os.fsencode(command.folder) + b"/odd\xff"
    shutil.copytree(os.fsencode(command.folder / "hostile"), odd)
    command.must("report", os.fsdecode(odd), "--out", "odd.html")
    data_of(command.folder / "odd.html")
    confusion = {"step": 3, "classes": [name, "b"], "parts": {"test": [[1, 2], [3, 4]]}}
    targets = {"step": 3, "targets": [name, "b"], "parts": {"test": [0.5, None]}}
    make_run(command, "confused", history, confusion_json=json.dumps(confusion), targets_json=json.dumps(targets),
             evaluations_csv="step,epoch,part,loss,accuracy,top5,r2,elapsed_s\n3,1,test,0.5,0.5,0.75,,1\n")
    run, = report(command, "confused")["runs"]
    assert run["confusion"] == confusion and run["targets"] == targets and run["evaluations"]["test"]["top5"]["mean"] == [0.75], run["evaluations"]
    old = "step,loss,lr\n1,2.5,0.1\n2,2.25,0.1\n"
    make_run(command, "old", old)
    run, = report(command, "old")["runs"]
    assert run["name"] == "old" and set(run["history"]["curves"]) == {"first", "loss", "lr"} and run["notes"] == []
    make_run(command, "foreign", "when,what\n1,2\n2,3\n", health_csv="a,b\n1,2\n")
    run, = report(command, "foreign")["runs"]
    assert run["notes"] == [f'{name}: has no column "step", as every version\'s has: left out' for name in ("history.csv", "health.csv")]
    newer = {"format": "mylos-summary", "version": 2, "outcome": "done", "novelty": [1]}
    make_run(command, "newer", old, summary_json=json.dumps(newer), plan_json='{"format": "mylos-plan", "version": 1, "ranks": 2}')
    run, = report(command, "newer")["runs"]
    assert run["progress"] == "done" and run["plan"]["ranks"] == 2
    assert run["notes"] == ['summary.json: is "mylos-summary", version 2, and this program knows "mylos-summary", version 1: '
                            "shown as far as it is understood"], run["notes"]


def check_fields(command):
    """Fields of samples and rollouts, as a run and `mylos rollout` write them; half or hostile ones are notes."""
    plane = {"title": "sample 3", "channel": "</script>", "rows": 2, "columns": 3, "every": 1, "low": -1, "high": 2.5, "span": 0.5,
             "truth": "AAECAwT/", "predicted": "AAECAwT/", "difference": "AAECAwT/"}
    line = {**plane, "rows": 1, "truth": [1, 2, None], "predicted": [1, 2, 3]}
    north = {**plane, "upward": True}
    samples = {"format": "mylos-samples", "version": 1, "step": 7, "parts": {"test": [plane, line, north]}}
    rollout = {"format": "mylos-rollout", "version": 1, "step": 7, "members": [{"name": "a", "first_step_not_finite": 2}],
               "errors": {"step": [1, 2], "nrmse": [0.5, None], "persistence_nrmse": [1, 2], "energy": [1, 2]},
               "spectrum": {"wavenumber": [0, 1, 2], "steps": [0, 2], "network": [[1, 2, 3], [1, 2, 3]], "truth": [[1, 2, 3], []], "error": [[0, 0, 0], []]},
               "pictures": [plane]}
    history = HEADER + "1,0,2.5,1,1,1,0,1,10,0,1\n"
    make_run(command, "fields", history, samples_json=json.dumps(samples))
    command.write("fields/long.rollout.json", json.dumps(rollout))
    run, = report(command, "fields")["runs"]
    assert run["samples"]["parts"]["test"] == [plane, line, north] and run["samples"]["step"] == 7 and run["notes"] == [], run["notes"]
    found, = run["rollouts"]
    assert found["name"] == "long.rollout.json" and found["members"] == 1 and found["first_step_not_finite"] == 2
    assert found["errors"] == rollout["errors"] and found["spectrum"] == rollout["spectrum"] and found["pictures"] == [plane]
    for i, change in enumerate(({"truth": "AAEC"}, {"columns": 10**9}, {"rows": 2.5}, {"low": None}, {"channel": 1})):
        samples["parts"]["test"] = [{**plane, **change}]
        make_run(command, f"bad{i}", history, samples_json=json.dumps(samples))
        run, = report(command, f"bad{i}")["runs"]
        assert run["samples"] is None and run["notes"] == ["samples.json: is not whole, or no fields of samples: left out"], (change, run["notes"])
    assert found["variables"] is None
    variables = {"names": ["u"], "units": ["K"], "levels": [1, 2], "coverage": 0.9,
                 "measures": {"rmse": [[0.5, None]], "interval_coverage": [[1, 0.875]], "interval_width": [[2, 3]]}}
    command.write("fields/long.rollout.json", json.dumps({**rollout, "variables": variables}))
    found, = report(command, "fields")["runs"][0]["rollouts"]
    assert found["variables"] == variables
    for change in ({"errors": {"step": [1], "nrmse": [1, 2]}}, {"spectrum": {"wavenumber": [0]}}, {"pictures": 3}, {"members": {}},
                   {"variables": 3}, {"variables": {**variables, "measures": {"rmse": [[1]]}}}, {"variables": {**variables, "units": []}},
                   {"variables": {**variables, "coverage": "much"}}):
        command.write("bad0/x.rollout.json", json.dumps({**rollout, **change}))
        run, = report(command, "bad0")["runs"]
        assert run["rollouts"] == [] and "x.rollout.json: is not whole, or no rollout: left out" in run["notes"], (change, run["notes"])


def check_coasts(command):
    """The page draws a line between each two neighbours of which one counts, and no other."""
    if shutil.which("node") is None:
        return
    page = command.text("fields/report.html")
    function = re.search(r"^function coastOf\(.*?^}$", page, re.M | re.S)[0]
    counts = numpy.random.default_rng(2).random((5, 7)) < 0.6
    codes = json.dumps(numpy.where(counts, 9, 255).ravel().tolist())
    path = subprocess.run(["node", "-e", f"const notFiniteCode = 255; {function}; console.log(coastOf({codes}, 5, 7));"],
                          capture_output=True, text=True, check=True).stdout
    found = {(int(column), int(row), way) for column, row, way in re.findall(r"M(\d+) (\d+)([vh])1", path)}
    assert found == {(column, row, "v") for row, column in numpy.argwhere(counts[:, 1:] != counts[:, :-1]) + [0, 1]} | \
        {(column, row, "h") for row, column in numpy.argwhere(counts[1:] != counts[:-1]) + [1, 0]}, found


def check_uncertainty(command):
    """uncertainty.json, as `mylos eval` writes it; half or hostile ones are notes."""
    coverage = [[0.9, 0.85], [0.1, 0.2], [0.5, 0.5]]
    document = {"split": "test", "step": 7, "samples": 100, "coverage": coverage, "calibration_error": 0.05, "sharpness": 1.25, "crps": 0.5}
    history = HEADER + "1,0,2.5,1,1,1,0,1,10,0,1\n"
    make_run(command, "sure", history, uncertainty_json=json.dumps(document))
    run, = report(command, "sure")["runs"]
    assert run["uncertainty"] == {**document, "coverage": sorted(coverage)} and run["notes"] == [], run["notes"]
    for i, change in enumerate(({"coverage": []}, {"coverage": [[0.5]]}, {"coverage": [[0.5, 1.5]]}, {"coverage": [[0.5, None]]}, {"coverage": 3})):
        make_run(command, f"unsure{i}", history, uncertainty_json=json.dumps({**document, **change}))
        run, = report(command, f"unsure{i}")["runs"]
        assert run["uncertainty"] is None and run["notes"] == ["uncertainty.json: has no coverages: left out"], (change, run["notes"])


def check_advice(command):
    """What `mylos advise --json` printed, in a run's folder; damaged or hostile it is a note, or shown as far as it goes."""
    printed = command.must("advise", "deck.toml", "--steps", "4", "--rounds", "1", "--json", "--out", "advised.toml").stdout
    command.write("done/advice.json", printed)
    told, (run,) = json.loads(printed), report(command, "done")["runs"]
    shown = run["advice"]
    assert run["notes"] == [] and shown["verdict"] == told["advice"]["verdict"] and shown["reasons"] == told["advice"]["reasons"], shown
    assert (shown["compute"], shown["steps"], shown["ranks"], shown["batch"]) == (told["advice"]["compute"], 4, 1, 48), shown
    assert len(shown["trials"]) == len(told["trials"]) >= 3, shown["trials"]
    for one, measured in zip(shown["trials"], told["trials"]):
        assert one["compute"] == measured["compute"] and one["recompute"] == measured["recompute"]
        for key in ("median_step_s", "rank_bytes", "largest_micro_batch"):
            assert math.isclose(one[key], measured[key], rel_tol=1e-5), (key, one, measured)
    hostile = {"format": "mylos-advice", "version": 1, "trials": [3, {"compute": "</script>" * 100, "obstacle": "x" * 1000}, {}] * 50,
               "advice": {"verdict": 7, "reasons": ["r" * 9000] * 99}}
    command.write("done/advice.json", json.dumps(hostile))
    run, = report(command, "done")["runs"]
    assert len(run["advice"]["trials"]) <= 64 and len(json.dumps(run["advice"])) < 100_000 and run["advice"]["verdict"] == "", run["advice"]
    for text in ("[1]", "{", '"advice"'):
        command.write("done/advice.json", text)
        run, = report(command, "done")["runs"]
        assert run["advice"] is None and run["notes"] == ["advice.json: is not whole, or no JSON: left out"], (text, run["notes"])
    command.write("done/advice.json", '{"advice": 3}')
    report(command, "done")
    (command.folder / "done/advice.json").unlink()


def check_pipes(command):
    """No page waits for a reader; "-" is standard output."""
    os.mkfifo(command.folder / "pipe")
    for path in ("pipe", "/dev/stdout", "/dev/null"):
        command.must_refuse(["report", "done", "--out", path], "not-a-file", f"mylos: --out {path}: ", '"-"', timeout=30)
    printed = command.must("report", "done", "--out", "-").stdout
    command.must("report", "done", "--out", "same.html")
    page = command.text("same.html")
    assert printed.startswith("<!DOCTYPE html>") and abs(len(printed) - len(page)) < 40, (len(printed), len(page))
    assert not (command.folder / "-").exists()
    command.must_refuse(["report", "done", "--out", "-", "--watch"], "arguments-conflict", "--out -", "--watch")


def check_refusals(command):
    (command.folder / "empty").mkdir()
    command.write("empty/deck.toml", "[run]\n")
    for arguments, refusal in ((["empty"], ("wrong-format", "empty: ", "history.csv")), (["nowhere"], ("no-such-folder", "nowhere: ")),
                               (["deck.toml"], ("not-a-folder", "deck.toml: ")),
                               (["done", "./done/checkpoints"], ("arguments-conflict", "./done/checkpoints: is the run in done", "given twice")),
                               (["done", "--watch", "0"], ("bad-argument", "--watch: '0'", "from 1 to")), ([], ("missing-argument",))):
        command.must_refuse(["report", *arguments], *refusal)
    assert not (command.folder / "empty/report.html").exists()


if __name__ == "__main__":
    run_cases(prepare, check_done, check_several, check_running_and_crashed, check_stopped_and_checkpoint, check_told_ends, check_long,
              check_hostile, check_fields, check_coasts, check_uncertainty, check_advice, check_pipes, check_refusals)
