"""Masters and moments cut over ranks give the same bits as whole ones, in less memory, and checkpoints go both ways.

usage: test_shards.py MYLOS
"""
import json
import sys
import tempfile

from checkpoints import compare, history_without_times, last_checkpoint
from small_problem import Command, prepare

GPT = """
[run]
name = "gpt"
steps = 8
log_every = 4
[data]
train = "text.h5"
validation = 0.1
batch = 8
[model]
type = "gpt"
layers = 2
heads = 2
width = 16
context = 12
dropout = 0.1
[communication]
bucket = 4096
[checkpoint]
every = 3
keep_last = 0
"""

STATE = "optimizer.shard=state"
# Of one type in every bucket, of several in one, and with a head that reads the embedding's weights as floats.
NETWORKS = {
    "mlp": ["deck.toml", "communication.bucket=1024"],
    "mlp-half": ["deck.toml", "communication.bucket=1024", "precision.compute=fp16", "data.micro_batch=5"],
    "mlp-rules": ["deck.toml", "communication.bucket=1024", "data.micro_batch=7",
                  'precision.rules={hidden2="fp32", head="fp16"}'],
    "gpt": ["gpt.toml"],
    "gpt-float-head": ["gpt.toml", 'precision.rules={head="fp32"}', "data.micro_batch=1"],
    "gpt-float": ["gpt.toml", "precision.compute=fp32", "optimizer.type=sgd"],
}


def files(command, folder):
    return {path.name: path for path in (command.folder / folder / "checkpoints").glob("step-*.h5")}


def evaluations(output):
    return [line for line in output.splitlines() if line.startswith("epoch")]


def check_same_bits(command, name, ranks):
    plain, cut = (f"{kind}-{name}-{ranks}" for kind in ("plain", "cut"))
    whole = command.must("train", *NETWORKS[name], f"run.folder={plain}", ranks=ranks).stdout
    sharded = command.must("train", *NETWORKS[name], STATE, f"run.folder={cut}", ranks=ranks).stdout
    a, b = files(command, plain), files(command, cut)
    assert a.keys() == b.keys() and len(a) > 2, (a, b)
    count = [compare(a[step], b[step], f"{name} on {ranks} ranks, {step}") for step in a][-1]
    assert history_without_times(command, plain) == history_without_times(command, cut), name
    assert evaluations(whole) == evaluations(sharded) and evaluations(whole), sharded
    assert f"{len(b)} written, {len(b) - 1} of them beside the steps" in sharded, sharded
    command.must("info", last_checkpoint(command, cut), "--verify")
    judge = ["--split", "validation"] if name.startswith("gpt") else []
    judged = [command.must("eval", folder, *judge).stdout.replace(folder, "") for folder in (plain, cut)]
    assert judged[0] == judged[1], judged
    print(f"{name}, {ranks} ranks: {count} datasets bitwise equal")


def check_restarts(command, name):
    """From and to other numbers of ranks, sharded or not: what a plain run gives that changes its ranks alike."""
    chain = [(3, True), (2, False), (1, True), (4, True)]
    for kind in ("whole", "mixed"):
        folder = f"{kind}-chain-{name}"
        for part, (ranks, cut) in enumerate(chain):
            shard = [STATE] if cut and kind == "mixed" else []
            restart = ["--restart", "latest"] if part > 0 else []
            last = part == len(chain) - 1
            stop = [] if last else ["--stop-after", 2]
            output = command.must("train", *NETWORKS[name], *shard, f"run.folder={folder}", *restart, *stop, ranks=ranks,
                                  code=0 if last else 85).stdout
            if kind == "mixed" and 0 < part < 3:
                before, after = ("state", "none") if part == 1 else ("none", "state")
                assert f'changed at the restart: optimizer.shard = "{after}" (was "{before}")' in output, output
    count = compare(last_checkpoint(command, f"whole-chain-{name}"), last_checkpoint(command, f"mixed-chain-{name}"), name)
    print(f"{name} on 3, 2, 1 and 4 ranks, cut and whole: {count} datasets bitwise equal")


def check_plan(command):
    def plan(*arguments):
        return json.loads(command.must("plan", *NETWORKS["gpt"], "--ranks", 4, "--json", *arguments).stdout)
    whole, cut = plan(), plan(STATE)
    entries, before = ({entry["name"]: entry["bytes"] for entry in one["memory"] if "start-up" not in entry["name"]}
                       for one in (cut, whole))
    assert 4 * entries["optimizer moments"] == before["optimizer moments"], (before, entries)
    saved = cut["saved_by_shards_bytes"]
    assert saved > 0 and saved == sum(before.values()) - sum(entries.values()), (saved, before, entries)
    assert whole["saved_by_shards_bytes"] == 0
    table = command.must("plan", *NETWORKS["gpt"], "--ranks", 4, "--ranks-per-node", 2, STATE).stdout
    assert 'optimizer.shard = "state": ' in table and 'less per rank than "none", ' in table, table
    alone = command.must("plan", *NETWORKS["gpt"], STATE).stdout
    assert "one rank holds all masters and moments" in alone and "less per rank" not in alone, alone
    print(f"the plan states {saved} bytes less per rank")


def check_one_rank(command):
    output = command.must("train", *NETWORKS["mlp"], STATE, "run.folder=alone").stdout
    assert output.count("one rank holds all masters and moments") == 1, output
    command.must("train", *NETWORKS["mlp"], "run.folder=alone-plain")
    compare(last_checkpoint(command, "alone-plain"), last_checkpoint(command, "alone"), "one rank")


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = Command(sys.argv[1], folder)
        prepare(command)
        (command.folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 60, encoding="utf-8")
        command.must("prepare", "text", "text.txt", "--out", "text.h5")
        (command.folder / "gpt.toml").write_text(GPT, encoding="utf-8")
        for place, name in enumerate(NETWORKS):
            check_same_bits(command, name, 2 + place % 3)
        check_same_bits(command, "gpt", 5)
        check_restarts(command, "gpt-float-head")
        check_plan(command)
        check_one_rank(command)


main()
