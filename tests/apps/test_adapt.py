"""Runs with precision.adapt put what overflows in half into float and slow down a loss scale that climbs too often, alike on
all ranks; one that is stopped and gone on with in between ends with the same bits."""
import math
import shutil
import sys


from amended_runs import Bench, amendments_of, go_on, go_on_after_kill, kill_at, reached_by, require_same
from rewind_cases import HEAD, RATE, prepare_cases
from small_problem import write_csv
from support.cases import run_cases
from support.data_files import read_data
from support.decks import deck_text
from support.run_folders import events_of, last_checkpoint, rows_without_times
from test_report import report

ADAPT = ["precision.adapt=true", "precision.adaptation.types=[\"fp16\"]", "precision.compute=fp16"]

# Inputs that half holds just so, and not their weighted sums, from the first step on.
LARGE_INPUTS = deck_text(run=dict(name="large-inputs", epochs=20), data=dict(train="far-train.h5", test="far-test.h5", batch=96),
                         model=dict(type="mlp", hidden=[64, 16], norm="layernorm", loss="cross_entropy"),
                         precision=dict(compute="fp32"), optimizer=dict(lr=0.01), health=dict(vanishing_norm=0))
INPUTS = "far.toml"
FAR = ["precision.scaler.initial_scale=1024"]  # of the half that it adapts from

# A scale that soon climbs again to where gradients overflow.
LOOKS = ["precision.scaler.max_scale=1e9", "precision.adaptation.every=100"]
CLIMBING = [*LOOKS, "precision.scaler.initial_scale=16777216", "precision.scaler.growth_interval=4", "run.epochs=60"]
# Many steps overflow, as the scale hardly falls.
STUBBORN = [*LOOKS, "precision.scaler.growth_interval=1", "precision.scaler.backoff_factor=0.99", "run.epochs=60"]

PIECE = 97 if "--full" in sys.argv else 317  # steps of a start; decisions are made at others

REPRODUCIBLE = ["run.reproducible=true", "data.micro_batch=24"]


def deck_of(path):
    return read_data(path, "deck").decode()


def changes_of(command, folder):
    """What was changed at which step, without words."""
    return [{name: value for name, value in one.items() if name != "text"}
            for one in amendments_of(last_checkpoint(command, folder))]


def adapt(command, deck, folder, *overrides, ranks=1, code=0):
    """A run to its end, whose events say what its checkpoint's amendments say."""
    result = command.must("train", deck, *ADAPT, *overrides, f"run.folder={folder}", ranks=ranks, code=code)
    told = [event["text"] for event in events_of(command, folder, "adaptation")]
    kept = [one["text"] for one in amendments_of(last_checkpoint(command, folder)) if one["kind"] == "adaptation"]
    assert told == kept and told, (told, kept)
    for text in told:
        assert text in result.stdout, text
    rows = rows_without_times(command, folder, "history.csv")
    assert [int(row["step"]) for row in rows] == list(range(1, len(rows) + 1)), "a row for each step, once"
    return result


def overflows(rows):
    return sum(row["overflow"] != "0" for row in rows)


def check_head(command):
    """Targets of 1e5: the head's output has no room in half once the net has learned them, and computes in float alone."""
    bench = Bench(command, HEAD, 4)
    adapt(command, HEAD, "head")
    change, = changes_of(command, "head")
    assert change["float_layer"] == "head" and change["cause"] == "not finite" and change["subject"] == "head", change
    assert change["step"] == change["from"] > 20, "it had learned before"
    assert 'rules = { "head" = "fp32" }' in deck_of(last_checkpoint(command, "head"))
    reached = reached_by(command, "head")
    assert reached >= bench.least, (reached, bench.reached)
    rows = rows_without_times(command, "head", "history.csv")
    behind = [row for row in rows if int(row["step"]) > change["step"]]
    assert float(behind[0]["scale"]) == 1, "initial_scale again"
    assert overflows(behind[20:]) == 0, "all else has room"
    return change["step"]


