"""Losses that the deck chooses: what a run says of them is what numpy makes of its predictions, whatever ranks and micro-batches."""
import re

import h5py
import numpy

from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.data_files import read_data, write_data
from support.decks import deck_text
from support.run_folders import compare_runs, last_checkpoint, losses_of

WEIGHTS = [0.5, 3.0, 1.0]


def write_problems(command):
    source = numpy.random.default_rng(1)
    inputs = source.normal(size=(240, 5)).astype("f4")
    sums = inputs @ source.normal(size=(5, 3)) + 0.1 * source.normal(size=(240, 3))
    for name, key, values in (("numbers", "targets", sums), ("odds", "targets", 1 / (1 + numpy.exp(-3 * sums))),
                              ("classes", "labels", sums.argmax(1))):
        with h5py.File(command.folder / f"{name}.h5", "w") as file:
            file["inputs"] = inputs
            file[key] = values.astype("f4" if key == "targets" else "i4")
            if key == "labels":
                file.attrs["classes"] = 3


def huber(p, t, delta):
    e = abs(p - t)
    return numpy.where(e < delta, e * e / 2, delta * (e - delta / 2)).mean()


def smoothed(p, labels, smoothing, weights):
    """Of probabilities."""
    target = (1 - smoothing) * numpy.eye(3)[labels] + smoothing / 3
    return (weights[labels] * -(target * numpy.log(p)).sum(1)).mean()


CASES = {  # the keys of [model], the data, and the loss of predictions
    "mse": (dict(loss="mse"), "numbers", lambda p, t: ((p - t) ** 2).mean()),
    "l1": (dict(loss="l1"), "numbers", lambda p, t: abs(p - t).mean()),
    "huber": (dict(loss="huber", huber_delta=0.3), "numbers", lambda p, t: huber(p, t, 0.3)),
    "relative_l2": (dict(loss="relative_l2"), "numbers",
                    lambda p, t: (numpy.linalg.norm(p - t, axis=1) / numpy.linalg.norm(t, axis=1)).mean()),
    "binary_cross_entropy": (dict(loss="binary_cross_entropy"), "odds",
                             lambda p, t: -(t * numpy.log(p) + (1 - t) * numpy.log(1 - p)).mean()),
    "weighted": (dict(class_weights=WEIGHTS), "classes", lambda p, t: smoothed(p, t, 0, numpy.array(WEIGHTS))),
    "smoothed": (dict(label_smoothing=0.2, class_weights=WEIGHTS), "classes",
                 lambda p, t: smoothed(p, t, 0.2, numpy.array(WEIGHTS))),
}


def losses_deck(model, data, compute="fp32"):
    return deck_text(run=dict(name="losses", steps=40, evaluate_every=40), data=dict(train=f"{data}.h5", test=f"{data}.h5", batch=24),
                     model=dict(hidden=[16], **model), precision=dict(compute=compute), optimizer=dict(lr=1e-2),
                     checkpoint=dict(every=20, keep_last=0))


def write_deck(command, case, compute="fp32"):
    model, data, _ = CASES[case]
    command.write("deck.toml", losses_deck(model, data, compute))


def check_values(command):
    for case, (_, data, loss) in CASES.items():
        write_deck(command, case)
        said = command.must("train", "deck.toml", f"run.folder={case}").stdout
        command.must("predict", case, f"{data}.h5", "out.h5")
        with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / f"{data}.h5") as file:
            answers = file["labels" if data == "classes" else "targets"][:]
            expected = loss(out["outputs"][:].astype("f8"), answers)
        found = float(re.findall(r"test loss ([\d.e-]+)", said)[-1])
        assert abs(found - expected) < 1e-4 * max(1, expected), f"{case}: {found}, numpy {expected}\n{said}"
        losses = losses_of(command, case)
        assert found < 0.7 * losses[0], f"{case} does not learn: {losses}"
        print(f"{case}: {found} (numpy {expected:.6g}), from {losses[0]}", flush=True)


def check_ranks_and_micro_batches(command):
    for case in ("weighted", "relative_l2"):
        write_deck(command, case)
        for ranks, micro_batch in ((1, 5), (2, 0), (3, 4)):
            folder = f"{case}-{ranks}-{micro_batch}"
            command.must("train", "deck.toml", f"run.folder={folder}", f"data.micro_batch={micro_batch}", ranks=ranks)
            for one, other in zip(losses_of(command, case), losses_of(command, folder)):
                assert abs(one - other) < 1e-4 * max(1, one), f"{folder}: {one}, {other}"
        write_deck(command, case, "bf16")
        for ranks in (1, 2):
            folder = f"{case}-same-{ranks}"
            command.must("train", "deck.toml", f"run.folder={folder}", "data.micro_batch=6", "run.reproducible=true", ranks=ranks)
            compare_runs(command, f"{case}-same-1", folder)
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--stop-after", 20, ranks=2, code=85)
        command.must("train", "deck.toml", f"run.folder={case}-parts", "--restart", "latest", ranks=2)
        command.must("train", "deck.toml", f"run.folder={case}-whole", ranks=2)
        compare_runs(command, f"{case}-whole", f"{case}-parts", case)
        command.must("train", "deck.toml", f"run.folder={case}-half", "precision.compute=fp16")


