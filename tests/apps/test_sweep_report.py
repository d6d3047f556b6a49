"""mylos report and mylos sweep --best of the folder of a sweep: the page's structure, its numbers against NumPy and the members'
own files, and decks that train the members again."""
import fcntl
import itertools
import json
import math
import re
import shutil

import numpy as np

from small_problem import prepare
from support.cases import run_cases
from support.tables import rows_of
from sweep_folders import describe, evaluations, list_key, make_sweep, range_key, write_table
from test_report import data_of

QUANTILES = 4


def page_of(command, folder, name="report.html"):
    command.must("report", folder)
    return data_of(folder / name)["sweep"]


def ranks_of(values):
    """1 for the least; the mean of their ranks for equal ones."""
    values = np.asarray(values, dtype=float)
    return np.array([np.mean(np.flatnonzero(np.sort(values) == value)) + 1 for value in values])


def shares(values, groups):
    """The variance between groups of the ranks over their variance, and its expectation without an effect."""
    ranks, groups = ranks_of(values), np.asarray(groups)
    names = np.unique(groups)
    between = sum(np.sum(groups == name) * (ranks[groups == name].mean() - ranks.mean()) ** 2 for name in names)
    return between / np.sum((ranks - ranks.mean()) ** 2), (len(names) - 1) / (len(ranks) - 1)


