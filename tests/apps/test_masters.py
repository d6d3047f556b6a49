"""precision.masters = "none": 16-bit weights alone, with stochastic rounding. The same bits on any number of ranks that a
run with masters gives the same on, for every shard, and over restarts; floats in the file; less memory, as planned."""
import re

import numpy

from small_problem import gpt_deck, prepare_table_and_text
from support.cases import run_cases
from support.data_files import read_data
from support.run_folders import compare_runs, datasets, history_without_times, last_checkpoint

NONE = "precision.masters=none"
GPT = gpt_deck(run=dict(steps=8, log_every=4, evaluate_every=4), data=dict(batch=8, validation=0.1, micro_batch=4),
               model=dict(dropout=0.1), communication=dict(bucket=4096), checkpoint=dict(every=3, keep_last=0))
# Of one type, of several in one bucket, and with a head that reads the embedding's weights as floats.
NETWORKS = {
    "mlp": ["deck.toml", "communication.bucket=1024"],
    "half": ["deck.toml", "communication.bucket=1024", "precision.compute=fp16"],
    "rules": ["deck.toml", "communication.bucket=1024", 'precision.rules={hidden2="fp32", head="fp16"}', "data.micro_batch=16"],
    "gpt": ["gpt.toml"],
    "gpt-float-head": ["gpt.toml", 'precision.rules={head="fp32"}', "data.micro_batch=1"],
}


def weights(path):
    return {name: value for name, value in datasets(path).items() if name.startswith("/model/")}


def is_bfloat16(values):
    return bool(numpy.all(values.view(numpy.uint32) & 0xffff == 0))


def is_half(values):
    return bool(numpy.all(values.astype(numpy.float16).astype(numpy.float32) == values))


def check_file(command):
    """Floats in the file, each of which is a number of the layer's type; of layers in fp32 all digits."""
    holds = {"mlp": {"hidden1": is_bfloat16, "hidden2": is_bfloat16, "head": is_bfloat16},
             "half": {"hidden1": is_half, "hidden2": is_half, "head": is_half},
             "rules": {"hidden1": is_bfloat16, "head": is_half}}
    for name, layers in holds.items():
        command.must("train", *NETWORKS[name], NONE, f"run.folder=file-{name}")
        for path, values in weights(last_checkpoint(command, f"file-{name}")).items():
            assert values.dtype == numpy.float32, (path, values.dtype)
            if (layer := path.split("/")[2]) in layers:
                assert layers[layer](values), f"{name}: {path} has more digits than its type"
    floats = weights(last_checkpoint(command, "file-rules"))["/model/hidden2/weight"]
    assert not is_bfloat16(floats) and not is_half(floats), "a layer in fp32 has lost digits"
    assert 'masters = "none"' in read_data(last_checkpoint(command, "file-mlp"), "/deck").decode()
    assert 'masters = "none"' in command.must("info", "file-mlp").stdout


def check_shards(command, name, ranks):
    """Cut over ranks or not: the bits of the whole."""
    for shard in ("none", "state", "gradients"):
        if shard == "gradients" and name == "gpt-float-head":
            continue  # refused: a rank has several micro-batches
        command.must("train", *NETWORKS[name], NONE, f"optimizer.shard={shard}", f"run.folder={name}-{shard}", ranks=ranks)
        command.must("info", last_checkpoint(command, f"{name}-{shard}"), "--verify")
        count = compare_runs(command, f"{name}-none", f"{name}-{shard}", f"{name} {shard}")
        assert history_without_times(command, f"{name}-none") == history_without_times(command, f"{name}-{shard}"), (name, shard)
        print(f"{name} on {ranks} ranks, {shard}: {count} datasets bitwise equal")


def check_restarts(command, name):
    """Stopped and gone on with, cut over ranks in the middle or looked at: the undisturbed run's bits."""
    for kind, middle, health in (("cut", "optimizer.shard=state", []), ("seen", "optimizer.shard=none", ["health.every=1"])):
        train = ["train", *NETWORKS[name], NONE, *health]
        whole, parts = f"whole-{kind}-{name}", f"parts-{kind}-{name}"
        command.must(*train, f"run.folder={whole}", ranks=2)
        command.must(*train, f"run.folder={parts}", "--stop-after", 2, ranks=2, code=85)
        command.must(*train, f"run.folder={parts}", middle, "--stop-after", 3, "--restart", "latest", ranks=2, code=85)
        command.must(*train, f"run.folder={parts}", "--restart", "latest", ranks=2)
        count = compare_runs(command, whole, parts)
        print(f"{name}: {count} datasets bitwise equal after two restarts ({kind})")


