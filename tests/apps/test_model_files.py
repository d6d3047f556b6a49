"""Model files that cannot be written or read: where the state of a run is needed, a disk is full, bytes are damaged, or a
stranger wrote them."""
import random
import shutil

import h5py
import numpy

from model_files import require_model
from small_problem import DECK, prepare
from support import checkpoint_block
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.data_files import read_data
from support.refusal import ids_of, require_refusal
from support.run_folders import last_checkpoint


def train_and_export(command):
    prepare(command, DECK)
    for kind in ("fp32", "bf16"):
        command.must("train", "deck.toml", f"run.folder={kind}", f"precision.compute={kind}")
        command.must("export", kind, f"{kind}.h5")


def check_where_a_run_is_needed(command):
    model = "bf16.h5"
    checkpoint = last_checkpoint(command, "bf16")
    new = ["train", "deck.toml", "run.folder=new"]
    for ranks in (1, 2):
        command.must_refuse([*new, "--restart", model], "weights-only", model, "mylos export", ranks=ranks)
    command.must_refuse(["convert", model, "x.safetensors"], "weights-only", model)
    command.must_refuse(["check-precision", model], "weights-only", model)
    command.must_refuse(["export", model, "x.h5"], "weights-only", model)
    command.must_refuse(["export", "bf16", "x.h5"], "wrong-rank-count", ranks=2)
    command.must_refuse(["export", "bf16", "x.safetensors"], "bad-argument", "x.safetensors", "mylos convert")
    deck = (command.folder / "deck.toml").read_bytes()
    command.must_refuse(["export", "bf16", "deck.toml"], "bad-argument", "deck.toml", "deck.h5")
    assert (command.folder / "deck.toml").read_bytes() == deck
    command.must_refuse(["export", "bf16", "."], "not-a-file")
    command.must_refuse(["export", "bf16", checkpoint], "arguments-conflict", checkpoint.name)
    command.must_refuse(["export", "bf16", last_checkpoint(command, "fp32")], "already-exists", "checkpoint")
    command.must_refuse(["export", "bf16", "train.h5"], "already-exists", "train.h5")
    command.must_refuse(["export", "train.h5", "x.h5"], "wrong-format", "train.h5")
    command.must_refuse(["export", "nowhere", "x.h5"], "no-such-file", "nowhere")
    assert not (command.folder / "x.h5").exists()
    # In the folder of a run it is passed over like a damaged checkpoint.
    shutil.copytree(command.folder / "bf16", command.folder / "mixed")
    shutil.copy(command.folder / model, command.folder / "mixed/checkpoints/step-0000000099.h5")
    said = command.must("eval", "mixed")
    assert f"{checkpoint.name} at step" in said.stdout and "step-0000000099.h5: is a model file" in said.stderr, said


def check_overwriting(command):
    """A file that cannot be written leaves the old one, and nothing else."""
    model = command.folder / "fp32.h5"
    before, names = model.read_bytes(), sorted(path.name for path in command.folder.iterdir())
    limited = command.start_line(["sh", "-c", 'ulimit -f 4; exec "$0" "$@"', *command.line("export", "bf16", model)])
    out, err = limited.communicate(timeout=300)
    limited.stdout, limited.stderr = out, err
    require_refusal(limited, "cannot-write", "fp32.h5", code=1)
    assert model.read_bytes() == before and sorted(path.name for path in command.folder.iterdir()) == names
    command.must("export", "bf16", model)
    first = model.read_bytes()
    assert first != before
    command.must("export", "bf16", model)
    require_model(model, last_checkpoint(command, "bf16"), "bf16")


def judges(command, path):
    """The ids with which each reader of a model file refuses it; "" if it takes it."""
    found = []
    for arguments in (["info", path, "--verify"], ["info", path], ["predict", path, "test.h5", "outputs.h5"]):
        result = command.run(*arguments)
        assert result.returncode == (2 if ids_of(result.stderr) else 0), f"{arguments}: {result}"
        found.append((ids_of(result.stderr) or [""])[0])
    return found


