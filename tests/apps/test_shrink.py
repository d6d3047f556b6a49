"""memory.on_oom = "shrink": a run that does not fit takes a smaller micro-batch, with the bits of a deck that gives it."""
import json
import re
import shutil


from random_data import prepare_random
from support.cases import run_cases
from support.data_files import read_data
from support.decks import deck_text
from support.run_folders import compare, compare_runs, history_without_times, last_checkpoint

MEBIBYTE = 1 << 20
SHRINK = "memory.on_oom=shrink"
# Decks whose activations are most of what a micro-batch decides; everything is kept, so that a budget names one micro-batch.
MLP = deck_text(run=dict(name="mlp", steps=5, log_every=1), data=dict(train="samples.h5", test="samples.h5", batch=6144),
                model=dict(hidden=[128] * 24, activation="gelu", dropout=0.1), precision=dict(compute="bf16"),
                memory=dict(recompute="none", times="model"))
GPT = deck_text(run=dict(name="gpt", steps=3, log_every=1), data=dict(train="tokens.h5", batch=24),
                model=dict(type="gpt", layers=4, heads=4, width=128, context=256, dropout=0.1), precision=dict(compute="fp16"),
                memory=dict(recompute="none", times="model"))
BATCH = {"mlp.toml": 6144, "gpt.toml": 24}


def plan_of(command, deck, ranks, *keys):
    return command.json("plan", deck, "--json", "--ranks", ranks, *keys)


