"""Masters, moments and gradients cut over ranks give the same bits as whole ones, in less memory, and checkpoints go both ways."""
import json
import math
import re

from small_problem import prepare_table_and_text
from support.cases import run_cases
from support.decks import deck_text
from support.run_folders import compare, compare_runs, history_without_times, last_checkpoint, rows_without_times

GPT = deck_text(run=dict(name="gpt", steps=8, log_every=4), data=dict(train="text.h5", validation=0.1, batch=8),
                model=dict(type="gpt", layers=2, heads=2, width=16, context=12, dropout=0.1), communication=dict(bucket=4096),
                checkpoint=dict(every=3, keep_last=0))

STATE = "optimizer.shard=state"
GRADIENTS = "optimizer.shard=gradients"
# Of one type in every bucket, of several in one, and with a head that reads the embedding's weights as floats.
NETWORKS = {
    "mlp": ["deck.toml", "communication.bucket=1024"],
    "mlp-half": ["deck.toml", "communication.bucket=1024", "precision.compute=fp16", "data.micro_batch=5"],
    "mlp-rules": ["deck.toml", "communication.bucket=1024", "data.micro_batch=7",
                  'precision.rules={hidden2="fp32", head="fp16"}'],
    "mlp-average": ["deck.toml", "communication.bucket=1024", "optimizer.type=lion", "optimizer.average=0.9",
                    'optimizer.groups=[{match="hidden1/*", frozen=true}, {match=["*/bias", "head/*"], lr_factor=0.5}]'],
    "mlp-lamb": ["deck.toml", "communication.bucket=1024", "optimizer.type=lamb", "optimizer.lr=0.02",
                 'optimizer.groups=[{match="hidden1/bias", frozen=true}]'],
    "gpt": ["gpt.toml"],
    "gpt-float-head": ["gpt.toml", 'precision.rules={head="fp32"}', "data.micro_batch=1"],
    "gpt-float": ["gpt.toml", "precision.compute=fp32", "optimizer.type=sgd"],
}
# With more buckets than are in flight at one time, and whole shares of the batch.
DEEP_GPT = ["gpt.toml", "model.layers=6", "communication.bucket=1024"]
DEEP_NETWORKS = {
    "deep-mlp": ["deck.toml", "model.hidden=[24, 16, 24, 16, 24, 16, 24]", "communication.bucket=64"],
    "deep-gpt": DEEP_GPT,
    "deep-gpt-half": [*DEEP_GPT, "precision.compute=fp16"],
    "deep-gpt-lamb": [*DEEP_GPT, "optimizer.type=lamb"],
    "deep-gpt-float": [*DEEP_GPT, "precision.compute=fp32"],
    "deep-gpt-rules": ["gpt.toml", "model.layers=6", "communication.bucket=9000", "precision.gradient=fp32",
                       'precision.rules={head="fp32", "mlp*"="fp32"}'],
}
NETWORKS |= DEEP_NETWORKS
SAMPLE = ("mlp-rules", "mlp-lamb", "gpt-float-head", "deep-mlp", "deep-gpt-half")


def files(command, folder):
    return {path.name: path for path in (command.folder / folder / "checkpoints").glob("step-*.h5")}


def evaluations(output):
    return [line for line in output.splitlines() if line.startswith("epoch")]


def check_same_bits(command, name, ranks, shard=STATE):
    plain, cut = (f"{kind}-{name}-{ranks}" for kind in ("plain", "cut"))
    whole = command.must("train", *NETWORKS[name], f"run.folder={plain}", ranks=ranks).stdout
    sharded = command.must("train", *NETWORKS[name], shard, f"run.folder={cut}", ranks=ranks).stdout
    a, b = files(command, plain), files(command, cut)
    assert a.keys() == b.keys() and len(a) > 2, (a, b)
    count = [compare(a[step], b[step], f"{name} on {ranks} ranks, {step}") for step in a][-1]
    assert history_without_times(command, plain) == history_without_times(command, cut), name
    assert evaluations(whole) == evaluations(sharded) and evaluations(whole), sharded
    assert f"{len(b)} written, {len(b) - 1} of them asynchronously" in sharded, sharded
    command.must("info", last_checkpoint(command, cut), "--verify")
    judge = ["--split", "validation"] if "gpt" in name else []
    judged = [command.must("eval", folder, *judge).stdout.replace(folder, "") for folder in (plain, cut)]
    assert judged[0] == judged[1], judged
    print(f"{name}, {ranks} ranks, {shard}: {count} datasets bitwise equal")


