"""precision.adapt at the start of a run: some steps in each type, and the fastest whose loss stays close to float's. What it
measured is what runs of each type have, its choice follows from what it says, and the run is the one that a deck with that
type makes, on any number of ranks, bit for bit, over restarts too."""
import json
import re

import h5py
import numpy

from small_problem import gpt_deck, prepare, prepare_text
from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text
from support.run_folders import datasets, events_of, last_checkpoint

ADAPT = "precision.adapt=true"
STEPS = 16
SETTINGS = [ADAPT, f"precision.adaptation.steps={STEPS}"]
GPT = gpt_deck(run=dict(steps=24, log_every=4), data=dict(batch=8), schedule=dict(type="cosine"), checkpoint=dict(every=8))
LARGE = deck_text(run=dict(name="large", steps=12), data=dict(train="wide.h5", batch=256),
                  model=dict(type="mlp", hidden=[1024, 1024], loss="mse"), optimizer=dict(lr=1e-4))


def decision(command, folder):
    """The event of the choice, and the amendment that checkpoints keep of it."""
    found = events_of(command, folder, "adaptation")
    assert len(found) == 1 and found[0]["cause"] == "types compared" and found[0]["step"] == 0, found
    with h5py.File(last_checkpoint(command, folder), "r") as file:
        kept = json.loads(file["/history/amendments"][()].decode())
        assert f'compute = "{kept["compute"]}"' in file["/deck"][()].decode()
    assert kept["text"] == found[0]["text"]
    return kept


def measured(text):
    """Milliseconds and late losses by type, as the decision says them."""
    inside = text[text.index(" ("):]
    times = {name: float(value) for name, value in re.findall(r"(fp32|bf16|fp16) ([\d.e+-]+) ms", inside)}
    losses = re.findall(r"([\d.e+-]+)(?: \([+-][\d.e+-]+ %\))?(?:, | after)", inside[inside.index("losses ") + 7:])
    assert len(losses) == len(times), text
    return times, dict(zip(times, map(float, losses)))


def require_rule(text, taken, least_gain=0.1, gap=0.02):
    """What the manual says of the choice, by the numbers of the decision."""
    times, losses = measured(text)
    close = [name for name in times if name != "fp32" and (losses[name] - losses["fp32"]) / losses["fp32"] <= gap]
    best = min(close, key=times.get, default="fp32")
    expected = best if 1 - times[best] / times["fp32"] >= least_gain else "fp32"
    border = abs(1 - times[best] / times["fp32"] - least_gain) < 0.01  # four digits are said
    assert taken == expected or border, f"{taken} was taken: {text}"
    return losses