def check_metrics(command):
    """Of all samples and of those held out, against numpy's, on 1 and 3 ranks."""
    def expect(case, metrics, of):
        model, data, _ = CASES[case]
        write_deck(command, case)
        command.must("train", "deck.toml", f"run.folder=measured-{case}", "data.validation=0.25")
        command.must("predict", f"measured-{case}", f"{data}.h5", "out.h5")
        with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / f"{data}.h5") as file:
            outputs, answers = out["outputs"][:].astype("f8"), file["labels" if data == "classes" else "targets"][:]
        for split, part in (("test", slice(None)), ("train", slice(0, 180)), ("validation", slice(180, None))):
            for ranks in (1, 3) if split == "validation" else (1,):
                said = command.must("eval", f"measured-{case}", "--split", split, "--metrics", metrics, ranks=ranks).stdout
                of(said, outputs[part], answers[part])

    def of_classes(said, p, labels):
        counts = numpy.zeros((3, 3), int)
        numpy.add.at(counts, (labels, p.argmax(1)), 1)
        table = [[int(word) for word in line.split()[1:]] for line in said.splitlines()[-3:]]
        assert table == counts.tolist(), f"{said}\n{counts}"
        assert f"top-1 accuracy {(p.argmax(1) == labels).mean():.4f}, top-5 accuracy 1.0000 ({len(labels)} samples)" in said, said

    def of_targets(said, p, t):
        r2 = 1 - ((t - p) ** 2).sum(0) / ((t - t.mean(0)) ** 2).sum(0)
        found = [float(number) for number in re.findall(r"R2 (?:of target \d: )?([-\d.]+)", said)]
        assert numpy.allclose(found, [r2.mean(), *r2], atol=1e-5), f"{said}\n{r2}"

    expect("smoothed", "top5,confusion", of_classes)
    expect("mse", "r2", of_targets)
    for case, metric in (("mse", "top5"), ("smoothed", "r2")):
        command.must_refuse(["eval", f"measured-{case}", "--metrics", metric], "not-measured", f"has no {metric}: ", "model.loss")


def check_r2_that_is_none(command):
    """Constant targets are left out, with a word; a network that predicts inf has none to be chosen by."""
    inputs, targets = read_data(command.folder / "numbers.h5", "inputs", "targets")
    for name, constant in (("two-vary", [1]), ("none-varies", [0, 1, 2])):
        targets[:, constant] = 2
        write_data(command.folder / f"{name}.h5", inputs=inputs, targets=targets)
    write_deck(command, "mse")
    train = ("train", "deck.toml", "run.metrics=['r2']", "checkpoint.keep_last=1")
    said = command.must(*train, "run.folder=two-vary", "data.test=two-vary.h5", "checkpoint.keep_best=test.r2", ranks=2).stdout
    assert re.search(r"test loss [\d.e+-]+, R2 [-\d.]+ of the 2 of 3 targets that vary \(240 samples\)", said), said
    said = command.must(*train, "run.folder=none-varies", "data.test=none-varies.h5").stdout
    assert re.search(r"test loss [\d.e+-]+, R2 undefined \(no target varies\) \(240 samples\)", said), said
    assert [row["r2"] for row in command.rows("none-varies/evaluations.csv") if row["part"] == "test"] == ["nan"]
    judge = ("eval", "two-vary", "--metrics", "r2", "--data")
    said = command.must(*judge, "two-vary.h5", ranks=2).stdout
    assert re.search(r"\nR2 [-\d.]+, the mean of 2 of 3 targets; constant ones, which have none, are left out\n", said), said
    assert re.search(r"\nR2 of target 0: [-\d.]+\nR2 of target 1: undefined, it is constant\nR2 of target 2: [-\d.]+\n", said), said
    said = command.must(*judge, "none-varies.h5").stdout
    assert "\nR2 undefined (no target varies)\n" in said and said.count("undefined, it is constant") == 3, said
    for ranks in (1, 2):
        command.must_refuse([*train, "run.folder=refused", "data.test=none-varies.h5", "checkpoint.keep_best=test.r2"],
                            "not-measured", "command line: checkpoint.keep_best = \"test.r2\"", "240 test samples of none-varies.h5",
                            "\"test.loss\"", ranks=ranks)

    sound = last_checkpoint(command, "two-vary")
    louder = read_data(sound, "model/head/weight")
    louder[0] = 3e38
    replace_signed(sound, command.folder / "loud.h5", {"model/head/weight": louder})
    for ranks in (1, 2):
        said = command.must("eval", "loud.h5", "--metrics", "r2", "--data", "two-vary.h5", ranks=ranks).stdout
        assert re.search(r"\nR2 nan \(\d+ predictions are inf or NaN\)\nR2 of target 0: nan\n", said), said