def check_damage(command):
    whole = (command.folder / "bf16.h5").read_bytes()
    source = random.Random(11)
    path = command.folder / "damaged.h5"
    damages = [("truncated", whole[:length]) for length in (0, 3000, len(whole) - 1)]
    damages += [("wrong-format", b"no model" * 400), ("wrong-format", (command.folder / "test.h5").read_bytes()),
                ("unknown-version", whole.replace(b"mylos-model 1", b"mylos-model 2", 1)),
                ("unknown-version", checkpoint_block.with_right_block(whole, "mylos-model 2"))]
    for _ in range(8):
        changed = bytearray(whole)
        bit = source.randrange(8 * 512, 8 * len(whole))
        changed[bit // 8] ^= 1 << bit % 8
        damages.append(("damaged", bytes(changed)))
    for expected, contents in damages:
        path.write_bytes(contents)
        found = judges(command, path.name)
        assert found == [expected] * 3, (expected, found, len(contents))


def check_hostile(command):
    """Right digests, wrong contents."""
    path = command.folder / "hostile.h5"

    def change(datasets):
        replace_signed(command.folder / "bf16.h5", path, datasets, checkpoint_block.MODEL)
        return judges(command, path.name)[2]

    assert change({}) == ""
    for datasets, expected in (({"/model/head/weight": numpy.zeros((3, 17), "f4")}, "model-mismatch"),
                               ({"/model/head/weight": numpy.zeros((3, 16), "f2")}, "model-mismatch"),  # of another 16 bits
                               ({"/model/head/weight": numpy.zeros((3, 16), "u2")}, "model-mismatch"),
                               ({"/model/head/weight": numpy.zeros((3, 16), "f8")}, "model-mismatch"),
                               ({"/data/normalization/inputs/shift": numpy.zeros(7)}, "restart-mismatch"),
                               ({"/data/normalization/inputs/shift": numpy.zeros(8, "f4")}, "restart-mismatch"),
                               ({"/deck": numpy.bytes_("[run]\nname = 3\n")}, "bad-value")):
        found = change(datasets)
        assert found == expected, (datasets.keys(), found)
    assert change({"/model/head/weight": numpy.zeros((3, 16), "f4")}) == ""  # rounded once
    contents = (command.folder / "bf16.h5").read_bytes()
    path.write_bytes(checkpoint_block.with_right_block(contents))  # a model file that says it is a checkpoint
    assert judges(command, path.name) == ["damaged", "wrong-format", "wrong-format"]
    checkpoint = last_checkpoint(command, "bf16").read_bytes()
    path.write_bytes(checkpoint_block.with_right_block(checkpoint, checkpoint_block.MODEL))
    assert judges(command, path.name) == ["damaged", "wrong-format", "wrong-format"]
    with h5py.File(path, "r+") as file:
        file.attrs["format"], file.attrs["version"] = numpy.bytes_("mylos-model"), 9
    path.write_bytes(checkpoint_block.with_right_block(path.read_bytes(), checkpoint_block.MODEL))
    assert judges(command, path.name)[1:] == ["unknown-version"] * 2


def check_large_weights(command):
    """fp16 ends at 65504: the export says which weight is larger, and writes nothing."""
    checkpoint = last_checkpoint(command, "fp32")
    weights = read_data(checkpoint, "model/head/weight")
    weights[1, 2] = -70000
    replace_signed(checkpoint, command.folder / "large.h5", {"/model/head/weight": weights})
    command.must_refuse(["export", "large.h5", "x.h5", "--type", "fp16"], "not-finite", "large.h5", "/model/head/weight",
                        "-70000", "fp16")
    assert not (command.folder / "x.h5").exists() and not (command.folder / "x.h5.tmp").exists()
    weights[1, 2] = 65504
    replace_signed(checkpoint, command.folder / "large.h5", {"/model/head/weight": weights})
    command.must("export", "large.h5", "x.h5", "--type", "fp16")
    require_model(command.folder / "x.h5", command.folder / "large.h5", "fp16")


run_cases(train_and_export, check_where_a_run_is_needed, check_damage, check_hostile, check_overwriting, check_large_weights)
