"""Names of inputs and targets go with the data, the network and its predictions: columns are found by them, on any number of
ranks and after a restart; and inputs outside of the training range are counted."""
import csv
import re
import shutil

import h5py
import numpy

from support.cases import run_cases
from support.changed_checkpoints import signed_changes
from support.data_files import write_data
from support.decks import deck_text
from support.run_folders import last_checkpoint

DECK = deck_text(run=dict(name="cloud", steps=30, metrics=["r2"], evaluate_every=10),
                 data=dict(train="train.h5", test="test.h5", validation=0.2, batch=20, normalize="standard"),
                 model=dict(type="mlp", hidden=[8], loss="mse"), precision=dict(compute="fp32"), optimizer=dict(lr=1e-2),
                 checkpoint=dict(keep_last=1))
INPUTS = ["T", "p", "humidity"]
TARGETS = ["cloud_fraction", "rain"]
SAMPLES = 100


def table(seed):
    """By name: inputs of different sizes, and two targets of them."""
    source = numpy.random.default_rng(seed)
    columns = {"T": source.uniform(230, 310, SAMPLES), "p": source.uniform(2e4, 1e5, SAMPLES), "humidity": source.uniform(0, 1, SAMPLES)}
    columns["cloud_fraction"] = columns["humidity"] - (columns["T"] - 270) / 80
    columns["rain"] = 1e-3 * columns["humidity"] + 1e-8 * columns["p"]
    return columns


def write(command, name, columns, order, *arguments):
    """NAME.h5 of NAME.csv with the columns in this order."""
    numpy.savetxt(command.folder / f"{name}.csv", numpy.array([columns[column] for column in order]).T, delimiter=",",
                  header=",".join(order), comments="", fmt="%.9g")
    return command.must("prepare", "csv", f"{name}.csv", *arguments, "--out", f"{name}.h5").stdout


def predictions(command, data, ranks=1, run="runs/cloud"):
    """And what is said of them before the last line."""
    said = command.must("predict", run, f"{data}.h5", f"of-{data}.h5", ranks=ranks).stdout.splitlines()
    with h5py.File(command.folder / f"of-{data}.h5") as file:
        assert file["target_names"][()].decode().split("\n") == TARGETS
        return file["outputs"][:], said[:-1]


def check_columns_are_found_by_name(command):
    write(command, "train", table(1), INPUTS + TARGETS, "--targets", ",".join(TARGETS))
    new = table(2)
    write(command, "test", new, ["rain", "p", "T", "humidity", "cloud_fraction"], "--targets", "rain,cloud_fraction")
    command.write("deck.toml", DECK)
    notes = ["test.h5: its inputs are p, T, humidity; they are read by name in the order T, p, humidity",
             "test.h5: its targets are rain, cloud_fraction; they are read by name in the order cloud_fraction, rain"]
    said = command.must("train", "deck.toml", "--check").stdout.splitlines()
    assert [f"# {note}" in said for note in notes] == [True, True], said
    said = command.must("train", "deck.toml", "--stop-after", 15, code=85, ranks=2).stdout.splitlines()
    assert [said.count(note) for note in notes] == [1, 1], said
    command.must("train", "deck.toml", "--restart", "latest", ranks=3)
    command.must("train", "deck.toml", "run.folder=runs/undisturbed")
    write(command, "in-order", new, INPUTS + TARGETS, "--targets", ",".join(TARGETS))
    command.must("train", "deck.toml", "run.folder=runs/in-order", "data.test=in-order.h5")
    rows = {run: [line.rsplit(",", 1)[0] for line in command.text(f"runs/{run}/evaluations.csv").splitlines()]
            for run in ("undisturbed", "in-order")}
    assert rows["undisturbed"] == rows["in-order"], "the same test data in another order"

    write(command, "right", new, INPUTS)
    write(command, "swapped", new, ["p", "humidity", "T"])
    expected, said = predictions(command, "right")
    assert said == [] or said[0].startswith("right.h5: ") and len(said) == 1, said
    for ranks in (1, 3):
        found, said = predictions(command, "swapped", ranks)
        assert numpy.allclose(found, expected, rtol=1e-6), ranks
        assert said[0] == "swapped.h5: its inputs are p, humidity, T; they are read by name in the order T, p, humidity", said


