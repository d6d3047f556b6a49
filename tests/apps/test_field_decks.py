"""The decks of trajectories in inputs/, on a few short trajectories of their generators: data, training, and a rollout."""
import re
import subprocess

from support.cases import run_cases

# Deck: its generator, options of small files, a test file.
DECKS = {"ks_rollout": ("kuramoto_sivashinsky", ["--levels", 21], "ks/test/ks-003.h5", "ks"),
         "turbulence_unet": ("decay_turbulence", ["--levels", 9, "--points", 32], "turbulence/test/decay-turbulence-003.h5", "turbulence")}
SHORT = ["run.epochs=1", "data.batch=16", "schedule.warmup=0", "run.peak_flops=1e12"]


def check(command, name, repository):
    generator, sizes, test, folder = DECKS[name]
    deck = repository / f"inputs/{name}.toml"
    for part, numbers in (("train", ["--trajectories", 3]), ("test", ["--trajectories", 1, "--first", 3])):
        line = ["/usr/bin/python3", repository / f"inputs/data/{generator}.py", *numbers, *sizes, "--out", f"data/{folder}/{part}"]
        subprocess.run(list(map(str, line)), cwd=command.folder, check=True, stdout=subprocess.DEVNULL)
    command.must("data", deck, SHORT[1], "--picture", f"{name}.svg")
    said = command.must("train", deck, *SHORT).stdout
    run = re.search(r'name = "(.*)"', deck.read_text(encoding="utf-8")).group(1)
    assert "test loss" in said, said
    command.must("rollout", f"runs/{run}", f"data/{test}", "--steps", 4, "--truth", f"data/{test}", "--out", f"{name}.h5")


run_cases(*((check, name) for name in DECKS), arguments=["repository"])
