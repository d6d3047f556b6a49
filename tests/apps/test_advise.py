"""mylos advise: what it says of a small deck, and the deck that it writes."""
import json
import re
import shutil

from random_data import prepare_random
from small_problem import gpt_deck, prepare
from support.cases import run_cases
from support.decks import deck_text

SETTINGS = [(compute, recompute) for compute in ("fp32", "bf16", "fp16") for recompute in ("auto", "all")]
QUICK = ("--steps", 6, "--rounds", 2)
MLP = deck_text(run=dict(name="net", steps=4), data=dict(train="samples.h5", batch=64), model=dict(hidden=[64, 64, 64]))


def advise(command, *arguments, ranks=1, code=0):
    return command.must("advise", *arguments, *QUICK, ranks=ranks, code=code)


def check_json(command, ranks):
    """Every setting with sound numbers, the advice that follows from them, and nothing else in the output."""
    advice = json.loads(advise(command, "deck.toml", "--json", "--out", f"json-{ranks}.toml", ranks=ranks).stdout)
    trials = {(trial["compute"], trial["recompute"]): trial for trial in advice["trials"]}
    assert list(trials) == SETTINGS and advice["ranks"] == ranks, list(trials)
    base = trials["fp32", "auto"]
    for (compute, recompute), trial in trials.items():
        plan = command.json("plan", "deck.toml", "--json", "--ranks", ranks, "memory.times=model",
                            f"precision.compute={compute}", f"memory.recompute={recompute}")
        assert trial["activation_bytes"] == plan["activation_bytes"], (compute, recompute)
        assert len(trial["step_s"]) == 2 and min(trial["step_s"]) > 0, trial
        assert abs(trial["samples_per_s"] - 48 / trial["median_step_s"]) <= 1e-9 * trial["samples_per_s"], trial
        assert len(trial["losses"]) == 6 and trial["losses"] == trials[compute, "auto"]["losses"], "recomputed loss"
        half = [sum(one["losses"][3:]) for one in (base, trial)]
        assert abs(trial["loss_gap"] - (half[1] / half[0] - 1)) < 1e-9, trial
        assert trial["largest_micro_batch"] >= 1, trial
        assert {gradient["parameter"] for gradient in trial["gradients"]} == \
            {gradient["parameter"] for gradient in base["gradients"]}
    taken = trials[advice["advice"]["compute"], "auto"]
    close = [trial for trial in trials.values()
             if trial["recompute"] == "auto" and trial["compute"] != "fp32" and trial["loss_gap"] <= 0.02]
    best = min(close, key=lambda trial: trial["median_step_s"], default=base)
    saves = best["median_step_s"] <= 0.9 * base["median_step_s"]
    assert taken is (best if saves else base), advice["advice"]
    assert advice["advice"]["verdict"].startswith("take" if saves else "stay in fp32"), advice["advice"]


def check_text_and_deck(command, ranks):
    """The table has all settings, and the deck trains beside the run that its deck has made before."""
    (command.folder / "deck.advised.toml").unlink(missing_ok=True)
    shutil.rmtree(command.folder / "runs", ignore_errors=True)
    command.must("train", "deck.toml", ranks=ranks)
    before = sorted(path.name for path in (command.folder / "runs").rglob("*"))
    output = advise(command, "deck.toml", "data.micro_batch=24", ranks=ranks).stdout
    assert sorted(path.name for path in (command.folder / "runs").rglob("*")) == before, "a run's folder was touched"
    for compute, recompute in SETTINGS:
        rows = re.findall(rf"^  {compute} +{recompute} +[\d.e+-]+ +±[\d.e+-]+ % .*", output, re.M)
        assert len(rows) == 1, output
    assert output.count("\nverdict: ") == 1 and "samples/s" in output and "round 2 of 2\n" in output, output
    written = command.text("deck.advised.toml")
    compute = re.search(r'^compute = "(\w+)"', written, re.M).group(1)
    assert re.search(rf"^verdict: (take|stay in) {compute} ", output, re.M), output
    assert re.search(r"^micro_batch = 24$", written, re.M) and 'folder = "runs/small-advised"' in written, written
    command.must("train", "deck.advised.toml", ranks=ranks)
    assert (command.folder / "runs/small-advised/summary.json").exists()


