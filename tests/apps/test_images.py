"""Folders of images: `mylos prepare images`, and runs that see them moved by chance (data.augment): the same bits on any
number of ranks and after a restart, evaluations untouched."""
import re
import sys

import numpy

from small_problem import gpt_deck
from support.cases import run_cases
from support.decks import deck_text, layer
from support.run_folders import compare_runs

try:
    from PIL import Image
except ImportError:
    print("python3-pil is not installed")
    sys.exit(77)

FILL = 'crop_fill = "reflect"\n'

DECK = deck_text(run=dict(name="images", steps=30, evaluate_every=15),
                 data=dict(train="train.h5", test="test.h5", batch=24, micro_batch=3, normalize="channel"),
                 data__augment=dict(crop=2, crop_fill="reflect", shift=1, rotate=True, flip_horizontal=True),
                 model=dict(type="chain"),
                 layers=[layer("conv", outputs=8, kernel=3, activation="relu"), layer("global_pool"), layer("dense")],
                 precision=dict(compute="bf16"), optimizer=dict(lr=1e-2), checkpoint=dict(every=15, keep_last=0))


def draw_folder(folder, samples, seed):
    """Three classes, by which colour the most of a 10 x 10 image's points have."""
    source = numpy.random.default_rng(seed)
    for number in range(samples):
        colour = number % 3
        pixels = source.integers(0, 160, (10, 10, 3), dtype=numpy.uint8)
        pixels[..., colour] += 90
        path = folder / ("blue", "green", "red")[2 - colour] / f"{number}.{('png', 'JPEG')[number % 2]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path, quality=95)


def check_prepare(command):
    command.write("deck.toml", DECK)
    for name, samples, seed in (("train", 240, 1), ("test", 60, 2)):
        draw_folder(command.folder / name, samples, seed)
        said = command.must("prepare", "images", name, "--out", f"{name}.h5").stdout
        assert f"{name}.h5: {samples} samples of 300 features, 3 classes" in said, said
        assert len(re.findall(rf"{name}.h5: channel [012] from \d+ to \d+, mean [\d.]+, standard deviation [\d.]+\n", said)) == 3, said
    command.write("train/red/broken.png", "no image")
    command.must_refuse(["prepare", "images", "train", "--out", "again.h5"], "bad-image", "train/red/broken.png: ", "--on-corrupt skip")
    said = command.must("prepare", "images", "train", "--out", "again.h5", "--on-corrupt", "skip").stdout
    assert "left out train/red/broken.png: is neither" in said and "1 of 241 images are skipped" in said, said
    said = command.must("prepare", "images", "test", "--out", "grey.h5", "--channels", "1", "--size", "5x8",
                        "--classes-of", "train.h5").stdout
    assert "60 samples of 40 features, 3 classes" in said, said
    to = ["prepare", "images", "test", "--out", "x.h5", "--size"]
    command.must_refuse([*to, "5*8"], "bad-argument", "'5*8'", "height x width")
    command.must_refuse([*to, "60000x60000"], "bad-argument", "--size 60000x60000", "16777216")
    command.must("prepare", "images", "test/red", "--unlabelled", "--out", "new.h5")


def check_folders_that_are_no_classes(command):
    hidden, empty = command.folder / "test" / ".thumbnails", command.folder / "test" / "violet"
    hidden.mkdir()
    (hidden / "1.png").write_text("no image", encoding="utf-8")
    said = command.must("prepare", "images", "test", "--out", "hidden.h5").stdout
    assert "60 samples of 300 features, 3 classes" in said and "test: 1 of what is in it is left alone" in said, said
    empty.mkdir()
    command.must_refuse(["prepare", "images", "test", "--out", "x.h5"], "too-little-data", "test/violet: ", "--classes-of")
    empty.rmdir()


def losses(command, folder, name="history.csv", column="loss"):
    return [row[column] for row in command.rows(f"{folder}/{name}")]


def check_learns_and_predicts(command):
    said = command.must("train", "deck.toml", "run.folder=learn", "run.steps=60").stdout
    accuracy = float(re.findall(r"accuracy ([\d.]+)", said)[-1])
    assert accuracy > 0.9, said
    command.must("predict", "learn", "new.h5", "out.h5")
    command.must("eval", "learn")


def check_ranks(command):
    for ranks in (1, 2, 4):
        command.must("train", "deck.toml", f"run.folder=ranks-{ranks}", "run.reproducible=true", ranks=ranks)
        compare_runs(command, "ranks-1", f"ranks-{ranks}", f"{ranks} ranks")
    command.must("train", "deck.toml", "run.folder=ranks-3", "precision.compute=fp32", ranks=3)
    command.must("train", "deck.toml", "run.folder=ranks-one", "precision.compute=fp32")
    pairs = zip(losses(command, "ranks-3"), losses(command, "ranks-one"))
    assert all(abs(float(a) - float(b)) < 1e-4 for a, b in pairs), "3 ranks see other samples"


def check_restart(command):
    for ranks in (1, 3):
        whole, parts = f"whole-{ranks}", f"parts-{ranks}"
        command.must("train", "deck.toml", f"run.folder={whole}", ranks=ranks)
        command.must("train", "deck.toml", f"run.folder={parts}", "--stop-after", 15, ranks=ranks, code=85)
        command.must("train", "deck.toml", f"run.folder={parts}", "--restart", "latest", ranks=ranks)
        compare_runs(command, whole, parts, f"{ranks} ranks")
    said = command.must("train", "deck.toml", "run.folder=parts-1", "--restart", "latest", "run.steps=40",
                        "data.augment.crop=1").stdout
    assert "changed at the restart: data.augment.crop = 1 (was 2)" in said, said