def check_names_with_commas(command):
    command.write("winds.csv", '"wind, east";"say ""up""";rain\n1;2;3\n4;5;6\n')
    command.must("prepare", "csv", "winds.csv", "--targets", '"wind, east",rain', "--out", "winds.h5")
    with h5py.File(command.folder / "winds.h5") as file:
        assert file["target_names"][()].decode().split("\n") == ["wind, east", "rain"]
        assert file["input_names"][()].decode() == 'say "up"' and file["targets"][1].tolist() == [4, 6]
    for targets, part in (('"wind, east,rain', "'wind, east,rain'"), ("rain,", "a,b,c")):
        command.must_refuse(["prepare", "csv", "winds.csv", "--targets", targets, "--out", "no.h5"], "bad-argument", "--targets: ", part)


def check_metrics_go_by_names(command):
    said = command.must("eval", "runs/cloud", "--metrics", "r2", ranks=2).stdout
    found = dict(re.findall(r"^R2 of (\w+): ([-\d.e]+)$", said, re.MULTILINE))
    assert list(found) == TARGETS, said
    kept = command.document("runs/cloud/targets.json")
    assert kept["targets"] == TARGETS and kept["step"] == 30 and list(kept["parts"]) == ["validation", "test"], kept
    assert numpy.allclose(kept["parts"]["test"], [float(number) for number in found.values()], rtol=1e-4), (kept, found)
    page = command.folder / "cloud.html"
    command.must("report", "runs/cloud", "--out", page)
    assert '"targets":["cloud_fraction","rain"]' in page.read_text(encoding="utf-8")


def check_other_names_are_refused(command):
    new = table(3)
    new["pressure"] = new["p"]
    write(command, "other", new, ["T", "pressure", "humidity"])
    for ranks in (1, 2):
        said = command.must("predict", "runs/cloud", "other.h5", "no.h5", ranks=ranks, code=2).stderr
        assert re.search(r"other\.h5: its inputs are T, pressure, humidity, and those of the training data of runs/cloud/\S+ T, p, humidity "
                         r"\(p missing, pressure not known\)", said), said
    write(command, "more", new, ["T", "pressure", "p", "humidity"])
    said = command.must("predict", "runs/cloud", "more.h5", "no.h5", code=2).stderr
    assert "more.h5: has 4 inputs per sample" in said and "it has T, pressure, p, humidity, the network T, p, humidity" in said, said
    write(command, "unlike", table(3), INPUTS + TARGETS, "--targets", "cloud_fraction")
    said = command.must("train", "deck.toml", "data.test=unlike.h5", "run.folder=no", code=2).stderr
    assert "unlike.h5" in said, said
    assert not list(command.folder.glob("no*"))


def check_files_without_names(command):
    with h5py.File(command.folder / "right.h5") as file, h5py.File(command.folder / "plain.h5", "w") as plain:
        plain["inputs"] = file["inputs"][:]
    found, said = predictions(command, "plain")
    assert numpy.array_equal(found, predictions(command, "right")[0])
    assert said[0] == "plain.h5: does not name its inputs; they are read in the order T, p, humidity", said
    for name in ("train", "test"):
        with h5py.File(command.folder / f"{name}.h5") as file, h5py.File(command.folder / f"{name}-plain.h5", "w") as plain:
            plain["inputs"], plain["targets"] = file["inputs"][:], file["targets"][:]
    command.must("train", "deck.toml", "data.train=train-plain.h5", "data.test=test-plain.h5", "run.folder=runs/plain")
    said = command.must("predict", "runs/plain", "swapped.h5", "out.h5").stdout
    assert "taken" not in said, said
    said = command.must("eval", "runs/plain", "--metrics", "r2").stdout
    assert re.findall(r"^R2 of (target \d): ", said, re.MULTILINE) == ["target 0", "target 1"], said
    with h5py.File(command.folder / "out.h5") as file:
        assert "target_names" not in file


def check_networks_of_earlier_builds(command):
    """They know neither names nor ranges, and go on as they did."""
    shutil.copytree(command.folder / "runs/cloud", command.folder / "runs/older")
    path = last_checkpoint(command, "runs/older")
    with signed_changes(path) as file:
        del file["samples"], file["input_range"]
    said = command.must("predict", "runs/older", "right.h5", "older.h5", ranks=2).stdout
    assert said == f"older.h5: outputs of {SAMPLES} samples, [{SAMPLES}, 2]\n", said
    with h5py.File(command.folder / "older.h5") as file:
        assert numpy.allclose(file["outputs"][:], predictions(command, "right")[0], rtol=1e-6) and "target_names" not in file
    command.must("train", "deck.toml", "run.folder=runs/older", "run.steps=40", "--restart", "latest", ranks=2)
    found, said = predictions(command, "right", run="runs/older")
    assert said == [], "of the range nothing is known: it is that of the run's start"
    command.must("train", "deck.toml", "run.folder=runs/cloud", "run.steps=40", "--restart", "latest", ranks=2)
    assert numpy.array_equal(found, predictions(command, "right")[0])


