"""mylos init, and weights on grids: to PyTorch's order and back, against a convolution network in NumPy that has it."""
import csv
import pathlib
import re

import h5py
import numpy

import reference_gpt2
import safetensors_file
from small_problem import gpt_deck, prepare
from support.cases import run_cases
from support.decks import deck_text, layer
from support.run_folders import datasets, last_checkpoint, weights_of

# On a grid of 6 x 4 points and 2 channels: taps, groups and points that no other order of them has.
NET = deck_text(run=dict(name="net", steps=3), data=dict(train="grid.h5", batch=8, shape=[6, 4, 2], normalize="standard"),
                model=dict(type="chain", loss="mse"),
                layers=[layer("conv", name="first", outputs=6, kernel=[3, 1], activation="relu"),
                        layer("conv", name="grouped", outputs=6, kernel=3, groups=3, activation="relu"),
                        layer("conv", name="larger", outputs=4, kernel=2, stride=2, padding=0, transposed=True), layer("max_pool"),
                        layer("dense", name="flat", outputs=5, norm="batchnorm", activation="relu"), layer("dense", name="head")],
                precision=dict(compute="fp32"))
TARGETS = 3


def write_grids(command):
    source = numpy.random.default_rng(3)
    inputs = source.standard_normal((24, 48)) * source.uniform(0.5, 3, 48) + source.uniform(-2, 2, 48)
    targets = 5 + 2 * inputs[:, :TARGETS] + inputs[:, 7:10]
    with open(command.folder / "grid.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([f"x{i}" for i in range(48)] + [f"y{i}" for i in range(TARGETS)])
        writer.writerows(numpy.hstack([inputs, targets]).astype(numpy.float32))
    names = ",".join(f"y{i}" for i in range(TARGETS))
    command.must("prepare", "csv", "grid.csv", "--targets", names, "--out", "grid.h5")
    command.write("net.toml", NET)


def conv2d(x, weight, bias, groups=1):
    """PyTorch's: x [samples, channels, height, width], zeros beyond the edges, as many points as before."""
    outputs, inputs, height, width = weight.shape
    padded = numpy.pad(x, ((0, 0), (0, 0), (height // 2, height // 2), (width // 2, width // 2)))
    y = numpy.zeros((len(x), outputs, *x.shape[2:]))
    for output in range(outputs):
        first = output // (outputs // groups) * inputs
        for channel in range(inputs):
            for i in range(height):
                for j in range(width):
                    y[:, output] += weight[output, channel, i, j] * \
                        padded[:, first + channel, i:i + x.shape[2], j:j + x.shape[3]]
    return y + bias[None, :, None, None]


def conv_transpose2d_by_2(x, weight, bias):
    """PyTorch's ConvTranspose2d of kernel 2 and stride 2: weight [inputs, outputs, 2, 2]."""
    samples, _, height, width = x.shape
    y = numpy.zeros((samples, weight.shape[1], 2 * height, 2 * width))
    for i in range(2):
        for j in range(2):
            y[:, :, i::2, j::2] = numpy.einsum("sihw,io->sohw", x, weight[:, :, i, j])
    return y + bias[None, :, None, None]


def pytorch_outputs(tensors, x):
    """x [samples, channels, height, width], as stored -> the targets' own units."""
    t = {name: tensor.astype(float) for name, tensor in tensors.items()}
    y = (x - t["normalization.inputs.shift"]) * t["normalization.inputs.scale"]
    y = numpy.maximum(conv2d(y, t["first.weight"], t["first.bias"]), 0)
    y = numpy.maximum(conv2d(y, t["grouped.weight"], t["grouped.bias"], groups=3), 0)
    y = conv_transpose2d_by_2(y, t["larger.weight"], t["larger.bias"])
    y = y.reshape(len(y), 4, 6, 2, 4, 2).max(axis=(3, 5)).reshape(len(y), -1)
    y = y @ t["flat.weight"].T + t["flat.bias"]
    deviation = numpy.sqrt(t["flat.norm.running_variance"] + 1e-5)
    y = (y - t["flat.norm.running_mean"]) / deviation * t["flat.norm.weight"] + t["flat.norm.bias"]
    y = numpy.maximum(y, 0) @ t["head.weight"].T + t["head.bias"]
    return y / t["normalization.targets.scale"] + t["normalization.targets.shift"]


def check_pytorch_order(command):
    """mylos convert writes what a network in PyTorch's order reads: weights and statistics give mylos predict's outputs."""
    write_grids(command)
    command.must("train", "net.toml")
    said = command.must("convert", "runs/net", "net.safetensors").stdout
    checkpoint = last_checkpoint(command, "runs/net")
    own = weights_of(checkpoint)
    assert f"net.safetensors: {len(own)} tensors" in said and "the normalisation in fp64" in said, said
    metadata, tensors = safetensors_file.read(command.folder / "net.safetensors")
    assert metadata["format"] == "pt" and metadata["mylos.layout"] == "channels_first" and metadata["mylos.step"] == "3"
    assert "[model]" in metadata["mylos.deck"] and "inputs: (x - " in metadata["mylos.normalization"], metadata
    shapes = {"first.weight": (6, 2, 3, 1), "grouped.weight": (6, 2, 3, 3), "larger.weight": (6, 4, 2, 2),
              "flat.weight": (5, 96), "normalization.inputs.shift": (2, 6, 4), "normalization.targets.scale": (TARGETS,)}
    assert {name: tensors[name].shape for name in shapes} == shapes
    assert tensors["normalization.inputs.scale"].dtype == numpy.float64
    stored = datasets(checkpoint)["/data/normalization/inputs/shift"].reshape(6, 4, 2)
    assert numpy.moveaxis(stored, -1, 0).tobytes() == tensors["normalization.inputs.shift"].tobytes()

    command.must("predict", "runs/net", "grid.h5", "out.h5")
    with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / "grid.h5") as grid:
        ours, x = out["outputs"][()], grid["inputs"][()].astype(float)
    theirs = pytorch_outputs(tensors, numpy.moveaxis(x.reshape(-1, 6, 4, 2), -1, 1))
    assert numpy.abs(ours - theirs).max() < 1e-4 * numpy.abs(theirs).max(), numpy.abs(ours - theirs).max()

    for ranks, keys in ((1, []), (3, ["optimizer.shard=state"])):  # and back, to the last bit
        said = command.must("init", "net.toml", "back.h5", "--from", "net.safetensors", *keys, ranks=ranks).stdout
        assert "not used of the file" not in said, said
        back = weights_of(command.folder / "back.h5")
        assert back.keys() == own.keys() and all(back[name].tobytes() == array.tobytes() for name, array in own.items())


def check_documented_code(command, repository):
    """The permutations of docs/how-to/initial.md make our order of PyTorch's."""
    page = pathlib.Path(repository, "docs/how-to/initial.md").read_text(encoding="utf-8")
    code, = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    documented = {}
    exec(code, documented)
    _, tensors = safetensors_file.read(command.folder / "net.safetensors")
    state = {name: tensor for name, tensor in tensors.items() if not name.startswith("normalization.")}
    foreign = dict(state)
    for name in ("first.weight", "grouped.weight", "larger.weight"):
        state[name] = documented["convolution"](state[name])
    state["flat.weight"] = documented["dense_on_grid"](state["flat.weight"], channels=4)
    for name, file in ((state, "ours"), (foreign, "foreign")):
        reference_gpt2.write_safetensors(command.folder / f"{file}.safetensors", name)
    said = command.must("init", "net.toml", "ours.h5", "--from", "ours.safetensors").stdout
    assert "flat/weight reads a grid: its columns are taken by point, then channel" in said, said
    own, ours = weights_of(last_checkpoint(command, "runs/net")), weights_of(command.folder / "ours.h5")
    assert all(ours[name].tobytes() == array.tobytes() for name, array in own.items())
    said = command.must("init", "net.toml", "foreign.h5", "--from", "foreign.safetensors", code=2).stderr
    assert "tensor 'first.weight' is [6, 2, 3, 1], but first/weight of this model is [6, 6]" in said, said


def first_steps(command, folder, *keys, ranks=1):
    """Losses and all weights of a run's first two steps."""
    command.must("train", "deck.toml", f"run.folder={folder}", "run.epochs=1", *keys, "--stop-after", 2, ranks=ranks, code=85)
    losses = [row["loss"] for row in command.rows(f"{folder}/history.csv")]
    return losses, {name: array.tobytes() for name, array in weights_of(last_checkpoint(command, folder)).items()}


def check_step_0(command):
    """What init writes is what a run begins with: one that begins with the file makes the same steps, bit for bit."""
    prepare(command)
    written = set()
    for ranks, keys in ((1, []), (2, ["optimizer.shard=gradients"]), (3, []), (1, ["precision.masters=none"]),
                        (2, ["precision.masters=none", "optimizer.shard=state"])):
        name = f"start{ranks}{len(keys)}.h5"
        said = command.must("init", "deck.toml", name, *keys, ranks=ranks).stdout
        assert said.splitlines()[-1].startswith(f"{name}: checkpoint of step 0, ") and said.count(name) == 1, said
        arrays = weights_of(command.folder / name)
        masters = "precision.masters=none" in keys
        written.add((masters, tuple(sorted((path, array.tobytes()) for path, array in arrays.items()))))
        drawn = first_steps(command, f"drawn{ranks}{len(keys)}", *keys, ranks=ranks)
        taken = first_steps(command, f"taken{ranks}{len(keys)}", f"run.initial={name}", *keys, ranks=ranks)
        assert drawn == taken and len(drawn[0]) == 2, (ranks, keys)
    assert len(written) == 2, "the bits do not depend on ranks and shards"
    assert not list(command.folder.glob("runs/small*")), "no run's folder is touched"
    command.must("init", "deck.toml", "seed.h5", "run.seed=7")
    other = weights_of(command.folder / "seed.h5")
    assert any(other[path].tobytes() != array.tobytes() for path, array in weights_of(command.folder / "start10.h5").items())


def check_use(command):
    """The file is for eval, predict, info, convert and sample, and no run restarts from it."""
    assert "loss " in command.must("eval", "start10.h5", ranks=2).stdout
    command.must("predict", "start10.h5", "test.h5", "untrained.h5")
    assert "hidden1/weight" in command.must("info", "start10.h5").stdout
    command.must("convert", "start10.h5", "start.safetensors")
    command.must_refuse(["train", "deck.toml", "run.folder=none", "--restart", "start10.h5"], "weights-only", "mylos: start10.h5: ")
    command.write("gpt.toml", gpt_deck(run=dict(steps=1), data=dict(train=None), model=dict(vocabulary=11)))
    command.must("init", "gpt.toml", "gpt.h5", ranks=2)
    assert re.match(r"3 4( \d+){5}", command.must("sample", "gpt.h5", "--prompt", "3 4", "--tokens", 5).stdout)


def check_other_networks(command):
    """A network that computes otherwise is refused with the key, by every start, before anything is written."""
    command.must("init", "deck.toml", "silu.h5", "model.activation=silu", "data.normalize=none")
    command.must("convert", "silu.h5", "silu.safetensors")
    expected = 'model.activation is "relu" here, and "silu" there; data.normalize is "standard" here, and "none" there'
    for file in ("silu.h5", "silu.safetensors"):
        for arguments, ranks in ((["train", "deck.toml"], 2), (["train", "deck.toml", "--check"], 1),
                                 (["init", "deck.toml", "other.h5"], 1)):
            command.must_refuse([*arguments, f"run.initial={file}", "run.folder=other"], "model-mismatch", f"{file}: ", expected,
                                ranks=ranks)
    ignore = 'initial.ignore=["model.activation", "data.norm*"]'
    said = command.must("train", "deck.toml", "run.initial=silu.h5", "run.folder=other", ignore, "run.epochs=1", ranks=2).stdout
    assert 'initial.ignore: model.activation is "relu" here, and "silu" in the file' in said, said
    command.must_refuse(["train", "deck.toml", "run.initial=start10.h5", "run.folder=none", 'initial.ignore="model.norm"'],
                        "key-without-effect", "command line: initial.ignore: 'model.norm'", "start10.h5")
    command.must_refuse(["init", "net.toml", "other.h5", "--from", "net.safetensors", 'data.normalize="minmax"'],
                        "model-mismatch", 'data.normalize is "minmax" here, and "standard" there')
    assert not (command.folder / "other.h5").exists() and not (command.folder / "none").exists()


def check_mistakes(command):
    def refuse(error_id, part, *arguments, **options):
        command.must_refuse(["init", *arguments], error_id, part, **options)

    command.write("start.safetensors.txt", "notes")
    before = sorted(command.folder.glob("*"))
    refuse("missing-argument", "mylos init: ", "deck.toml")
    refuse("bad-argument", "x.safetensors: ", "deck.toml", "x.safetensors")
    refuse("bad-argument", "x.ONNX: ", "deck.toml", "x.ONNX")
    trained = last_checkpoint(command, "taken10")
    refuse("already-exists", "checkpoint of step 2", "deck.toml", trained)
    refuse("bad-argument", "start.safetensors.txt: ", "deck.toml", "start.safetensors.txt")
    refuse("not-a-file", "runs: ", "deck.toml", "runs")
    refuse("arguments-conflict", "start10.h5", "deck.toml", "start10.h5", "--from", "start10.h5", ranks=2)
    refuse("arguments-conflict", "train.h5", "deck.toml", "train.h5")
    refuse("arguments-conflict", "deck.toml", "deck.toml", "deck.toml")
    refuse("no-such-file", "none.toml: ", "none.toml", "x.h5")
    refuse("no-such-file", "none.h5: ", "deck.toml", "x.h5", "--from", "none.h5")
    refuse("unknown-key", "'optimizer.lrr'", "deck.toml", "x.h5", "optimizer.lrr=3")
    refuse("model-mismatch", "[33, 8]", "deck.toml", "x.h5", "--from", "start10.h5", "model.hidden=[33,16]")
    assert sorted(command.folder.glob("*")) == before, "something was written"
    command.write("file", "")
    refuse("cannot-write", "file", "deck.toml", "file/x.h5", code=1)
    assert "--from" in command.must("init", "--help").stdout


run_cases(check_pytorch_order, check_documented_code, check_step_0, check_use, check_other_networks, check_mistakes,
          arguments=["repository"])
