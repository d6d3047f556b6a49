"""Networks whose output is a vector on divided samples ([mesh], --space): losses, accuracies, measures, weights and predictions are those
of whole samples, on any division and mix with the batch, in all types, with recomputation and shards, and across restarts.

usage: test_mesh_vectors.py MYLOS
"""
import re

import h5py
import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint, losses_of, weights_of

CLASSES, SIDE = 6, 16
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")
ALL, GROUPS, TWO = ("2,2", 4), ("1,2", 4), ("2,1", 2)  # two groups of two ranks share the batch


def fields(count, seed):
    source = numpy.random.default_rng(seed)
    values = source.normal(size=(count, SIDE, SIDE, 2)).astype("f4")
    labels = source.integers(CLASSES, size=count)
    for sample, label in enumerate(labels):  # a bright corner, or a row
        values[sample, 8 * (label // 2 % 2):8 * (label // 2 % 2) + 8, 4 * (label % 2):4 * (label % 2) + 5, label // 4] += 2
    return values.reshape(count, -1), labels


def write_samples(folder):
    for name, count, seed in (("train", 40, 1), ("test", 37, 2)):
        inputs, labels = fields(count, seed)
        shape = f"{SIDE} {SIDE} 2"
        write_data(folder / f"classes-{name}.h5", shape=shape, classes=CLASSES, inputs=inputs, labels=labels.astype("i4"))
        grid = inputs.reshape(count, SIDE, SIDE, 2)
        targets = numpy.stack([grid[:, :8].mean((1, 2, 3)), 3 + 5 * grid[:, :, 8:, 0].std((1, 2)), labels], 1)
        write_data(folder / f"vectors-{name}.h5", shape=shape, inputs=inputs, targets=targets.astype("f4"))
        profiles = grid.mean(2).reshape(count, -1).repeat(8, 1)[:, :SIDE * SIDE]  # as many targets as points
        write_data(folder / f"profiles-{name}.h5", shape=shape, inputs=inputs, targets=profiles + numpy.arange(SIDE * SIDE, dtype="f4"))


def deck(files, *, layers=(), **sections):
    keys = dict(run=dict(name="vectors", steps=6, log_every=1, evaluate_every=3, seed=5), precision=dict(compute="fp32"),
                data=dict(train=f"{files}-train.h5", test=f"{files}-test.h5", batch=8, micro_batch=4, normalize="standard"),
                optimizer=dict(lr=3e-3, clip_norm=1.0), checkpoint=dict(every=3, keep_last=0))
    for name, values in sections.items():
        keys[name] = keys.get(name, {}) | values
    return deck_text(layers=layers, **keys)


CNN = dict(model=dict(type="cnn", channels=[4, 6], hidden=[12], loss="cross_entropy", norm="layernorm"), run=dict(metrics=["top5", "confusion"]))
RESNET = dict(model=dict(type="resnet", channels=[6, 8], blocks=1, loss="mse"), run=dict(metrics=["r2"]))
CHAIN = dict(model=dict(type="chain", loss="relative_l2"), run=dict(metrics=["r2", "relative_l2"]),
             layers=[layer("conv", outputs=4, kernel=3, activation="gelu"), layer("global_pool"),
                     layer("dense", outputs=8, activation="tanh"), layer("dense")])
NETWORKS = dict(cnn=("classes", CNN, (TWO, ALL, GROUPS), GROUPS), resnet=("vectors", RESNET, (ALL,), TWO),
                chain=("profiles", CHAIN, (GROUPS, TWO), ALL))  # trained, and predicted


def agree(command, whole, split, tolerance=1e-4):
    """Losses of all steps, all numbers of evaluations, and the last weights."""
    numpy.testing.assert_allclose(losses_of(command, split), losses_of(command, whole), rtol=tolerance, err_msg=split)
    evaluations = [[[float(value or 0) for name, value in row.items() if name not in ("part", "elapsed_s")]
                    for row in command.rows(f"{folder}/evaluations.csv")] for folder in (split, whole)]
    numpy.testing.assert_allclose(*evaluations, rtol=tolerance, err_msg=split)
    a, b = (weights_of(last_checkpoint(command, folder)) for folder in (whole, split))
    assert a.keys() == b.keys()
    for name in a:
        assert numpy.abs(a[name] - b[name]).max() <= tolerance * (numpy.abs(a[name]).max() + 1), f"{split}: {name}"


def space_of(division):
    return f"mesh.space=[{division}]"


def check_training(command):
    write_samples(command.folder)
    for name, (data, sections, divisions, _) in NETWORKS.items():
        command.write(f"{name}.toml", deck(data, **sections))
        command.must("train", f"{name}.toml", f"run.folder={name}")
        for division, ranks in divisions:
            split = f"{name}-{division}-{ranks}"
            said = command.must("train", f"{name}.toml", f"run.folder={split}", space_of(division), ranks=ranks).stdout
            agree(command, name, split)
            assert "no pictures" not in said, said
    assert command.document("cnn/confusion.json") == command.document("cnn-2,2-4/confusion.json")


def check_types_and_memory(command):
    for name, compute, tolerance in (("cnn", "fp16", 2e-2), ("resnet", "bf16", 6e-2)):
        whole, keys = f"{name}-{compute}", [f"{name}.toml", f"precision.compute={compute}"]
        command.must("train", *keys, f"run.folder={whole}")
        command.must("train", *keys, f"run.folder={whole}-split", space_of("2,1"), ranks=4)
        numpy.testing.assert_allclose(losses_of(command, f"{whole}-split"), losses_of(command, whole), rtol=tolerance, err_msg=whole)
        more = ["memory.recompute=all", "optimizer.shard=state"]
        command.must("train", *keys, f"run.folder={whole}-again", space_of("2,1"), *more, ranks=4)
        compare_runs(command, f"{whole}-split", f"{whole}-again")


def check_restarts(command):
    """From a division to another one and to whole samples; with the bits of a run that went on where it stays."""
    start = "cnn-2,2-4/checkpoints/step-0000000003.h5"
    for folder, ranks, *keys in (("same", 4, space_of("2,2")), ("other", 2, space_of("1,2")), ("whole", 1)):
        command.must("train", "cnn.toml", f"run.folder=resumed-{folder}", *keys, "--restart", start, ranks=ranks)
        a, b = (weights_of(last_checkpoint(command, each)) for each in ("cnn-2,2-4", f"resumed-{folder}"))
        for name in a:
            numpy.testing.assert_allclose(a[name], b[name], atol=1e-4, err_msg=f"{folder} {name}")
    compare_runs(command, "cnn-2,2-4", "resumed-same")


def check_the_same_bits(command):
    """Where every rank holds one of the boxes of mesh.sums: another schedule, shards, and a restart."""
    command.write("bits.toml", deck("classes", **CNN | dict(kernels=dict(gemm="tiles"), run=dict(reproducible=True))))
    keys = ["bits.toml", "mesh.sums=[2, 1]", space_of("2,1")]
    command.must("train", *keys, "run.folder=bits", ranks=4)
    for folder, *more in (("shards", "optimizer.shard=gradients", "memory.recompute=all"),
                          ("resumed", "--restart", "bits/checkpoints/step-0000000003.h5")):
        command.must("train", *keys, f"run.folder=bits-{folder}", *more, ranks=4)
        compare_runs(command, "bits", f"bits-{folder}")


def check_predictions(command):
    """Each row is written once, and evaluations count each sample once."""
    for name, (data, _, _, (division, ranks)) in NETWORKS.items():
        command.must("predict", name, f"{data}-test.h5", f"{name}.h5")
        evaluate = ["eval", name, "--data", f"{data}-test.h5", "--metrics",
                    *(["top5,confusion"] if name == "cnn" else ["r2", "--variables"])]
        whole = command.must(*evaluate).stdout
        command.must("predict", name, f"{data}-test.h5", "split.h5", "--space", division, ranks=ranks)
        with h5py.File(command.folder / f"{name}.h5") as a, h5py.File(command.folder / "split.h5") as b:
            assert a.keys() == b.keys() and a["outputs"].shape == b["outputs"].shape and len(a["outputs"]) == 37
            numpy.testing.assert_allclose(a["outputs"][()], b["outputs"][()], rtol=1e-4, atol=1e-4, err_msg=f"{name} {division}")
        said = command.must(*evaluate, "--space", division, ranks=ranks).stdout
        assert "(37 samples)" in said and NUMBER.sub("#", said) == NUMBER.sub("#", whole), (whole, said)
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (said, whole)]
        numpy.testing.assert_allclose(*numbers, rtol=1e-4, atol=1e-5, err_msg=f"{name} {division}")
    command.must("predict", "cnn", "classes-test.h5", "rows.csv", "--space", "2,2", ranks=4)
    command.must("predict", "cnn", "classes-test.h5", "whole.csv")
    assert len(command.text("rows.csv").splitlines()) == len(command.text("whole.csv").splitlines())


def check_refusals(command):
    def refuse(error, *parts, ranks=2, space="2,1", **sections):
        command.write("wrong.toml", deck("classes", **sections))
        command.must_refuse(["train", "wrong.toml", space_of(space)], error, "mesh.space", *parts, ranks=ranks)

    refuse("key-without-effect", "mlp", model=dict(type="mlp", hidden=[4], loss="cross_entropy"))
    batch_norm = [layer("conv", outputs=4, kernel=3), layer("dense", outputs=6, norm="batchnorm"), layer("dense")]
    refuse("keys-conflict", "batchnorm", model=dict(type="chain", loss="cross_entropy"), layers=batch_norm)


run_cases(check_training, check_types_and_memory, check_restarts, check_the_same_bits, check_predictions, check_refusals)