def check_inputs(command):
    """From the first step on, without any checkpoint: the layer that reads the inputs computes in float, and the norm behind
    it."""
    command.must("train", INPUTS, "run.folder=far-float")
    adapt(command, INPUTS, "far", *FAR)
    changes = changes_of(command, "far")
    assert [one["float_layer"] for one in changes] == ["hidden1", "norm1"], changes
    rows = rows_without_times(command, "far", "history.csv")
    assert rows[0]["overflow"] != "0" and changes[0]["step"] < 40, (rows[0], changes)
    for one in changes:
        assert float(rows[one["from"] - 1]["scale"]) == 1 and float(rows[one["from"]]["scale"]) == 1024, one
    half, whole = reached_by(command, "far"), reached_by(command, "far-float")
    assert half >= whole - 0.03 and half > 0.8, (half, whole)
    run, = report(command, "far")["runs"]
    assert run["events"]["kinds"]["adaptation"] == 2, run["events"]
    types = {layer["name"]: layer["compute"] for layer in run["layers"]}
    assert types["hidden1"] == "fp32" and types["hidden2"] == types["head"] == "fp16", types
    return changes[0]["step"]


def check_ranks(command, full, *cases):
    """The same bits on every number of ranks make the same decisions; 3 ranks, which round otherwise, like ones."""
    for deck, overrides in cases:
        name = f"ranks-{deck}"
        for ranks in (1, 2, 4) if full else (1, 2):
            adapt(command, deck, f"{name}-{ranks}", *overrides, *REPRODUCIBLE, ranks=ranks)
            assert changes_of(command, f"{name}-{ranks}") == changes_of(command, f"{name}-1"), ranks
        adapt(command, deck, f"{name}-3", *overrides, "optimizer.shard=gradients", ranks=3)
        made = [[(one["cause"], one.get("float_layer")) for one in changes_of(command, f"{name}-{ranks}")] for ranks in (1, 3)]
        assert made[0][0] == made[1][0], made


def check_growth(command):
    """Each climb ends with an overflow: the climbs get longer, until they cost little."""
    adapt(command, RATE, "growth", *CLIMBING)
    changes = changes_of(command, "growth")
    intervals = [one["growth_interval"] for one in changes if one["cause"] == "frequent overflows"]
    assert intervals[:3] == [8, 16, 32], changes
    assert changes[1]["growth_factor"] == 1.5 and all(one["from"] % 100 == 0 for one in changes), changes
    rows = rows_without_times(command, "growth", "history.csv")
    assert overflows(rows[100:200]) > 10 > overflows(rows[-500:]), (overflows(rows[100:200]), overflows(rows[-500:]))
    assert f"growth_interval = {changes[-1]['growth_interval']}" in deck_of(last_checkpoint(command, "growth"))
    amended = command.text("growth/amended.toml")
    assert f"growth_interval = {changes[-1]['growth_interval']}" in amended


def check_float_run(command):
    """Where no growth is slow enough, half is given up."""
    adapt(command, RATE, "stubborn", *STUBBORN)
    changes = changes_of(command, "stubborn")
    assert changes[-1]["compute"] == "fp32" and changes[-1]["cause"] == "frequent overflows", changes
    assert changes[-2]["growth_interval"] == 32 and changes[-2]["growth_factor"] == 1.0625, changes
    rows = rows_without_times(command, "stubborn", "history.csv")[changes[-1]["from"]:]
    assert overflows(rows) == 0 and {row["scale"] for row in rows} == {"1"}, "nor is there a scale"


def check_ranks_of_head(command, full):
    check_ranks(command, full, (HEAD, []))


CASES = {"head": (HEAD, 1, []), "far": (INPUTS, 1, FAR), "growth": (RATE, 1, CLIMBING), "stubborn": (RATE, 1, STUBBORN)}


def arguments_of(name, folder):
    deck, ranks, overrides = CASES[name]
    return ["train", deck, *ADAPT, *overrides, f"run.folder={folder}"], ranks


def check_pieces(command, name, steps):
    arguments, ranks = arguments_of(name, f"{name}-{steps}")
    starts = go_on(command, arguments, ranks, steps)
    require_same(command, name, f"{name}-{steps}")
    print(f"{name}: the same bits over {starts} starts of {steps} steps", flush=True)


def check_stops(command, name, decided):
    """Stopped right before, at and behind a decision."""
    for step in (decided - 1, decided, decided + 1):
        folder = f"{name}-at-{step}"
        arguments, ranks = arguments_of(name, folder)
        command.must(*arguments, "--stop-after", step, ranks=ranks, code=85)
        made = amendments_of(last_checkpoint(command, folder))
        assert (len(made) > 0) == (step >= decided), made
        said = command.must(*arguments, "--restart", "latest", ranks=ranks).stdout
        assert "changed at the restart" not in said, said
        require_same(command, name, folder)