def check_inputs_outside_the_training_range(command):
    with h5py.File(command.folder / "train.h5") as file:
        seen = file["inputs"][: int(0.8 * SAMPLES)]  # the rest is held out
    low, high = seen.min(0), seen.max(0)
    new = numpy.tile((low + high) / 2, (10, 1)).astype("f4")
    new[3, 1], new[3, 2], new[7, 0], new[8, 0], new[9, 0] = high[1] * 1.5, -1, 500, low[0], numpy.nextafter(high[0], numpy.float32(1e9))
    for name, order in (("far", [0, 1, 2]), ("far-swapped", [2, 0, 1])):
        write_data(command.folder / f"{name}.h5", inputs=new[:, order], input_names=[INPUTS[i] for i in order],
                   targets=numpy.zeros((10, 2), "f4"))
        for ranks in (1, 2, 4):
            expected = (rf"{name}\.h5: 4 inputs in 3 of 10 samples lie outside the range of the training samples, the first in sample 3 "
                        rf"\(counted from 0\): p is ([\d.e+]+), in training ([\d.e+]+) to ([\d.e+]+)")
            for arguments in (("predict", "runs/cloud", f"{name}.h5", "out.h5"), ("eval", "runs/cloud", "--data", f"{name}.h5")):
                said = command.must(*arguments, ranks=ranks).stdout
                values = re.search(expected, said)
                assert values, said
                assert numpy.array_equal(numpy.array(values.groups(), "f4"), [new[3, 1], low[1], high[1]]), said
    said = command.must("eval", "runs/cloud", "--split", "train").stdout
    assert "outside" not in said, said


def check_predictions_as_a_table(command):
    expected, _ = predictions(command, "right")
    for ranks in (1, 3):
        said = command.must("predict", "runs/cloud", "right.h5", "table.CSV", ranks=ranks).stdout
        assert said.splitlines()[-1] == f"table.CSV: outputs of {SAMPLES} samples, [{SAMPLES}, 2]", said
        with open(command.folder / "table.CSV", newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert header == TARGETS and numpy.allclose(numpy.array(rows, "f4"), expected, rtol=1e-6)
        if ranks == 1:
            assert numpy.array_equal(numpy.array(rows, "f4"), expected)
    text = command.text("table.CSV")
    assert " " not in text and text.count("\n") == SAMPLES + 1
    command.must("predict", "runs/plain", "plain.h5", "plain.csv")
    assert command.text("plain.csv").startswith("target_0,target_1\n")
    for output, instead in (("p.tsv", "p.h5"), ("p.onnx", "p.h5"), ("p.npy", "p.h5"), ("a.b.json", "a.b.h5")):
        command.must_refuse(["predict", "runs/cloud", "right.h5", output], "bad-argument", f"{output}: ", f"name it {instead}")
    command.must_refuse(["prepare", "csv", "right.csv", "--out", "again.csv"], "bad-argument", "again.csv: ", "name it again.h5")
    assert not list(command.folder.glob("*.tmp"))


def check_statistics_of_strangers(command):
    """Statistics that nothing vouches for are compared with the samples."""
    with h5py.File(command.folder / "train.h5") as file, h5py.File(command.folder / "seven.h5", "w") as seven:
        seven["inputs"], seven["targets"] = file["inputs"][:], file["targets"][:]
        for of in "inputs", "targets":
            for name in "mean", "std", "min", "max":
                seven[f"statistics/{of}/{name}"] = numpy.full(seven[of].shape[1], 7.0)
    for ranks in (1, 2):
        said = command.must("train", "deck.toml", "data.train=seven.h5", "data.validation=0", "data.test=test-plain.h5", "run.folder=no", ranks=ranks,
                            code=2).stderr
        assert "seven.h5: /statistics/inputs/mean has 7 in column 0 (counted from 0), which `mylos prepare` did not write" in said, said
    command.must("prepare", "stamp", "seven.h5")
    command.must("train", "deck.toml", "data.train=seven.h5", "data.validation=0", "data.test=test-plain.h5", "run.folder=stamped")


run_cases(check_columns_are_found_by_name, check_names_with_commas, check_metrics_go_by_names, check_other_names_are_refused,
          check_files_without_names, check_networks_of_earlier_builds, check_inputs_outside_the_training_range,
          check_predictions_as_a_table, check_statistics_of_strangers)
