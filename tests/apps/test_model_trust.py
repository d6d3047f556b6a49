"""How sure a model is, inside a program: flags and distances of inputs, and ensembles, as NumPy computes them."""
import shutil
import subprocess

import h5py
import numpy

from model_files import stored_bytes
from small_problem import DECK, prepare
from support.cases import run_cases
from support.command import environment
from support.data_files import read_data, write_data
from support.decks import deck_text

SAMPLES = 3000
RIDGE = 1e-6  # of the documentation
OUTSIDE, FAR, NOT_FINITE = 1, 2, 4
FLOW = deck_text(run=dict(name="flow", steps=6), data=dict(train="flow.h5", validation=0.1, batch=64, normalize="standard"),
                 model=dict(type="mlp", hidden=[24], loss="mse"), precision=dict(compute="bf16"))


def write_flow(path, kind, seed=3):
    """Correlated inputs of very different magnitudes; one of them constant, or the sum of others."""
    source = numpy.random.default_rng(seed)
    x = source.normal(size=(SAMPLES, 6)) @ source.normal(size=(6, 6))
    x = x * [1, 1e5, 1e-8, 1, 300, 2] + [0, 1e6, 1e-9, -4, 300, 1]
    if kind == "constant":
        x[:, 3] = 7.25
    if kind == "collinear":
        x[:, 5] = x[:, 0] - 2 * x[:, 3]
    with h5py.File(path, "w") as file:
        file["inputs"] = x.astype("f4")
        file["targets"] = numpy.stack([x[:, 0] * 3, x[:, 4]], 1).astype("f4")
        return file["inputs"][:]


def statistics_of(x):
    """By NumPy: what the documentation of the library says that the file holds."""
    x = x.astype("f8")
    deviation = x.std(axis=0, ddof=1)
    deviation[x.std(axis=0) <= numpy.finfo("f4").eps * numpy.abs(x).max(axis=0)] = 0
    kept = deviation > 0
    correlation = numpy.corrcoef(x[:, kept].T)
    try:
        ridge = 0.0 if (numpy.diag(numpy.linalg.cholesky(correlation)) ** 2).min() > RIDGE else RIDGE
    except numpy.linalg.LinAlgError:
        ridge = RIDGE
    inverse = numpy.zeros((len(kept), len(kept)))
    scale = numpy.outer(deviation[kept], deviation[kept])
    inverse[numpy.ix_(kept, kept)] = numpy.linalg.inv(correlation + ridge * numpy.eye(kept.sum())) / scale
    return x.mean(axis=0), deviation, inverse, ridge


def distances_of(x, mean, inverse):
    z = x.astype("f8") - mean
    return numpy.sqrt(numpy.einsum("ni,ij,nj->n", z, inverse, z))


def run(program, command, what, *arguments):
    line = [program, what, *map(str, arguments)]
    return subprocess.run(line, cwd=command.folder, env=environment(), capture_output=True, text=True)


def flags_of(program, command, model, x, *how):
    x.astype("f4").tofile(command.folder / "in.bin")
    result = run(program, command, "flags", model, "in.bin", "out.bin", *how)
    assert result.returncode == 0, result.stderr
    flags, distances = numpy.fromfile(command.folder / "out.bin", "f4").reshape(2, -1)
    return flags.astype("u1"), distances


def expected_flags(x, training, distances, limit):
    outside = ~((x >= training.min(axis=0)) & (x <= training.max(axis=0))).all(axis=1)
    return outside * OUTSIDE + ~(distances <= limit) * FAR + ~numpy.isfinite(x).all(axis=1) * NOT_FINITE


def require_close(found, expected, what, relative=1e-7):
    scale = numpy.abs(expected).max()
    assert numpy.allclose(found, expected, relative, relative * scale * 1e-6), (what, found, expected)