def check_evaluations_see_samples_as_they_are(command):
    """With weights that stand still, all that changes is what the training batches hold."""
    still = ["optimizer.lr=1e-30", "optimizer.weight_decay=0", "run.steps=15", "precision.compute=fp32"]
    off = [f"data.augment.{key}" for key in ("crop=0", "shift=0", "rotate=false", "flip_horizontal=false")]
    command.must("train", "deck.toml", "run.folder=moved", *still)
    command.write("still.toml", DECK.replace(FILL, ""))
    command.must("train", "still.toml", "run.folder=still", *still, *off)
    moved, as_they_are = losses(command, "moved"), losses(command, "still")
    assert sum(a != b for a, b in zip(moved, as_they_are)) > 12, moved
    tested = [losses(command, folder, "evaluations.csv") for folder in ("moved", "still")]
    assert tested[0][0] != tested[1][0] and tested[0][1] == tested[1][1], tested  # of the training and the test samples
    assert command.must("eval", "moved").stdout.replace("moved", "still") == command.must("eval", "still").stdout


def check_refused(command):
    def expect(error_id, part, *arguments):
        command.must_refuse(["train", *arguments], error_id, part)

    expect("data-mismatch", "data.augment.crop needs extents of at least 11; samples of train.h5 are 10 x 10 x 3", "deck.toml", "data.augment.crop=10")
    expect("unknown-key", "'data.augment.flip'", "deck.toml", "data.augment.flip=true")
    command.write("table.csv", "".join(f"{i},{i * 7 % 5},{i % 2}\n" for i in range(40)))
    command.must("prepare", "csv", "table.csv", "--label", "3", "--out", "table.h5")
    command.write("mlp.toml", DECK[:DECK.index("[model]")].replace(FILL, "") + "[model]\nhidden = [4]\n")
    table = ["mlp.toml", "data.train=table.h5", "data.test=table.h5", "run.folder=table"]
    lines = DECK.splitlines()
    expect("missing-dataset", f"mlp.toml:{1 + lines.index('crop = 2')}: table.h5: has no attribute 'shape' of /", *table)
    still = ["data.augment.crop=0", "data.augment.shift=0", "data.augment.rotate=false", "data.augment.flip_horizontal=false"]
    line = 1 + lines.index('normalize = "channel"')
    expect("missing-dataset", f"mlp.toml:{line}: table.h5: has no attribute 'shape' of /", *table, *still)
    expect("missing-dataset", "data.normalize = \"channel\" needs; data.shape gives it to networks of type \"cnn\", ", *table, *still)
    cnn = command.text("mlp.toml").replace("[model]\n", "[model]\ntype = \"cnn\"\nchannels = [4]\n")
    command.write("cnn.toml", cnn)
    line = 1 + cnn.splitlines().index('type = "cnn"')
    table[0] = "cnn.toml"
    expect("missing-dataset", f"cnn.toml:{line}: table.h5: has no attribute 'shape' of /, the grid of its samples, which layer 'conv1' "
           "needs; data.shape gives it to", *table, *still, "data.normalize=none")
    deck = gpt_deck(run=dict(steps=4), data=dict(batch=2), data__augment=dict(crop=1))
    command.write("gpt.toml", deck)
    line = 1 + deck.splitlines().index("crop = 1")
    expect("key-without-effect", f"gpt.toml:{line}: 'data.augment.crop'", "gpt.toml")


def check_other_classes(command):
    """Folders that are called otherwise: class 0 of one file is class 1 of the other, or nothing of it."""
    def prepare_classes(name, classes, *options):
        source = numpy.random.default_rng(3)
        for number in range(24):
            path = command.folder / name / classes[number % 2] / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(source.integers(0, 100, (4, 8), dtype=numpy.uint8) + numpy.uint8(100 * (number % 2))).save(path)
        command.must("prepare", "images", name, "--out", f"{name}.h5", *options)

    prepare_classes("lamps", ("bright", "dark"))
    prepare_classes("woods", ("dark", "ebony"))
    prepare_classes("rooms", ("dark", "bright"), "--classes-of", "lamps.h5")
    deck = DECK[:DECK.index("[data.augment]")] + "[model]\nhidden = [4]\n"
    command.write("lamps.toml", deck.replace("train.h5", "lamps.h5"))
    train = ("train", "lamps.toml", "run.folder=lamps-run", "run.steps=2")
    for ranks in (1, 2):
        command.must_refuse([*train, "data.test=woods.h5"], "bad-names", "woods.h5: class 0 ", "'dark', and 'bright' in lamps.h5",
                            "--classes-of lamps.h5", ranks=ranks)
    command.must(*train, "data.test=rooms.h5")
    for ranks in (1, 2):
        if ranks == 2:  # the checkpoint knows
            (command.folder / "lamps.h5").unlink()
        command.must_refuse(["eval", "lamps-run", "--data", "woods.h5"], "bad-names", "woods.h5: class 0 ",
                            "'dark', and 'bright' in the training data of lamps-run/checkpoints/step-", "--classes-of lamps.h5",
                            ranks=ranks)
    said = command.must("eval", "lamps-run", "--metrics", "confusion").stdout
    assert re.search(r"\n +bright +dark\nbright ", said), said


run_cases(check_prepare, check_folders_that_are_no_classes, check_learns_and_predicts, check_ranks, check_restart,
          check_evaluations_see_samples_as_they_are, check_refused, check_other_classes)