def require_losses_of_runs(command, deck, losses):
    """Each type's losses are those of a run in that type."""
    for name, said in losses.items():
        folder = f"alone-{name}"
        command.must("train", deck, f"precision.compute={name}", f"run.steps={STEPS}", "schedule.steps=24", f"run.folder={folder}")
        rows = [float(row["loss"]) for row in command.rows(f"{folder}/history.csv")]
        assert len(rows) == STEPS
        mean = numpy.mean(rows[STEPS // 2:])
        assert abs(mean / said - 1) < 1e-4, f"{name}: {said} was said, a run has {mean}"


def require_same_training(command, one, other):
    """Weights, moments and scaler, bit for bit; events differ."""
    first, second = (datasets(last_checkpoint(command, folder)) for folder in (one, other))
    names = [name for name in first if name.split("/")[1] in ("model", "optimizer", "scaler", "schedule")]
    assert len(names) > 8
    for name in names:
        assert first[name].tobytes() == second[name].tobytes(), f"{one} and {other} differ in {name}"


def check_choice(command, deck, ranks):
    folder = f"chosen-{ranks}"
    said = command.must("train", deck, *SETTINGS, "schedule.steps=24", f"run.folder={folder}", ranks=ranks).stdout
    kept = decision(command, folder)
    assert kept["text"] in said and "comparing fp32, bf16, fp16 by 16 steps of each" in said, said
    losses = require_rule(kept["text"], kept["compute"])
    if ranks == 1:
        require_losses_of_runs(command, deck, losses)
        amended = command.text(f"{folder}/amended.toml")
        assert f'compute = "{kept["compute"]}"' in amended
    command.must("train", deck, "schedule.steps=24", f"precision.compute={kept['compute']}", f"run.folder=told-{ranks}", ranks=ranks)
    require_same_training(command, folder, f"told-{ranks}")
    print(f"{ranks} ranks: {kept['text']}")


def check_restarts(command, deck):
    """A choice is made once: killed before its first regular checkpoint, or stopped, a run goes on with it."""
    train = ["train", deck, *SETTINGS, "schedule.steps=24", "run.folder=restarted"]
    command.must(*train, "--stop-after", 3, code=85)
    chosen = decision(command, "restarted")
    assert (command.folder / "restarted/checkpoints/step-0000000000.h5").exists()
    (command.folder / "restarted/checkpoints/step-0000000003.h5").unlink()  # as if it had been killed
    said = command.must(*train, "--restart", "auto", "--stop-after", 11, code=85).stdout
    assert "comparing" not in said and "at step 0 of" in said, said
    said = command.must(*train, "--restart", "latest").stdout
    assert "comparing" not in said, said
    assert decision(command, "restarted") == chosen
    command.must("train", deck, "schedule.steps=24", f"precision.compute={chosen['compute']}", "run.folder=told-restarted")
    require_same_training(command, "restarted", "told-restarted")


def check_small_and_large(command):
    """A net that gains less than is asked for stays in float; a large one takes 16 bits where these are faster here."""
    command.must("train", "deck.toml", *SETTINGS, "precision.adaptation.least_gain=0.95", "run.folder=small")
    assert decision(command, "small")["compute"] == "fp32"
    rows = numpy.random.default_rng(1).standard_normal((512, 512), dtype=numpy.float32)
    write_data(command.folder / "wide.h5", inputs=rows, targets=rows[:, :4] - rows[:, 4:8])
    command.write("large.toml", LARGE)
    for ranks in (1, 2):
        command.must("train", "large.toml", ADAPT, "precision.adaptation.steps=8", 'precision.adaptation.types=["fp32","bf16"]',
                     "run.steps=4", f"run.folder=large-{ranks}", ranks=ranks)
        kept = decision(command, f"large-{ranks}")
        require_rule(kept["text"], kept["compute"])
        times, _ = measured(kept["text"])
        if times["bf16"] < 0.85 * times["fp32"]:
            assert kept["compute"] == "bf16", kept["text"]
        print(f"large, {ranks} ranks: {kept['text']}")


def check_data_too_large_for_half(command):
    """A type that has no room for the data is left out, and said to be."""
    rows = numpy.random.default_rng(2).standard_normal((96, 6), dtype=numpy.float32)
    write_data(command.folder / "vast.h5", inputs=rows * numpy.float32(1e6), targets=rows[:, :2])
    deck = LARGE.replace("wide.h5", "vast.h5").replace("256", "48").replace("[1024, 1024]", "[16]")
    command.write("vast.toml", deck)
    command.must("train", "vast.toml", ADAPT, "run.steps=2", "run.folder=vast")
    kept = decision(command, "vast")
    assert kept["compute"] != "fp16" and "fp16 does not run" in kept["text"] and "; fp16: " in kept["text"], kept["text"]
    print(f"vast: {kept['text']}")


def check_tight_budget(command):
    """What trials leave behind in the process is no part of the run: where a deck fits, it fits with them too."""
    refused = command.must_refuse(["train", "gpt.toml", "precision.compute=fp32", "memory.budget=20 MiB", "run.folder=tight"],
                                  "does-not-fit", code=3).stderr
    # Processes of the same start differ by up to 3 MiB.
    least = int(re.search(r"smallest budget that would do is memory.budget = \"(\d+) MiB\"", refused).group(1)) + 4
    command.must("train", "gpt.toml", ADAPT, f"memory.budget={least} MiB", "run.steps=4", "run.folder=tight")


def check_changed_type(command):
    """A restart goes on with the choice, and says so where its deck asks for another type."""
    command.must("train", "gpt.toml", *SETTINGS, "run.folder=kept", "--stop-after", 3, code=85)
    chosen = decision(command, "kept")["compute"]
    other = "fp32" if chosen != "fp32" else "fp16"
    said = command.must("train", "gpt.toml", "run.folder=kept", "--restart", "latest", f"precision.compute={other}").stdout
    assert f'the run has chosen "{chosen}"' in said, said


def check_other_beginnings(command):
    """One candidate is taken as it is; float that does not fit is left out; a trial's data errors are the run's."""
    said = command.must("train", "deck.toml", ADAPT, 'precision.adaptation.types=["fp16"]', "run.folder=one").stdout
    assert "comparing" not in said and decision(command, "one")["compute"] == "fp16"
    for said in (command.must("train", "deck.toml", ADAPT, "--check").stdout, command.plan("deck.toml", ADAPT).stdout):
        assert "precision.adapt: a run that begins afresh chooses its type" in said, said
    command.must_refuse(["train", "deck.toml", ADAPT, "memory.budget=1 MiB", "run.folder=none"], "does-not-fit", "1 MiB", code=3)
    assert not (command.folder / "none/checkpoints").exists()


def set_up(command):
    prepare(command)
    command.write("gpt.toml", GPT)
    prepare_text(command, "".join(f"line {i * i % 97} of a text that repeats itself\n" for i in range(400)))


run_cases(set_up, (check_choice, "gpt.toml", 1), (check_choice, "deck.toml", 3), (check_restarts, "gpt.toml"),
          check_small_and_large, check_data_too_large_for_half, check_tight_budget, check_changed_type, check_other_beginnings)