def check_statistics(program, command, kind):
    x = write_flow(command.folder / "flow.h5", kind)
    command.must("train", "flow.toml", f"run.folder={kind}")
    training = x[:SAMPLES - SAMPLES // 10]
    said = command.must("export", kind, f"{kind}.h5", "--input-statistics").stdout
    assert f"statistics of 6 inputs of {len(training)} training samples" in said, said
    assert ("constant" in said) == (kind == "constant") and ("ridge" in said) == (kind == "collinear"), said
    mean, deviation, inverse, ridge = statistics_of(training)
    with h5py.File(command.folder / f"{kind}.h5") as file:
        stored = {name: dataset[()] for name, dataset in file["inputs"].items()}
        for dataset in file["inputs"].values():
            assert "crc32" in dataset.attrs and stored_bytes(dataset)
        assert numpy.array_equal(file["input_range/min"][:], training.min(axis=0))
    assert stored["samples"] == len(training) and stored["ridge"] == ridge, stored
    require_close(stored["mean"], mean, "mean", 1e-11)
    require_close(stored["deviation"], deviation, "deviation", 1e-11)
    scale = numpy.outer(deviation, deviation)
    require_close(stored["inverse_covariance"] * scale, inverse * scale, "inverse covariance",
                  1e-4 if kind == "collinear" else 1e-9)
    of_training = distances_of(training, stored["mean"], stored["inverse_covariance"])
    require_close(stored["distances"], numpy.quantile(of_training, [0.99, 0.999, 1]), "distances")

    source = numpy.random.default_rng(5)
    others = (training[source.integers(0, len(training), 2000)].astype("f8") - mean) * source.uniform(0.2, 2, (2000, 1)) + mean
    others[:400] += source.normal(size=(400, 6)) * deviation * 0.5
    others = others.astype("f4")
    others[7, 2], others[9, 0], others[11, 5] = numpy.nan, numpy.inf, -numpy.inf
    with numpy.errstate(invalid="ignore"):
        distances = distances_of(others, mean, inverse)
    finite = numpy.isfinite(others).all(axis=1)
    distances[~finite] = numpy.inf
    for limit in (None, 2.5):
        flags, found = flags_of(program, command, f"{kind}.h5", others, *([] if limit is None else [limit]))
        expected = expected_flags(others, training, distances, limit or numpy.quantile(of_training, 0.999))
        assert numpy.array_equal(flags, expected), (kind, limit, numpy.flatnonzero(flags != expected))
        relative = 1e-4 if kind == "collinear" else 1e-6
        assert numpy.allclose(found[finite], distances[finite], relative), kind
        assert numpy.isinf(found[~finite]).all() and (flags[~finite] == 7).all()
    for bit in (OUTSIDE, FAR):
        assert 20 < (flags & bit > 0).sum() < len(flags) - 20, "the test shows nothing"
    flags, _ = flags_of(program, command, f"{kind}.h5", others, "range")
    assert numpy.array_equal(flags & OUTSIDE, expected & OUTSIDE) and not (flags & FAR).any()


def check_refusals(program, command):
    command.must("export", "plain", "without.h5")
    result = run(program, command, "flags", "without.h5", "in.bin", "out.bin")
    assert result.returncode == 2 and "[missing-dataset]" in result.stderr and "--input-statistics" in result.stderr, result.stderr
    command.must_refuse(["export", "plain", "model.onnx", "--input-statistics"], "arguments-conflict", "--input-statistics")
    write_flow(command.folder / "flow.h5", "plain", seed=4)
    command.must_refuse(["export", "plain", "x.h5", "--input-statistics"], "data-mismatch", "flow.h5")
    (command.folder / "flow.h5").unlink()
    command.must_refuse(["export", "plain", "x.h5", "--input-statistics"], "no-such-file", "flow.h5")
    assert not (command.folder / "x.h5").exists()
    contents = bytearray((command.folder / "plain.h5").read_bytes())
    with h5py.File(command.folder / "plain.h5") as file:
        at = file["inputs/inverse_covariance"].id.get_offset()
    contents[at + 17] ^= 4
    (command.folder / "damaged.h5").write_bytes(contents)
    result = run(program, command, "flags", "damaged.h5", "in.bin", "out.bin")
    assert result.returncode == 2 and "[damaged]" in result.stderr, result.stderr


def check_ensemble(program, command):
    prepare(command, DECK)
    for kind in ("regression", "classes"):
        if kind == "regression":
            x = write_flow(command.folder / "flow.h5", "plain")[:2500]
        else:
            x = read_data(command.folder / "test.h5", "inputs")
        x.tofile(command.folder / "in.bin")
        write_data(command.folder / "seen.h5", inputs=x)
        members = []
        for seed in range(4):
            folder = f"{kind}-{seed}"
            command.must("train", "flow.toml" if kind == "regression" else "deck.toml", f"run.folder={folder}", f"run.seed={seed}")
            command.must("export", folder, f"{folder}.h5")
            command.must("predict", folder, "seen.h5", "predicted.h5")
            with h5py.File(command.folder / "predicted.h5") as file:
                members.append(file["outputs"][:].astype("f8"))
        result = run(program, command, "ensemble", "in.bin", "out.bin", *(f"{kind}-{seed}.h5" for seed in range(4)))
        assert result.returncode == 0, result.stderr
        mean, deviation = numpy.fromfile(command.folder / "out.bin", "f4").reshape(2, *members[0].shape)
        members = numpy.stack(members)
        assert numpy.allclose(mean, members.mean(axis=0), 2e-7, 1e-9), kind
        assert numpy.allclose(deviation, members.std(axis=0, ddof=1), 2e-6, 1e-9), kind
        assert (deviation > 0).any(), "the test shows nothing"
    result = run(program, command, "ensemble", "in.bin", "out.bin", "classes-0.h5", "regression-0.h5")
    assert result.returncode == 2 and "[model-mismatch]" in result.stderr, result.stderr


def check_all(command, program):
    command.write("flow.toml", FLOW)
    for kind in ("plain", "constant", "collinear"):
        check_statistics(program, command, kind)
    check_ensemble(program, command)
    shutil.rmtree(command.folder / "regression-0")
    write_flow(command.folder / "flow.h5", "plain")
    check_refusals(program, command)


run_cases(check_all, arguments=["program"])
