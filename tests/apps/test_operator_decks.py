"""The decks of neural operators in inputs/, on a few small pairs of their generators: training, and predictions on a finer grid."""
import re
import subprocess

import h5py
import numpy

from support.cases import run_cases

# Deck: its generator, options of small files, those of a finer grid, and the array that it predicts.
DECKS = {"fno-burgers": ("burgers_operator", ["--points", 64, "--grid", 256], ["--points", 128, "--grid", 256], "final"),
         "fno-darcy": ("darcy", ["--points", 33, "--refine", 1], ["--points", 49, "--refine", 1], "u")}
SHORT = ["run.epochs=2", "data.batch=4", "schedule.warmup=0", "run.peak_flops=1e12"]


def check(command, name, repository):
    generator, coarse, fine, target = DECKS[name]
    deck = repository / f"inputs/{name}.toml"
    text = deck.read_text(encoding="utf-8")
    paths = dict(re.findall(r'^(train|test) = "(.*)"$', text, re.MULTILINE)) | {"fine": "fine.h5"}
    for part, samples, first, sizes in (("train", 8, 0, coarse), ("test", 4, 8, coarse), ("fine", 2, 8, fine)):
        line = ["/usr/bin/python3", repository / f"inputs/data/{generator}.py", "--samples", samples, "--first", first, *sizes,
                "--out", paths[part]]
        subprocess.run(list(map(str, line)), cwd=command.folder, check=True, stdout=subprocess.DEVNULL)
    assert f"inputs/data/{generator}.py" in text and paths["train"] in text.split("[run]")[0], "the comment makes other data"
    said = command.must("train", deck, *SHORT).stdout
    assert "test loss" in said, said
    command.must("predict", f"runs/{name}", "fine.h5", "out.h5")
    with h5py.File(command.folder / "fine.h5") as file, h5py.File(command.folder / "out.h5") as out:
        assert out[target].shape == file[target].shape, out[target].shape
        assert numpy.isfinite(out[target][()]).all() and numpy.abs(out[target][()]).max() > 0


run_cases(*((check, name) for name in DECKS), arguments=["repository"])