def check_health(command):
    """Inspections of sharded masters are sums over the ranks' slices, rounded in another order."""
    both = []
    for shard in ("none", "state"):
        command.must("train", *NETWORKS["mlp"], f"optimizer.shard={shard}", "health.every=2", f"run.folder=health-{shard}", ranks=2)
        both.append(rows_without_times(command, f"health-{shard}", "health.csv"))
    assert len(both[0]) == len(both[1]) > 2
    for whole, cut in zip(*both):
        for name, value in whole.items():
            same = value == cut[name] or math.isclose(float(value), float(cut[name]), rel_tol=1e-5)
            assert same, (name, whole, cut)
    print(f"{len(both[0])} inspections of sharded parameters are those of whole ones")


def check_restarts(command, name, chain):
    """From and to other numbers of ranks, sharded or not: what a plain run gives that changes its ranks alike."""
    steps = f"run.steps={2 * len(chain)}"
    for kind in ("whole", "mixed"):
        folder = f"{kind}-chain-{name}"
        for part, (ranks, cut) in enumerate(chain):
            shard = [f"optimizer.shard={cut}"] if kind == "mixed" else []
            restart = ["--restart", "latest"] if part > 0 else []
            last = part == len(chain) - 1
            stop = [] if last else ["--stop-after", 2]
            output = command.must("train", *NETWORKS[name], *shard, steps, f"run.folder={folder}", *restart, *stop, ranks=ranks,
                                  code=0 if last else 85).stdout
            before = chain[part - 1][1]
            if kind == "mixed" and part > 0 and before != cut:
                assert f'changed at the restart: optimizer.shard = "{cut}" (was "{before}")' in output, output
    count = compare_runs(command, f"whole-chain-{name}", f"mixed-chain-{name}", name)
    print(f"{name} on {chain}: {count} datasets bitwise equal")


def check_averages(command):
    """What `eval` says of the average is what it says of a checkpoint whose weights it is."""
    folder = "mixed-chain-mlp-average"
    file = last_checkpoint(command, folder)
    said, plain = (command.must("eval", folder, *more).stdout.splitlines()[0] for more in (["--average"], []))
    assert ", average of weights, on" in said and said.split(": ")[-1] != plain.split(": ")[-1], (said, plain)
    taken, none = ({entry["name"]: entry["bytes"] for entry in
                    command.plan_json("deck.toml", *more)["memory"]}
                   for more in (["optimizer.type=lion", "optimizer.average=0.9"], ["optimizer.type=lion"]))
    assert taken["average of weights"] == taken["optimizer moments"] > none["average of weights"] == 0, taken
    command.must("train", "deck.toml", "run.folder=no-average")
    command.must_refuse(["eval", "no-average", "--average"], "no-average", "no-average/", "--average")
    command.must_refuse(["train", "deck.toml", 'optimizer.groups=[{match="hiden1/*", frozen=true}]'], "unknown-name", "'hiden1/*'",
                        " hidden1/")
    print(f"{file}: {said.strip()}")


def check_plan(command):
    def plan(*arguments):
        return command.plan_json(*NETWORKS["gpt"], "--ranks", 4, *arguments)
    whole, cut = plan(), plan(STATE)
    entries, before = ({entry["name"]: entry["bytes"] for entry in one["memory"] if "start-up" not in entry["name"]}
                       for one in (cut, whole))
    assert 4 * entries["optimizer moments"] == before["optimizer moments"], (before, entries)
    saved = cut["saved_by_shards_bytes"]
    assert saved > 0 and saved == sum(before.values()) - sum(entries.values()), (saved, before, entries)
    assert whole["saved_by_shards_bytes"] == 0
    table = command.plan(*NETWORKS["gpt"], "--ranks", 4, "--ranks-per-node", 2, STATE).stdout
    assert 'optimizer.shard = "state": ' in table and 'less per rank than "none", ' in table, table
    alone = command.plan(*NETWORKS["gpt"], STATE).stdout
    assert "one rank holds all masters and moments" in alone and "less per rank" not in alone, alone
    print(f"the plan states {saved} bytes less per rank")


