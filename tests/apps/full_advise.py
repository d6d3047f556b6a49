"""The times that mylos advise finds are those of runs made afterwards, and its verdicts follow them, by two instruction sets.

Runs of the types take turns, and medians are compared, as machines differ from minute to minute."""
import statistics

from random_data import prepare_random
from support.cases import run_cases
from support.decks import deck_text

DECK = deck_text(run=dict(peak_flops=None, name="net", steps=60, log_every=10), data=dict(train="samples.h5", batch=256),
                 model=dict(hidden=[1024, 1024, 1024, 1024, 1024, 1024]), checkpoint=dict(every=1000))
TYPES = ("fp32", "bf16", "fp16")
CLOSE = 0.05  # what a time may differ by
TRIES = 4
LEAST_GAIN = 0.1


def seconds_of_step(command, compute, instructions, number):
    """Behind the first ten steps of a run."""
    folder = f"{compute}-{instructions}-{number}"
    command.must("train", "deck.toml", f"run.folder={folder}", f"precision.compute={compute}",
                 f"kernels.instructions={instructions}")
    elapsed = {int(row["step"]): float(row["elapsed_s"]) for row in command.rows(f"{folder}/history.csv")}
    return (elapsed[60] - elapsed[10]) / 50


def measure(command, instructions, attempt):
    """What advise says, and the seconds of a step of each type in the runs behind it."""
    advice = command.json("advise", "deck.toml", "--json", f"kernels.instructions={instructions}", "--out",
                          f"{instructions}-{attempt}.toml", "--rounds", 7)
    times = {compute: [] for compute in TYPES}
    for turn in range(5):
        for compute in TYPES if turn % 2 == 0 else reversed(TYPES):
            times[compute].append(seconds_of_step(command, compute, instructions, f"{attempt}-{turn}"))
    return advice, {compute: statistics.median(values) for compute, values in times.items()}


def gain_of(times):
    """Of the faster 16-bit type, as a share of float's time."""
    return 1 - min(times["bf16"], times["fp16"]) / times["fp32"]


def check(command, instructions):
    for attempt in range(TRIES):
        advice, runs = measure(command, instructions, attempt)
        said = {trial["compute"]: trial["median_step_s"] for trial in advice["trials"] if trial["recompute"] == "auto"}
        apart = {compute: said[compute] / runs[compute] - 1 for compute in TYPES}
        print(instructions, {compute: f"{1000 * said[compute]:.2f} ms, {apart[compute]:+.1%}" for compute in TYPES},
              advice["advice"]["verdict"], flush=True)
        if max(map(abs, apart.values())) <= CLOSE:
            break
    else:
        raise AssertionError(f"{instructions}: in {TRIES} tries advise and runs differ by more than {CLOSE:.0%}")
    losses_are_close = all(trial["loss_gap"] <= 0.02 for trial in advice["trials"])
    assert losses_are_close, "random labels: nothing is learned that a type could lose"
    takes_16_bit = advice["advice"]["compute"] != "fp32"
    assert takes_16_bit == (gain_of(said) >= LEAST_GAIN), (advice["advice"], said)
    if abs(gain_of(runs) - LEAST_GAIN) > CLOSE:
        assert takes_16_bit == (gain_of(runs) > LEAST_GAIN), (advice["advice"], runs)
    return takes_16_bit, gain_of(runs)


def check_targets(command):
    prepare_random(command, samples=16384, characters=100)
    command.write("deck.toml", DECK)
    found = {}
    for target in ("auto", "avx2"):
        if command.run("train", "deck.toml", "--check", f"kernels.instructions={target}").returncode == 2:
            print(f"this processor has no {target}")
            continue
        found[target] = check(command, target)
    print(found)


run_cases(check_targets)
