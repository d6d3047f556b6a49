"""What a run makes of its data: the parts that judge it, keys of the other kind of data, normalisation."""
import re

import h5py
import numpy

from small_problem import prepare, prepare_text
from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import deck_text
from support.run_folders import last_checkpoint

GPT = deck_text(run=dict(peak_flops=None, name="small-gpt", steps=4), data=dict(train="text.h5", batch=2),
                model=dict(type="gpt", layers=1, heads=1, width=8, context=4))


def evaluation_bytes(command, *keys):
    """What the plan sets aside for the data of evaluations."""
    plan = command.plan_json("deck.toml", *keys)
    return sum(entry["bytes"] for entry in plan["memory"] if entry["name"] == "evaluation data")


def check_both_parts_judge(command):
    """Validation and test data, each by its name, as `mylos eval` finds them."""
    for ranks in (1, 2):
        folder = f"judged-{ranks}"
        said = command.must("train", "deck.toml", "data.validation=0.2", f"run.folder={folder}", ranks=ranks).stdout
        during, summary = said.split("\n\n")[:2]
        for part, samples in (("validation", 100), ("test", 100)):
            found = re.findall(rf"^epoch [\d.]+, step (\d+): {part} (loss .*\({samples} samples\))$", during, re.M)
            assert [step for step, _ in found] == ["9", "17", "25"], said
            assert re.search(rf"^  {part} +{re.escape(found[-1][1])}$", summary, re.M), said
            again = command.must("eval", folder, "--split", part, ranks=ranks).stdout
            assert found[-1][1] in again, f"{said}\n{again}"
    both = evaluation_bytes(command, "data.validation=0.2")
    assert 0 < evaluation_bytes(command) < both, "the plan counts one reader of two"


def check_keys_of_the_other_kind_of_data(command):
    """They would have no effect: refused where they stand; a resolved deck, which has none of them, is a deck."""
    prepare_text(command, "to be or not to be " * 20)
    command.write("gpt.toml", GPT.lstrip())
    of_samples = ("model.type = \"mlp\", \"chain\", \"cnn\", \"resnet\", \"unet\", \"fno\" or \"vit\"", "model.type is \"gpt\"")
    for key in ('shuffle = "blocks"', 'shuffle = "samples"', 'last_batch = "join"'):
        name = key.split()[0]
        command.write("wrong.toml", GPT.lstrip().replace("batch = 2", f"batch = 2\n{key}"))
        command.must_refuse(["train", "wrong.toml"], "key-without-effect", f"wrong.toml:7: 'data.{name}' ", *of_samples, "(wrong.toml:9)")
        command.must_refuse(["train", "gpt.toml", f"data.{key}"], "key-without-effect", f"command line: 'data.{name}' ", *of_samples,
                            "(gpt.toml:8)")
    command.must_refuse(["train", "deck.toml", "data.window=random"], "key-without-effect", "command line: 'data.window' ",
                        "model.type = \"gpt\"", "model.type is \"mlp\" (deck.toml:13)")
    for deck in ("deck.toml", "gpt.toml"):
        command.write("again.toml", command.must("train", deck, "--check").stdout)
        command.must("train", "again.toml", "--check")
    command.must("train", "gpt.toml", "data.window=sequential")


def check_normalisation_by_the_training_samples(command):
    """Those held out have no part in it; the same bits on any number of ranks and after a restart."""
    command.must("prepare", "csv", "train.csv", "--label", "class", "--out", "shifted.h5")
    with h5py.File(command.folder / "shifted.h5", "r+") as file:
        file["inputs"][400:] += 1000
        file.pop("digests", None)
        samples = file["inputs"][:400].astype("f8")
    train = ["train", "deck.toml", "data.train=shifted.h5", "data.validation=0.2"]
    found = {}
    for ranks in (1, 2, 3):
        folder = f"shifted-{ranks}"
        command.must(*train, f"run.folder={folder}", "--stop-after", 10, ranks=ranks, code=85)
        if ranks == 3:
            command.must(*train, f"run.folder={folder}", "--restart", "latest", ranks=2)
        with h5py.File(last_checkpoint(command, folder)) as file:
            stored = file["data/normalization/inputs"]
            found[ranks] = stored["shift"][:], stored["scale"][:]
    assert all(numpy.array_equal(found[1], of_others) for of_others in found.values()), found
    assert numpy.allclose(found[1][0], samples.mean(axis=0), rtol=1e-12, atol=1e-15), found[1][0]
    assert numpy.allclose(found[1][1], 1 / samples.std(axis=0), rtol=1e-9), found[1][1]


def check_spreads_that_float_cannot_invert(command):
    """Columns of subnormal numbers, of nearly the largest, and a constant one, which is named."""
    source = numpy.random.default_rng(5)
    inputs = source.uniform(-1, 1, (200, 4)) * [1e-40, 3e38, 1, 1]
    inputs[:, 2] = 5
    write_data(command.folder / "wide.h5", inputs=inputs.astype("f4"),
               targets=(source.uniform(-1, 1, (200, 2)) * [1e-40, 3e38]).astype("f4"))
    for method in ("standard", "minmax"):
        said = command.must("train", "deck.toml", "data.train=wide.h5", "data.test=wide.h5", "model.loss=mse",
                            f"data.normalize={method}", f"run.folder=wide-{method}", ranks=2).stdout
        assert said.count("wide.h5: 1 of 4 inputs is constant in the training samples (column 2, counted from 0)") == 1, said
        loss = float(re.findall(r"test loss ([\d.e+-]+)", said)[-1])
        assert 0 < loss < 2, said
        command.must("predict", f"wide-{method}", "wide.h5", "predicted.h5")
        spread = numpy.abs(read_data(command.folder / "predicted.h5", "outputs")).max(axis=0)
        assert 1e-41 < spread[0] < 1e-39 and 1e37 < spread[1] <= 3.4e38, spread


def check_what_the_disk_cannot_hold(command):
    """One message before anything is computed, and no half file. The second: files may not be larger here."""
    folder = sorted(command.folder.iterdir())
    fields = ["prepare", "fields", "--samples", 16777216, "--size", 512, "--modes", 1, "--out", "huge.h5"]
    result = command.must(*fields, code=1)
    assert re.fullmatch(r"mylos: huge\.h5\.tmp: .* full: .* TiB \(\d+ bytes\), .* \(\d+ bytes\) .* "
                        r"in \. \[cannot-write\]\n", result.stderr), result.stderr
    csv = command.line("prepare", "csv", "train.csv", "--out", "huge.h5")
    run = command.start_line(["prlimit", "--fsize=10000", *csv])
    said = run.communicate()[1]
    assert run.returncode == 1, f"{run.returncode}: {said}"
    assert re.fullmatch(r"mylos: huge\.h5\.tmp: .* \(\d+ bytes\), .* 10000 bytes .*"
                        r"`ulimit -f` .* \[cannot-write\]\n", said), said
    assert sorted(command.folder.iterdir()) == folder, "something is left"


CHECKS = (check_both_parts_judge, check_keys_of_the_other_kind_of_data, check_normalisation_by_the_training_samples,
          check_spreads_that_float_cannot_invert, check_what_the_disk_cannot_hold)


run_cases(prepare, check_both_parts_judge, check_keys_of_the_other_kind_of_data, check_normalisation_by_the_training_samples,
          check_spreads_that_float_cannot_invert, check_what_the_disk_cannot_hold)