def check_files_are_kept(command):
    check_folder_that_cannot_be_written(command)
    command.write("mine.toml", "mine")
    for arguments in ([], ["--out", "mine.toml"]):
        result = command.must_refuse(["advise", "deck.toml", *arguments, *QUICK], "already-exists", "--out",
                                     arguments[-1] if arguments else "deck.advised.toml")
        assert result.stdout == "", "it is said before anything is measured"
    assert command.text("mine.toml") == "mine"


def check_folder_that_cannot_be_written(command):
    """It is said before anything is measured, and nothing names a deck that is not there."""
    command.write("a-file", "a file")
    for path in ("a-file/x.toml", "/proc/x.toml"):
        result = command.run("advise", "deck.toml", "--out", path, "--steps", 1000, "--rounds", 1000, timeout=60)
        assert result.returncode in (1, 2) and result.stdout == "" and path in result.stderr, result
        assert result.stderr.count("\n") == 1, result.stderr


def check_tokens(command):
    output = advise(command, "gpt.toml", "--out", "gpt-1.toml").stdout
    assert "tokens/s" in output and re.search(r"^gradients of step 6, what 16 bits add to float's own$", output, re.M), output
    assert re.search(r"^  bf16  ", output.split("gradients of step")[1], re.M), output


def check_budgets(command):
    """What does not fit is no end; nothing that fits is one."""
    command.write("net.toml", MLP)
    arguments = ["net.toml", "data.batch=4096", f"model.hidden={8 * [192]}", "--json",
                 "memory.recompute=none"]
    plans = {compute: command.json("plan", *arguments, "memory.times=model",
                                   f"precision.compute={compute}") for compute in ("fp32", "bf16")}
    need = {compute: plan["rank_bytes"] - plan["checkpoint_copy_bytes"] for compute, plan in plans.items()}
    budget = (need["fp32"] + need["bf16"]) // 2
    advice = command.json("advise", *arguments, f'memory.budget="{budget} B"', "--steps", 4, "--rounds", 1, "--out", "tight.toml")
    trials = {(trial["compute"], trial["recompute"]): trial for trial in advice["trials"]}
    assert len(trials) == 9 and "memory.budget = " in trials["fp32", "none"]["obstacle"], trials
    assert not trials["fp32", "none"]["obstacle"].endswith("]"), trials
    assert "obstacle" not in trials["bf16", "none"] and "obstacle" not in trials["fp32", "auto"]
    keeping = [trials[compute, "auto"]["largest_micro_batch"] for compute in ("fp32", "bf16")]
    assert 1 <= keeping[0] < keeping[1], keeping
    command.must_refuse(["advise", "net.toml", 'memory.budget="21 MiB"', "--out", "never.toml", *QUICK], "does-not-fit", "21 MiB",
                        code=3)
    assert not (command.folder / "never.toml").exists()


def check_bad_input(command):
    for arguments, refusal in (
            (["nowhere.toml"], ("no-such-file", "nowhere.toml")),
            (["deck.toml", "precision.compute=fp8", "--out", "x.toml"], ("bad-value", "'precision.compute'")),
            (["deck.toml", "data.train=nowhere.h5", "--out", "x.toml"], ("no-such-file", "nowhere.h5")),
            (["deck.toml", "precision.rules={none=\"fp32\"}", "--out", "x.toml"], ("unknown-name", "none")),
            (["deck.toml", "--out", "x.toml", "--steps", "0"], ("bad-argument", "--steps: '0'", "from 4")),
            (["deck.toml", "--out", "x.toml", "--rounds", "x"], ("bad-argument", "--rounds: 'x'", "from 1"))):
        command.must_refuse(["advise", *arguments], *refusal)
    assert not (command.folder / "x.toml").exists()
    result = command.must("advise", "deck.toml", "--out", "new/folder/x.toml", *QUICK)
    assert (command.folder / "new/folder/x.toml").exists(), result.stdout


def set_up(command):
    prepare(command)
    prepare_random(command, samples=16384, characters=20000)
    command.write("gpt.toml", gpt_deck(run=dict(steps=8), data=dict(train="tokens.h5", batch=8)))


run_cases(set_up, (check_json, 1), (check_text_and_deck, 1), (check_json, 2), (check_text_and_deck, 2), check_files_are_kept,
          check_tokens, check_budgets, check_bad_input)