def next_size(deck, ranks, micro_batch):
    """The next larger micro-batch that shrinking tries: the largest rank's share in one part less."""
    share = -(-BATCH[deck] // ranks)
    parts = -(-share // micro_batch)
    assert micro_batch == -(-share // parts) < share, "not a micro-batch that shrinking tries"
    return -(-share // (parts - 1))


def budget_for(command, deck, ranks, micro_batch, *keys, larger=None):
    """Half-way to the next larger micro-batch, as two processes are not equally large when they start."""
    plan = plan_of(command, deck, ranks, f"data.micro_batch={micro_batch}", *keys)
    larger = larger or next_size(deck, ranks, micro_batch)
    larger = plan_of(command, deck, ranks, f"data.micro_batch={larger}", *keys)
    room = (larger["activation_bytes"] - plan["activation_bytes"]) // 2
    assert room > 6 * MEBIBYTE, f"the deck is too small for this test: {room} bytes of room"
    return f'memory.budget="{plan["rank_bytes"] - plan["checkpoint_copy_bytes"] + room} B"'


def taken(command, folder):
    return command.document(f"{folder}/plan.json")["micro_batch"]


def check_bits(command, deck, ranks, micro_batch):
    """Refused, shrunk, and as one that gives the micro-batch; stopped and restarted."""
    name = f"{deck.removesuffix('.toml')}-{ranks}"
    budget = budget_for(command, deck, ranks, micro_batch)
    train = ["train", deck, budget, "run.steps=2"]
    command.must_refuse([*train, f"run.folder={name}-refused"], "does-not-fit", "memory.budget = ", ranks=ranks, code=3)

    output = command.must(*train, SHRINK, f"run.folder={name}-shrunk", ranks=ranks).stdout
    size = taken(command, f"{name}-shrunk")
    assert size == micro_batch, (size, micro_batch)
    note, = re.findall(r"^memory\.on_oom: a micro-batch of \d+ does not fit .*", output, re.M)
    assert f"; {size} fits and is taken, " in note, (note, size)
    for said in (command.must("plan", deck, SHRINK, budget, "--ranks", ranks).stdout,
                 command.must("train", deck, SHRINK, budget, "--check", ranks=ranks).stdout):
        assert f"; {size} fits and is taken, " in said and re.search(rf"micro-batch(es)? of {size} in a step", said), said

    command.must(*train, f"data.micro_batch={size}", f"run.folder={name}-given", ranks=ranks)
    given = last_checkpoint(command, f"{name}-given")
    compare(given, last_checkpoint(command, f"{name}-shrunk"), f"{name}: given and shrunk")
    rows = history_without_times(command, f"{name}-given")
    assert rows == history_without_times(command, f"{name}-shrunk")

    parts = [*train, SHRINK, f"run.folder={name}-parts"]
    command.must(*parts, "--stop-after", 1, ranks=ranks, code=85)
    output = command.must(*parts, "--restart", "latest", ranks=ranks).stdout
    assert f"memory.on_oom: micro-batches of {size}, not " in output and "made anew" not in output, output
    compare(given, last_checkpoint(command, f"{name}-parts"), f"{name}: restarted")

    whole = ["train", deck, "run.steps=2", SHRINK, f"run.folder={name}-whole"]
    output = command.must(*whole, ranks=ranks).stdout
    assert "memory.on_oom" not in output, output
    others = history_without_times(command, f"{name}-whole")
    assert len(rows) == len(others) == 2, (rows, others)
    for one, other in zip(rows, others):
        assert abs(float(one["loss"]) - float(other["loss"])) < 0.01 * float(other["loss"]), (one, other)
    print(f"{name}: micro-batches of {size}, bitwise as given", flush=True)


def check_restarts(command):
    """Another budget, another micro-batch or other ranks: the plan is made anew, and says why."""
    budget = budget_for(command, "mlp.toml", 1, 2048)
    start = ["train", "mlp.toml", SHRINK, "run.folder=restarts", "--stop-after", 1]
    command.must(*start, budget, code=85)
    assert taken(command, "restarts") == 2048
    output = command.must(*start, budget, "--restart", "latest", ranks=2, code=85).stdout
    assert "made anew: it was made for 1 ranks" in output and taken(command, "restarts") < 3072, output
    output = command.must(*start, budget, "data.micro_batch=800", "--restart", "latest", ranks=2, code=85).stdout
    assert "made anew: the deck's data.micro_batch has changed" in output and taken(command, "restarts") == 800, output
    output = command.must(*start, "memory.budget=2 GiB", "--restart", "latest", code=85).stdout
    assert "made anew" in output and taken(command, "restarts") == 6144, output


def check_plan_file(command):
    """A plan that was made for a smaller micro-batch brings it."""
    budget = budget_for(command, "mlp.toml", 1, 2048)
    text = command.must("plan", "mlp.toml", SHRINK, budget, "--json").stdout
    command.write("small.json", text)
    run = ["train", "mlp.toml", "--plan", "small.json", "run.steps=1"]
    command.must(*run, SHRINK, "run.folder=by-plan")
    assert taken(command, "by-plan") == json.loads(text)["micro_batch"] == 2048
    command.must_refuse([*run, "run.folder=not-asked"], "plan-mismatch", "small.json")
    wrong = json.loads(text) | {"micro_batch": -1}
    command.write("small.json", json.dumps(wrong))
    command.must_refuse([*run, SHRINK, "run.folder=wrong"], "plan-mismatch", "small.json: micro_batch")


def check_reproducible(command):
    """The micro-batch divides the batch, and a restart on other ranks keeps it, and with it the bits."""
    keys = ["run.reproducible=true", "data.batch=4096", "data.micro_batch=2048", "kernels.gemm=tiles"]  # 1024 is the next
    budget = budget_for(command, "mlp.toml", 1, 1024, *keys[:2], larger=2048)
    run = ["train", "mlp.toml", SHRINK, "run.steps=2", *keys]
    command.must(*run, budget, "run.folder=reproducible", "--stop-after", 1, code=85)
    size = taken(command, "reproducible")
    assert size == 1024, size
    shutil.copytree(command.folder / "reproducible", command.folder / "reproducible-2")
    command.must(*run, budget, "run.folder=reproducible", "--restart", "latest")
    # A rank beside others is some MiB larger than a process alone, more than lies between two sizes. Where the budget has
    # room even for the deck's own, the size of before is kept all the same.
    large = 'memory.budget="2 GiB"'
    output = command.must(*run, large, "run.folder=reproducible-2", "--restart", "latest", ranks=2).stdout
    assert taken(command, "reproducible-2") == size and "rounded differently" not in output, output
    assert read_data(last_checkpoint(command, "reproducible-2"), "plan/micro_batch") == size
    compare_runs(command, "reproducible", "reproducible-2", "on 1 and 2 ranks")


def check_refusals(command):
    """What shrinking cannot help."""
    budget = budget_for(command, "mlp.toml", 2, 1536)
    command.must_refuse(["train", "mlp.toml", SHRINK, budget, "optimizer.shard=gradients", "run.folder=cut"], "does-not-fit",
                        'memory.on_oom = "shrink"', 'optimizer.shard = "gradients"', ranks=2, code=3)
    command.must_refuse(["train", "mlp.toml", SHRINK, "memory.budget=20 MiB", "run.folder=tiny"], "does-not-fit",
                        'memory.on_oom = "shrink" found no smaller micro-batch', code=3)
    refused = command.must("train", "mlp.toml", "memory.on_oom=shrinks", "run.folder=word", code=2)
    assert 'did you mean "shrink"' in refused.stderr, refused.stderr
    assert not any((command.folder / name).exists() for name in ("cut", "tiny", "word"))


def set_up(command):
    prepare_random(command, samples=7000, characters=60000)
    command.write("mlp.toml", MLP)
    command.write("gpt.toml", GPT)


def check_more_bits(command, full):
    if full:
        check_bits(command, "mlp.toml", 3, 1024)
        check_bits(command, "gpt.toml", 4, 3)


run_cases(set_up, (check_bits, "mlp.toml", 1, 2048), (check_bits, "gpt.toml", 2, 6), check_more_bits, check_restarts,
          check_plan_file, check_reproducible, check_refusals)
