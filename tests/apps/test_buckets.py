"""Networks of many more gradient buckets than are in flight at one time: they train, on memory for a window of buckets."""
import math
import pathlib
import re

from random_data import prepare_random
from support.cases import run_cases
from support.decks import deck_text
from support.run_folders import datasets, last_checkpoint

WINDOW = 4  # buckets in flight
WIDTH, INPUTS, CLASSES = 16, 32, 4
MLP = deck_text(run=dict(name="deep", steps=4, log_every=1), data=dict(train="samples.h5", batch=24),
                model=dict(hidden=[WIDTH] * 40), precision=dict(compute="fp32"))
# Layers of 700 x 700: each has 1.9 MiB of float gradients.
WIDE = ["model.hidden=[700, 700, 700, 700, 700, 700]", "data.batch=6"]
WIDER = ["model.hidden=[4000, 4000, 4000]", "data.batch=6"]
WIDER_PARAMETERS = (INPUTS + 2 * 4000 + CLASSES) * 4000 + 3 * 4000 + CLASSES  # with biases
AUTOMATIC = 'communication.bucket="auto"'
ONE_BUCKET, EACH_LAYER = 'communication.bucket="25 MiB"', 'communication.bucket="64 B"'


def weights(command, folder):
    found = datasets(last_checkpoint(command, folder))
    return {name: value.tobytes() for name, value in found.items() if name.startswith(("/model", "/optimizer"))}


def padded(elements, multiple):
    return -(-elements // multiple) * multiple


def check_plan(command, ranks, precision, bucket, expected):
    plan = command.plan_json("deep.toml", "--ranks", ranks, precision, bucket)
    planned = next(entry["bytes"] for entry in plan["memory"] if entry["name"] == "communication")
    assert planned == expected, f"{ranks} ranks, {precision}, {bucket}: {planned} bytes are planned, not {expected}"


def check_plans(command, ranks):
    """By hand: what travels, and a copy of it where that is another type."""
    layer, first = (padded(rows * WIDTH, 32) + padded(WIDTH, 32) for rows in (WIDTH, INPUTS))
    last = padded(WIDTH * CLASSES, 32) + padded(CLASSES, 32)
    for name, travelling, copies in (("fp32", 4, 1), ("bf16", 2, 1), ("fp16", 4, 2)):
        def bytes_of(elements):
            return copies * travelling * padded(elements, 32 * ranks)
        # Backward order: the first layer is the last bucket, and shares a slot with every fourth before it.
        check_plan(command, ranks, f"precision.compute={name}", EACH_LAYER, (WINDOW - 1) * bytes_of(layer) + bytes_of(first))
        check_plan(command, ranks, f"precision.compute={name}", ONE_BUCKET, bytes_of(last + 39 * layer + first))


def check_weights(command, ranks, precision):
    """A layer a bucket, and all in one: the same weights."""
    found = []
    for name, bucket in ("one", ONE_BUCKET), ("each", EACH_LAYER):
        folder = f"{name}-{precision}-{ranks}"
        command.must("train", "deep.toml", f"precision.compute={precision}", bucket, f"run.folder={folder}", ranks=ranks)
        found.append(weights(command, folder))
    assert found[0] == found[1] and len(found[0]) > 3 * 41, f"{precision} on {ranks} ranks"
    print(f"{precision} on {ranks} ranks: 41 buckets, and one: the same weights")


def check_size_of_buckets(command):
    """Where the deck gives none: what the plan says of it, here and to people; a size in the deck is taken as it is."""
    for words, size, buckets in (([], 1 << 20, 1), (WIDE, 1 << 20, 6), (WIDER, 4 * WIDER_PARAMETERS // 32, 3),
                                 ([*WIDE, "precision.compute=bf16"], 1 << 20, 3),
                                 ([*WIDE, "communication.bucket=3 MB"], 3_000_000, 3), ([EACH_LAYER], 64, 41)):
        for ranks in 1, 3:
            plan = command.plan_json("deep.toml", *words, "--ranks", ranks)
            assert (plan["bucket_bytes"], plan["buckets"]) == (size, buckets), (words, plan["bucket_bytes"], plan["buckets"])
    said = r"communication\.bucket: 1 MiB; gradients are reduced in 6 buckets$"
    table, alone = (command.plan("deep.toml", *WIDE, "--ranks", ranks).stdout for ranks in (2, 1))
    assert re.search("^  " + said, table, re.M) and "buckets" not in alone, table + alone
    check, alone = (command.must("train", "deep.toml", *WIDE, "--check", ranks=ranks).stdout for ranks in (2, 1))
    assert re.search("^# " + said, check, re.M) and "\n# communication" not in alone, check + alone


def check_changed_size(command):
    """A run with a size in its deck goes on with the network's own, and back: the weights of one that changed nothing."""
    def train(folder, bucket, *arguments):
        command.must("train", "deep.toml", *WIDE, bucket, "checkpoint.every=1", f"run.folder={folder}", *arguments, ranks=3)
        return weights(command, folder)
    whole = train("whole", AUTOMATIC)
    train("changed", ONE_BUCKET, "run.steps=1")
    train("changed", AUTOMATIC, "run.steps=2", "--restart", "auto")
    assert train("changed", 'communication.bucket="3 MB"', "--restart", "auto") == whole
    plans = [command.document(f"{folder}/plan.json") for folder in ("whole", "changed")]
    assert [plan["buckets"] for plan in plans] == [6, 3], plans
    print("one bucket, then six, then three: the weights of six")


def check_deep_gpt(command, repository):
    """The deck of 48 layers with all its buckets, of which only the width is smaller, and samples shorter and fewer."""
    deck = pathlib.Path(repository, "inputs/gpt2_1558m.toml")
    command.must("train", deck, "model.width=50", "model.context=16", "data.train=tokens.h5", "data.batch=4",
                 "data.micro_batch=2", EACH_LAYER, "schedule.warmup=1", "run.steps=3", "run.log_every=1", "run.folder=gpt", ranks=2)
    lines = command.text("gpt/history.csv").splitlines()[1:]
    losses = [float(line.split(",")[2]) for line in lines]
    assert len(losses) == 3 and all(math.isfinite(loss) for loss in losses), lines
    print(f"48 layers of a GPT on 2 ranks: losses {losses}")


def set_up(command):
    prepare_random(command, samples=96, characters=4000)
    command.write("deep.toml", MLP)


run_cases(set_up, (check_plans, 2), (check_weights, 2, "fp32"), (check_plans, 3), (check_weights, 3, "bf16"), (check_plans, 4),
          (check_weights, 4, "fp16"), check_size_of_buckets, check_changed_size, check_deep_gpt, arguments=["repository"])