def check_reproducible(command):
    train = ["train", "deck.toml", NONE, "run.reproducible=true", "data.micro_batch=3", "data.batch=24", "run.epochs=1"]
    for ranks in (1, 2, 4):
        shard = "state" if ranks == 4 else "none"
        command.must(*train, f"optimizer.shard={shard}", f"run.folder=ranks-{ranks}", ranks=ranks)
        compare_runs(command, "ranks-1", f"ranks-{ranks}", f"{ranks} ranks")
    print("a reproducible run has the same bits on 1, 2 and 4 ranks")


def check_change_at_a_restart(command):
    """From masters to none weights are rounded to nearest, once and said; the other way nothing is lost."""
    train = ["train", "deck.toml", "optimizer.lr=1e-30", "run.steps=12", "checkpoint.every=4"]  # matrices stay as they are read
    command.must(*train, "run.folder=to-none", "--stop-after", 4, code=85)
    masters = {path: values for path, values in weights(last_checkpoint(command, "to-none")).items() if path.endswith("/weight")}
    said = command.must(*train, NONE, "run.folder=to-none", "--restart", "latest", "--stop-after", 4, code=85).stdout
    assert 'changed at the restart: precision.masters = "none" (was "fp32")' in said, said
    assert len(re.findall(r'precision\.masters = "none": 867 weights of \S+ are rounded to nearest, once', said)) == 1, said
    short = weights(last_checkpoint(command, "to-none"))
    for path, values in masters.items():
        bits = values.view(numpy.uint32)
        nearest = ((bits + 0x7fff + ((bits >> 16) & 1)) & numpy.uint32(0xffff0000)).view(numpy.float32)
        assert numpy.array_equal(short[path], nearest), path
    one_step = ["run.folder=to-none", "--restart", "latest", "--stop-after", 1]
    assert "rounded" not in command.must(*train, NONE, *one_step, code=85).stdout
    assert "rounded" not in command.must(*train, NONE, 'precision.rules={hidden1="fp32"}', *one_step, code=85).stdout
    again = command.must(*train, NONE, *one_step, code=85).stdout
    assert 'precision.masters = "none": 288 weights of ' in again, again  # those of hidden1
    back = command.must(*train, "run.folder=to-none", "--restart", "latest").stdout
    assert 'changed at the restart: precision.masters = "fp32" (was "none")' in back and "rounded" not in back, back
    for path in masters:
        assert numpy.array_equal(short[path], weights(last_checkpoint(command, "to-none"))[path]), path


def check_other_commands(command):
    """What is read of such a checkpoint is what was trained: the last evaluation of the run is that of eval."""
    output = command.must("train", "gpt.toml", NONE, "run.folder=commands").stdout
    loss = re.findall(r"validation[^\n]* loss ([0-9.]+)", output)[-1]
    judged = command.must("eval", "commands", "--split", "validation").stdout
    assert loss in judged, (output, judged)
    command.must("sample", "commands", "--prompt", "the", "--tokens", 4)
    command.must("convert", "commands", "weights.safetensors")
    assert "fp32" in command.must("check-precision", "commands").stdout


def check_plan(command):
    def plan(*arguments):
        return command.plan_json("deck.toml", "model.hidden=[256, 512]", *arguments)
    whole, none = plan(), plan(NONE)
    entries, before = ({entry["name"]: entry["bytes"] for entry in one["memory"]} for one in (none, whole))
    saved = none["saved_by_masters_bytes"]
    assert saved == before["master weights"] and whole["saved_by_masters_bytes"] == 0, (saved, before)
    assert entries["master weights"] == 0 and entries["compute weights"] == before["compute weights"], (entries, before)
    assert 0 <= saved - 4 * none["parameters"] <= 4 * 64 * 6, (saved, none["parameters"])  # six parameters are padded
    assert none["checkpoint_bytes"] == whole["checkpoint_bytes"]
    assert whole["checkpoint_copy_bytes"] - none["checkpoint_copy_bytes"] == 2 * none["parameters"]
    table = command.plan("deck.toml", NONE).stdout
    assert 'precision.masters = "none": ' in table and 'less per rank than "fp32"' in table, table
    print(f"the plan states {saved} bytes less for {none['parameters']} parameters")


def check_refusal(command):
    message = command.must("train", "deck.toml", "precision.compute=fp32", NONE, "run.folder=refused", code=2).stderr
    assert "saves nothing" in message and 'masters = "fp32"' in message, message


def check_networks(command, full):
    for place, name in enumerate(NETWORKS):
        if full or place % 2 == 0:
            check_shards(command, name, 2 + place % 3)
    for name in ("mlp", "half", "gpt-float-head") if full else ("half", "gpt-float-head"):
        check_restarts(command, name)


run_cases((prepare_table_and_text, GPT), check_file, check_networks, check_reproducible, check_change_at_a_restart, check_other_commands, check_plan,
          check_refusal)