def check_plan_of_gradients(command):
    """A window of buckets and the own slices, to the byte."""
    deep = ["gpt.toml", "model.layers=24", "model.width=32", "model.tied=false", "communication.bucket=1"]

    def plan(shard):
        return command.plan_json(*deep, "--ranks", 4, shard)
    whole, state, cut = plan("optimizer.shard=none"), plan(STATE), plan(GRADIENTS)
    entries, before = ({entry["name"]: entry["bytes"] for entry in one["memory"] if "start-up" not in entry["name"]}
                       for one in (cut, state))
    assert before["gradients"] == 4 * entries["slices of gradients"], (before, entries)
    assert entries["gradients"] < before["gradients"] / 4, (before, entries)
    assert cut["saved_by_shards_bytes"] - state["saved_by_shards_bytes"] == \
        before["gradients"] - entries["gradients"] - entries["slices of gradients"], (cut, state)
    assert whole["saved_by_shards_bytes"] == 0
    table = command.plan(*deep, "--ranks", 4, GRADIENTS).stdout
    assert 'optimizer.shard = "gradients": ' in table and "slices of gradients" in table, table
    print(f"gradients take {entries['gradients']} and {entries['slices of gradients']} bytes in place of {before['gradients']}")


def check_notes_on_whole_gradients(command):
    """Why gradients are not cut, and the largest bucket of a power of two that would cut them."""
    note = r'optimizer.shard = "gradients": gradients stay whole, as with "state": '

    def plan(*arguments):
        return command.plan(*arguments, "--ranks", 4, GRADIENTS).stdout

    def slices(*arguments):
        entries = json.loads(plan(*arguments, "--json"))["memory"]
        return next(entry["bytes"] for entry in entries if entry["name"] == "slices of gradients")
    deep = ["gpt.toml", "model.layers=6"]
    for bucket, cause in (("25 MiB", "they are 2 buckets, and 4 are reduced at one time"),
                          ("7 KiB", "4 of their 5 buckets and a rank's slices of all would take no less memory")):
        said = re.search(note + re.escape(cause) + r'; communication.bucket = "(\d+) KiB" cuts them\n',
                         plan(*deep, f"communication.bucket={bucket}"))
        assert said, plan(*deep, f"communication.bucket={bucket}")
        assert slices(*deep, f"communication.bucket={bucket}") == 0
        right = int(said[1])
        assert slices(*deep, f"communication.bucket={right} KiB") > 0 == slices(*deep, f"communication.bucket={2 * right} KiB")
        assert "stay whole" not in plan(*deep, f"communication.bucket={right} KiB")
    shallow = note + "they are 3 buckets, .* no communication.bucket cuts them, as the network has too few layers\n"
    assert re.search(shallow, plan("deck.toml", "communication.bucket=1")), plan("deck.toml", "communication.bucket=1")
    assert "stay whole" not in command.plan(*deep, "--ranks", 4, STATE).stdout
    train = ["train", "gpt.toml", "communication.bucket=25 MiB", GRADIENTS]
    checked = command.must(*train, "--check", ranks=2).stdout
    assert len(re.findall("^# " + note, checked, re.M)) == 1, checked
    started = command.must(*train, "run.folder=whole", "--stop-after", 1, ranks=2, code=85).stdout
    assert len(re.findall(note, started)) == 1, started


def check_refusals(command):
    several = ["train", *NETWORKS["gpt"], GRADIENTS, "data.micro_batch=1", "run.folder=refused"]
    message = command.must(*several, ranks=2, code=2).stderr
    assert 'set optimizer.shard = "state", or data.micro_batch to 4 or more' in message, message
    command.must("train", *NETWORKS["gpt"], GRADIENTS, "data.micro_batch=4", "run.folder=allowed", ranks=2)


def check_one_rank(command):
    command.must("train", *NETWORKS["mlp"], "run.folder=alone-plain")
    for shard in (STATE, GRADIENTS):
        output = command.must("train", *NETWORKS["mlp"], shard, f"run.folder=alone-{shard[16:]}").stdout
        assert output.count("one rank holds all masters and moments") == 1, output
        compare_runs(command, "alone-plain", f"alone-{shard[16:]}", "one rank")


def check_networks(command, full):
    for place, name in enumerate(NETWORKS):
        if full or name in SAMPLE:
            check_same_bits(command, name, 2 + place % 3, GRADIENTS if name in DEEP_NETWORKS else STATE)
    if full:
        check_same_bits(command, "gpt", 5)


def check_networks_restart(command, full):
    more = [(4, "gradients"), (3, "state"), (2, "gradients")] if full else [(4, "state")]
    check_restarts(command, "deep-gpt", [(3, "gradients"), (2, "none"), *more])
    if full:
        check_restarts(command, "gpt-float-head", [(3, "state"), (2, "none"), (1, "state"), (4, "state")])


run_cases((prepare_table_and_text, GPT), check_networks, (check_restarts, "mlp-average", [(2, "state"), (1, "none"), (3, "gradients")]), check_averages,
          check_networks_restart, check_health, check_plan, check_plan_of_gradients, check_notes_on_whole_gradients, check_refusals,
          check_one_rank)