def check_killed(command, name):
    """At a decision, with no other checkpoint behind it; and gone on with from one before it."""
    folder = f"{name}-killed"
    arguments, ranks = arguments_of(name, folder)
    kill_at(command, "; from here on", *arguments, "checkpoint.every=10", ranks=ranks)
    go_on_after_kill(command, *arguments, ranks=ranks)
    require_same(command, name, folder)


def check_from_before(command, name, decided):
    """A checkpoint from before a decision leads to it again."""
    folder = f"{name}-before"
    arguments, ranks = arguments_of(name, folder)
    command.must(*arguments, "checkpoint.every=7", "checkpoint.keep_last=0", "--stop-after", decided + 5, ranks=ranks, code=85)
    for file in (command.folder / folder / "checkpoints").glob("step-*.h5"):
        if int(file.stem[5:]) >= decided:
            file.unlink()
    command.must(*arguments, "--restart", "latest", ranks=ranks)
    require_same(command, name, folder)


def check_with_rewind(command):
    """Changes of both kinds pile up: a rate that is too large, and a scale that climbs too often."""
    CASES["both"] = (RATE, 2, [*CLIMBING, "optimizer.lr=2", "health.on_divergence=rewind"])
    arguments, ranks = arguments_of("both", "both")
    command.must(*arguments, ranks=ranks)
    kinds = [one["kind"] for one in amendments_of(last_checkpoint(command, "both"))]
    assert "rewind" in kinds[kinds.index("adaptation"):], f"{kinds}: what was adapted before a return stays"
    assert [event["kind"] for event in events_of(command, "both", "rewind", "adaptation")] == kinds
    check_pieces(command, "both", PIECE)


def check_end(command):
    """Weights that are not finite are none in float either: each layer is tried, then the run ends."""
    command.must_refuse(["train", HEAD, *ADAPT, "optimizer.type=sgd", "optimizer.lr=100", "health.on_divergence=stop",
                         "run.folder=lost"], "diverged", "diverged at step ", code=4)
    made = events_of(command, "lost", "adaptation")
    assert {event["subject"] for event in made} == {"hidden1", "head"}, made
    assert len(events_of(command, "lost", "divergence")) == 1


def check_given_up(command):
    """A restart with adapt = false keeps what was changed, and says that no more will be."""
    shutil.copytree(command.folder / "head-97", command.folder / "off")
    arguments, ranks = arguments_of("head", "off")
    arguments = [one for one in arguments if not one.startswith("precision.adapt")]
    said = command.must(*arguments, "run.epochs=21", "--restart", "latest", ranks=ranks).stdout
    assert "changed at the restart: precision.adapt = false (was true)" in said, said
    assert changes_of(command, "off") == changes_of(command, "head")


def prepare_far(command):
    for name, samples, seed in (("far-train", 2000, 1), ("far-test", 1000, 2)):
        write_csv(command.folder / "near.csv", samples, seed)
        lines = command.text("near.csv").splitlines()
        with open(command.folder / f"{name}.csv", "w", encoding="utf-8") as file:
            file.write(lines[0] + "\n")
            for line in lines[1:]:
                *near, label = line.split(",")
                file.write(",".join(f"{6.4e4 * math.tanh(2 * float(x)):.1f}" for x in near) + f",{label}\n")
        command.must("prepare", "csv", f"{name}.csv", "--label", "class", "--out", f"{name}.h5")
    command.write(INPUTS, LARGE_INPUTS)


def check_decisions(command, full):
    """Where they are made, and starts that end around them."""
    decided = check_head(command)
    far = check_inputs(command)
    check_stops(command, "head", decided)
    check_from_before(command, "head", decided)
    if full:
        check_stops(command, "far", far)


def check_more(command, full):
    if full:
        check_ranks(command, full, (RATE, CLIMBING))
        check_pieces(command, "far", 29)
        check_pieces(command, "stubborn", 250)
        check_stops(command, "growth", 200)
        check_from_before(command, "growth", 200)
        check_killed(command, "head")


run_cases(prepare_cases, prepare_far, check_decisions, check_growth, check_float_run, check_ranks_of_head,
          (check_pieces, "head", 97), (check_pieces, "growth", PIECE), (check_killed, "far"), check_with_rewind, check_given_up,
          check_end, check_more)