def quantiles(values):
    values = np.asarray(values, dtype=float)
    count = min(QUANTILES, max(2, len(values) // 4))
    return [int(np.sum(values < value)) * count // len(values) for value in values]


def require_shares(found, expected):
    assert math.isclose(found["share"], expected[0], rel_tol=1e-5), (found, expected)
    assert math.isclose(found["chance"], expected[1], rel_tol=1e-5), (found, expected)


KEYS = [list_key("optimizer.lr", "1e-4", "1e-2", "3e-2"), range_key("model.dropout", 0, 0.4), range_key("optimizer.weight_decay", 1e-6, 1e-1, "log")]
DECAYS = [1e-6, 3e-5, 1e-3, 1e-1, 1e-5, 1e-2, 1e-4, 1e-3, 3e-2]


def grid(command):
    points = itertools.product(KEYS[0]["values"], ("0.0", "0.1", "0.4"))
    return make_sweep(command, "grid", KEYS, [[lr, dropout, repr(decay)] for (lr, dropout), decay in zip(points, DECAYS)])


def check_grid(command, folder, members):
    sweep = page_of(command, folder)
    values = [float(member["value"]) for member in members]
    assert sweep["notes"] == [] and sweep["progress"] == "done" and sweep["counts"] == {"done": 9}, (sweep["notes"], sweep["progress_text"])
    assert sweep["ranking"] == [int(i) for i in np.argsort(values, kind="stable")]
    for i, (member, found) in enumerate(zip(members, sweep["members"])):
        assert found["member"] == i and math.isclose(found["value"], values[i], rel_tol=1e-5) and found["best_step"] == member["best_step"]
        assert found["values"] == [member[key["key"]] for key in KEYS] and found["seconds"] == 1.5 and found["cause"] == ""
    assert [curve["index"] for curve in sweep["curves"]] == sweep["ranking"]
    for curve in sweep["curves"]:
        measured = evaluations(folder / f"members/{curve['index']:04}")
        assert curve["first"] == [step for step, _ in measured]
        assert np.allclose(curve["value"]["mean"], [value for _, value in measured], rtol=1e-5)
    found = sweep["importance"]
    assert not found["at_first_rung"] and found["members"] == 9 and found["diverged"] == 0
    require_shares(found["keys"][0], shares(values, [member["optimizer.lr"] for member in members]))
    require_shares(found["keys"][1], shares(values, quantiles([member["model.dropout"] for member in members])))
    require_shares(found["keys"][2], shares(values, quantiles([member["optimizer.weight_decay"] for member in members])))
    for name, group in zip(KEYS[0]["values"], found["keys"][0]["groups"]):
        own = [value for value, member in zip(values, members) if member["optimizer.lr"] == name]
        assert group["value"] == name and group["members"] == 3
        assert math.isclose(group["median"], np.median(own), rel_tol=1e-5) and math.isclose(group["best"], min(own), rel_tol=1e-5)
    best = sweep["best"][0]
    assert best["index"] == sweep["ranking"][0] and len(sweep["best"]) == 5
    changed = {key for key, _, _ in best["differences"]}
    assert "run.folder" not in changed and changed <= {key["key"] for key in KEYS}, best["differences"]
    assert [key["base"] for key in sweep["keys"]][:2] == ["0.01", "0.2"], sweep["keys"]


def check_halving(command, folder, members):
    """Members that were trained for different numbers of steps are compared at the first rung; those that diverged are the worst."""
    rung = evaluations(folder / "members/0000")[0][0]
    last = int(members[0]["steps"])
    halved = [dict(member) for member in members]
    for i, member in enumerate(halved):
        if i % 3 == 0:
            member.update(state="stopped", steps=rung)
    halved[1].update(state="diverged", cause='the loss is not finite, "nan", at step 3', rung=0)
    halved[2].update(state="failed", value="", best_step="", cause="a rank failed")
    halved[4].update(state="does_not_fit", value="", best_step="")
    describe(folder, KEYS, "", strategy="halving", rungs=[rung, last], trials=9)
    write_table(folder, KEYS, halved)
    sweep = page_of(command, folder)
    assert sweep["counts"] == {"stopped": 3, "diverged": 1, "failed": 1, "does_not_fit": 1, "done": 3}
    assert sweep["rungs"] == [rung, last] and sorted(sweep["ranking"]) == [0, 3, 5, 6, 7, 8]
    assert sweep["members"][1]["cause"] == 'the loss is not finite, "nan", at step 3'
    found = sweep["importance"]
    values = [math.inf if i == 1 else evaluations(folder / f"members/{i:04}")[0][1] for i in range(9)]
    assert found["at_first_rung"] and found["members"] == 9 and found["diverged"] == 1, found
    require_shares(found["keys"][0], shares(values, [member["optimizer.lr"] for member in members]))
    describe(folder, KEYS, "", better="higher", trials=9)
    found = page_of(command, folder)
    own = [0, 3, 5, 6, 7, 8]
    expected = [float(members[i]["value"]) for i in own]
    assert found["ranking"] == [own[int(i)] for i in np.argsort([-value for value in expected], kind="stable")]
    require_shares(found["importance"]["keys"][0], shares([-value for value in expected] + [math.inf], [members[i]["optimizer.lr"] for i in [*own, 1]]))


def check_running_and_killed(command, folder, members):
    going = [dict(member) for member in members]
    going[7].update(state="running", value="", best_step="")
    going[8].update(state="waiting", value="", best_step="", steps=0)
    write_table(folder, KEYS, going)
    sweep = page_of(command, folder)
    assert sweep["progress"] == "unfinished" and "the same command continues it" in sweep["progress_text"], sweep["progress_text"]
    assert sweep["importance"]["members"] == 7 and len(sweep["curves"]) == 9
    with open(folder / "lock", "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep = page_of(command, folder)
    assert sweep["progress"] == "running", sweep["progress_text"]
    # The table of a sweep that was killed may lack members; what one had measured before it failed does not count.
    describe(folder, KEYS, "", trials=10)
    write_table(folder, KEYS, [dict(members[0], state="failed"), *members[1:]])
    sweep = page_of(command, folder)
    assert sweep["progress"] == "unfinished" and sweep["importance"]["members"] == 8, (sweep["progress_text"], sweep["importance"])


def check_damaged(command, folder):
    """Half files, rows of strangers and names that would end a script: notes and counts, no failure."""
    name = '</script><script>alert(1)</script><!-- " \\ & \u2028'
    table = folder / "sweep.csv"
    text = table.read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    rows[0] = rows[0].replace(",done,", f',"{name.replace(chr(34), chr(34) * 2)}",')
    table.write_text("\n".join([header, *rows, "a,b", "x" * 40_000, rows[1].replace(",done,", ",,"), '0009,done,0,1,"1']) + "\n0010,do", encoding="utf-8")
    damaged = folder / "members/0003/evaluations.csv"
    damaged.write_text(damaged.read_text() + "1,2\n", encoding="utf-8")
    sweep = page_of(command, folder)
    assert "sweep.csv: 4 damaged rows left out" in sweep["notes"] and "sweep.csv: ends within a row, which was left out" in sweep["notes"], sweep["notes"]
    assert "evaluations.csv of members: 1 damaged row left out" in sweep["notes"]
    assert len(sweep["members"]) == 9 and sweep["counts"][name] == 1 and sweep["members"][0]["state"] == name
    shutil.copytree(folder, folder.with_name("hostile"))
    for text in ("{", '{"keys": 3}', json.dumps({"format": "mylos-sweep", "version": 2, "name": name, "keys": [{"key": name, "kind": "list", "values": [name, 1]}, 3, {"key": "a", "kind": "range", "low": 2, "high": 1}],
                                                 "trials": 1e300, "rungs": [1, "a", -3, None], "metric": name})):
        (folder / "sweep.json").write_text(text, encoding="utf-8")
        sweep = page_of(command, folder)
        assert len(sweep["members"]) == 9 and any(note.startswith("sweep.json: ") for note in sweep["notes"]), sweep["notes"]
    assert "sweep.json: 2 of its keys left out" in sweep["notes"] and sweep["rungs"] == [1, -3], (sweep["notes"], sweep["rungs"])
    table.unlink()
    sweep = page_of(command, folder)
    assert sweep["members"] == [] and any(note.startswith("sweep.csv: is missing") for note in sweep["notes"])


def check_large(command):
    """A thousand members: small enough, with the curves of the best."""
    keys = [range_key("optimizer.lr", 1e-5, 1e-1, "log")]
    folder = command.folder / "large"
    folder.mkdir()
    describe(folder, keys, "", trials=1000, strategy="random")
    rows = [{"state": "done", "value": (i * 7919 % 1000) / 1000, "steps": 10, "best_step": 10, "optimizer.lr": 10 ** (-5 + 4 * i / 1000)} for i in range(1000)]
    write_table(folder, keys, rows)
    for i in range(1000):
        (folder / f"members/{i:04}").mkdir(parents=True)
        lines = "".join(f"{step},test,{1 / step}\n" for step in range(1, 501))
        (folder / f"members/{i:04}/evaluations.csv").write_text("step,part,loss\n" + lines, encoding="utf-8")
    sweep = page_of(command, folder)
    assert len(sweep["members"]) == 1000 and len(sweep["curves"]) == 128 and len(sweep["curves"][0]["first"]) <= 100
    require_shares(sweep["importance"]["keys"][0], shares([row["value"] for row in rows], quantiles([row["optimizer.lr"] for row in rows])))
    assert (folder / "report.html").stat().st_size < 3 << 20


def check_best(command, folder, members):
    """The printed decks train the members again, in folders of their own."""
    order = [int(i) for i in np.argsort([float(member["value"]) for member in members], kind="stable")]
    printed = command.must("sweep", "--best", "3", "grid").stdout
    heads = [line for line in printed.splitlines() if re.match(r"# \d+ of 3: ", line)]
    assert len(heads) == 3, printed
    for i, (head, member) in enumerate(zip(heads, order)):
        row = members[member]
        assert head.startswith(f"# {i + 1} of 3: test.loss = ") and f"member {member:04} of grid" in head, head
        assert math.isclose(float(head.split(" = ")[1].split()[0]), float(row["value"])) and f"at step {row['best_step']}," in head, head
        assert f"optimizer.lr = {row['optimizer.lr']}" in head, head
    files = command.must("sweep", "--best", "3", "grid", "--out", "decks/best").stdout.splitlines()
    decks = [command.text(f"decks/best/best-{i + 1}.toml") for i in range(3)]
    assert "".join(decks) == printed and [line.split(": ")[0] for line in files] == [f"decks/best/best-{i + 1}.toml" for i in range(3)], files
    assert [f"# {line.split('.toml: ')[1]}" for line in files] == heads
    command.write("best.toml", command.must("sweep", "grid", "--best", "1").stdout)
    command.must("train", "best.toml")
    for name in ("evaluations.csv", "history.csv"):
        again, first = (read_numbers(place / name) for place in (command.folder / f"runs/grid-member-{order[0]:04}", folder / f"members/{order[0]:04}"))
        assert again == first, name
    command.must_refuse(["sweep", "--best", "10", "grid"], "bad-argument", "--best 10", "of the 9 members of grid, 9 have a value of test.loss")
    for arguments, refusal in ((["--best", "1", "."], ("wrong-format", ".: ", "sweep.json")), (["--best", "1", "nowhere"], ("no-such-folder", "nowhere: ")),
                               (["--best", "1", "best.toml"], ("not-a-folder", "best.toml: ")), (["--best", "0", "grid"], ("bad-argument", "--best")),
                               (["--best", "1", "grid", "optimizer.lr=1,2"], ("arguments-conflict", "--best")),
                               (["--best", "1", "grid", "--trials", "3"], ("arguments-conflict", "--best")), (["deck.toml"], ("missing-argument", "keys"))):
        command.must_refuse(["sweep", *arguments], *refusal)


def read_numbers(file):
    """The columns of a table that are not times or speeds."""
    return [{key: value for key, value in row.items() if not key.endswith(("_s", "_bytes", "utilisation"))} for row in rows_of(file)]


def check_refusals(command):
    command.must_refuse(["report", "grid", "grid/members/0000"], "arguments-conflict", "grid: ", "a page shows one sweep")
    command.must_refuse(["report", "grid/members"], "wrong-format", "grid/members: ")


def check_members(command):
    folder, members = grid(command)
    for check in (check_grid, check_best, check_running_and_killed, check_halving):
        check(command, folder, members)
        print(check.__name__, flush=True)
    write_table(folder, KEYS, members)
    check_damaged(command, folder)


run_cases(prepare, check_members, check_large, check_refusals)