def check_metrics_of_runs(command):
    """run.metrics: in evaluations.csv, confusion.json and for keep_best what `eval` says of the weights, on any ranks."""
    def rows_of(folder):
        return [row for row in command.rows(f"{folder}/evaluations.csv") if row["part"] != "train"]

    write_deck(command, "smoothed")
    asked = ("data.validation=0.25", "run.metrics=['confusion', 'top5']", "data.micro_batch=6", "run.reproducible=true", "run.evaluate_every=10")
    for ranks in (1, 2, 4):
        folder = f"told-{ranks}"
        command.must("train", "deck.toml", f"run.folder={folder}", "checkpoint.keep_best=validation.top5", *asked, ranks=ranks)
        confusion = command.document(f"{folder}/confusion.json")
        said = command.must("eval", folder, "--split", "validation", "--metrics", "confusion").stdout
        table = [[int(word) for word in line.split()[1:]] for line in said.splitlines()[-3:]]
        assert confusion["parts"]["validation"] == table and confusion["classes"] == ["0", "1", "2"], confusion
        assert confusion["step"] == int(rows_of(folder)[-1]["step"])
        for row in rows_of(folder):
            assert row["top5"] == "1" and row["r2"] == "" and float(row["accuracy"]) < 1, row
        if ranks > 1:
            same = [{key: value for key, value in row.items() if key != "elapsed_s"} for row in rows_of(folder)]
            assert same == [{key: value for key, value in row.items() if key != "elapsed_s"} for row in rows_of("told-1")], folder
            assert confusion == command.document("told-1/confusion.json")
    command.must("train", "deck.toml", "run.folder=told-parts", "--stop-after", 20, *asked, code=85)
    command.must("train", "deck.toml", "run.folder=told-parts", "--restart", "latest", *asked, ranks=2)
    assert [row["top5"] for row in rows_of("told-parts")] == [row["top5"] for row in rows_of("told-1")]
    write_deck(command, "mse")
    command.must("train", "deck.toml", "run.folder=told-r2", "data.validation=0.25", "run.metrics=['r2']", "checkpoint.keep_best=validation.r2",
                 "run.evaluate_every=10", ranks=3)
    held_out = [row for row in rows_of("told-r2") if row["part"] == "validation"]
    last = held_out[-1]
    said = command.must("eval", "told-r2", "--split", "validation", "--metrics", "r2").stdout
    assert abs(float(re.search(r"R2 ([-\d.]+)", said)[1]) - float(last["r2"])) < 1e-5 and last["top5"] == "", (said, last)
    best = max(held_out, key=lambda row: float(row["r2"]))
    kept = command.document("told-r2/summary.json")["best"]
    assert kept["metric"] == "validation.r2" and kept["step"] == int(best["step"]), (kept, best)
    command.must_refuse(["train", "deck.toml", "run.folder=refused", "run.metrics=['top5']", "data.validation=0.25"], "not-measured",
                        "\"top5\" of 'run.metrics'", "model.loss = \"cross_entropy\"", "'model.loss' is \"mse\"")
    command.must_refuse(["train", "deck.toml", "run.folder=refused", "checkpoint.keep_best=validation.r2", "data.validation=0.25"],
                        "not-measured", '"validation.r2"', "run.metrics", "train.loss, validation.loss")


def check_refused(command):
    def expect(error_id, part, *arguments):
        command.must_refuse(["train", "deck.toml", "run.folder=refused", *arguments], error_id, part)

    write_deck(command, "huber")
    only = "has an effect only with model.loss = "
    expect("key-without-effect", f"deck.toml:13: 'model.huber_delta' {only}\"huber\", and model.loss is \"l1\" (command line); leave it out", "model.loss=l1")
    expect("key-without-effect", f"'model.label_smoothing' {only}\"cross_entropy\"", "model.label_smoothing=0.1")
    expect("key-without-effect", f"'model.class_weights' {only}\"cross_entropy\"", "model.class_weights=[1, 2]")
    write_deck(command, "mse")
    expect("data-mismatch", "target 0 (counted from 0) ranges from -", "model.loss=binary_cross_entropy")
    write_deck(command, "weighted")
    expect("bad-value", "model.class_weights has 2 weights, but there are 3 classes", "model.class_weights=[1, 2]")
    expect("bad-value", "'model.class_weights' must be a list of numbers above 0", "model.class_weights=[1, 2, 0]")
    command.write("deck.toml", losses_deck({}, "classes"))
    expect("data-mismatch", "classes.h5 has class labels, which model.loss = \"relative_l2\" cannot learn; set model.loss = \"cross_entropy\"",
           "model.loss=relative_l2")


run_cases(write_problems, check_values, check_ranks_and_micro_batches, check_metrics, check_r2_that_is_none, check_metrics_of_runs,
          check_refused)
