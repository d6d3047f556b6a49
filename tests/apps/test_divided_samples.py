"""Networks on samples that the ranks share (--space): predictions, evaluations and rollouts are those of whole samples, whatever the
division and the mix with groups of ranks that share the samples; what cannot be divided is refused by name.

usage: test_divided_samples.py MYLOS
"""
import re
import shutil

import h5py
import numpy

from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text, layer

LEVELS = 12


def write_plane(path, high=16, wide=12, levels=LEVELS, seed=3):
    """Waves that travel through a periodic plane; a constant; a mask; areas."""
    source = numpy.random.default_rng(seed)
    y, x = numpy.meshgrid(numpy.arange(high) / high, numpy.arange(wide) / wide, indexing="ij")
    with h5py.File(path, "w") as file:
        for name, (a, b) in dict(u=(1, 2), v=(2, 1)).items():
            phase = 2 * numpy.pi * (a * y + b * x) + 0.4 * numpy.arange(levels)[:, None, None]
            file[name] = (numpy.sin(phase) + 0.1 * source.normal(size=(levels, high, wide))).astype("f4")
        file["height"] = source.normal(size=(high, wide)).astype("f4")
        file["area"] = (1.5 + numpy.cos(2 * numpy.pi * y)).astype("f4")
        file["sea"] = (source.random((high, wide)) > 0.2).astype("i1")


def deck(*, layers=(), **sections):
    keys = dict(run=dict(name="plane", steps=3, seed=5), precision=dict(compute="fp32"), kernels=dict(gemm="tiles"),
                data=dict(train="plane.h5", test="plane.h5", batch=4, normalize="channel"),
                data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], constants=["/height"], axes="time y x"),
                model=dict(type="unet", channels=[6, 10], blocks=1, fields=2, edges="periodic", norm="none", activation="gelu", loss="mse"),
                optimizer=dict(lr=2e-3), checkpoint=dict(every=3))
    for name, values in sections.items():
        keys[name] = values if values is None or name not in keys else keys[name] | values
    return deck_text(layers=layers, **keys)


def train(command, name, **sections):
    command.write(f"{name}.toml", deck(**sections))
    command.must("train", f"{name}.toml", f"run.folder={name}")


SPLITS = (("2,1", 2), ("1,2", 2), ("2,2", 4), ("2,1", 4), ("1,3", 3))
SOME = (("2,2", 4), ("2,1", 4))


def contents(path):
    """All datasets of a file, and their attributes."""
    found = {}

    def collect(name, item):
        found[name] = item[()] if isinstance(item, h5py.Dataset) else None
        for key, value in item.attrs.items():
            if not isinstance(value, (h5py.Reference, numpy.ndarray)):
                found[f"{name}@{key}"] = value

    with h5py.File(path) as file:
        file.visititems(collect)
    return found


def require_same(a, b, what, tolerance=0):
    """The same datasets and attributes: numbers with the same bits, or close."""
    a, b = contents(a), contents(b)
    assert a.keys() == b.keys(), (what, a.keys() ^ b.keys())
    for name, value in a.items():
        if tolerance and isinstance(value, numpy.ndarray) and value.dtype.kind == "f":
            numpy.testing.assert_allclose(b[name], value, rtol=tolerance, atol=tolerance * numpy.abs(value).max(), err_msg=f"{what} {name}")
        else:
            numpy.testing.assert_array_equal(b[name], value, err_msg=f"{what} {name}")


def predict_both(command, name, data, splits, tolerance=0):
    """Predictions of divided samples are those of whole ones. Returns what the command says of these."""
    whole = command.must("predict", name, data, f"{name}-whole.h5").stdout
    for space, ranks in splits:
        split = f"{name}-{space.replace(',', 'x')}-{ranks}.h5"
        said = command.must("predict", name, data, split, "--space", space, ranks=ranks).stdout
        assert said.replace(split, f"{name}-whole.h5") == whole, (whole, said)
        require_same(command.folder / f"{name}-whole.h5", command.folder / split, split, tolerance)
    return whole


def check_predictions(command):
    write_plane(command.folder / "plane.h5")
    write_plane(command.folder / "wide.h5", high=24, wide=24)
    train(command, "unet")
    predict_both(command, "unet", "plane.h5", SPLITS)
    predict_both(command, "unet", "wide.h5", (("2,3", 6), ("2,2", 4)))  # on another grid than in training
    train(command, "auto", kernels=dict(gemm="auto"))
    predict_both(command, "auto", "plane.h5", (("2,2", 4),), 1e-6)
    train(command, "fno", model=dict(type="fno", width=8, modes=[5, 4], blocks=2, channels=None, edges=None, norm=None))
    predict_both(command, "fno", "plane.h5", (("2,1", 2), ("2,2", 4)), 1e-5)  # coefficients are sums over boxes
    train(command, "norms", model=dict(norm="groupnorm", channels=[8, 16], edges="zero"))
    predict_both(command, "norms", "plane.h5", (("2,1", 4), ("2,2", 4)), 1e-5)  # so are statistics


def check_fields(command):
    """Masks, differences, several levels, stated deviations and quantiles, normalisation of each point, bf16; what training alone has:
    dropout, and a loss of whole samples."""
    write_plane(command.folder / "plane.h5")
    for name, sections in dict(
            masked=dict(data__arrays=dict(mask="/sea"), data__weights=dict(file="plane.h5", array="/area")),
            differences=dict(data__arrays=dict(targets_are="difference", history=2)),
            gaussian=dict(model=dict(loss="gaussian")), quantile=dict(model=dict(loss="quantile", quantiles=[0.1, 0.5, 0.9])),
            columns=dict(data=dict(normalize="standard")), relative=dict(model=dict(loss="relative_l2", dropout=0.1))).items():
        train(command, name, **sections)
        predict_both(command, name, "plane.h5", (("2,2", 4), ("1,3", 3)))
    command.must_refuse(["eval", "relative", "--space", "2,1"], "keys-conflict", "--space", "relative_l2", ranks=2)
    train(command, "bf16", precision=dict(compute="bf16"))
    predict_both(command, "bf16", "plane.h5", (("2,1", 2),), 2e-2)


def check_prepared(command):
    """Prepared samples: more than a batch, and not as many as groups of ranks divide; a volume; inputs out of range; numbers that are not
    finite."""
    source = numpy.random.default_rng(1)
    fields = {name: source.normal(size=(1101, 128)).astype("f4") for name in ("inputs", "targets")}
    write_data(command.folder / "many.h5", shape="8 8 2", **fields)
    train(command, "many", data=dict(train="many.h5", test=None), data__arrays=None)
    said = predict_both(command, "many", "many.h5", (("2,1", 2), ("2,1", 4), ("2,2", 4)))
    assert "1101" in said
    odd = fields["inputs"][:5].copy()
    odd[3, 70:90] = 50
    odd[4, 1] = 60
    write_data(command.folder / "odd.h5", shape="8 8 2", inputs=odd)
    said = predict_both(command, "many", "odd.h5", (("2,1", 4), ("2,2", 4)))
    assert "in 2 of 5 samples" in said and "the first in sample 3" in said, said
    odd[3, 40:110] = 6e4
    train(command, "half", data=dict(train="many.h5", test=None), data__arrays=None, precision=dict(compute="fp16"))
    write_data(command.folder / "large.h5", shape="8 8 2", inputs=odd)
    refusals = [command.must_refuse(["predict", "half", "large.h5", "no.h5", *more], "not-finite", "in 1 of 5 rows", code=1, ranks=ranks).stderr
                for more, ranks in (([], 1), (["--space", "2,2"], 4), (["--space", "1,2"], 2))]
    assert len({next(line for line in text.splitlines() if "not-finite" in line) for text in refusals}) == 1, refusals
    both = [command.must("predict", "half", "large.h5", f"large-{ranks}.h5", "--allow-nonfinite", *more, ranks=ranks)
            for more, ranks in (([], 1), (["--space", "2,2"], 4))]
    assert both[0].stdout.splitlines()[-1] == both[1].stdout.splitlines()[-1]
    require_same(command.folder / "large-1.h5", command.folder / "large-4.h5", "large")

    volume = {name: source.normal(size=(7, 8 * 6 * 4 * 2)).astype("f4") for name in ("inputs", "targets")}
    write_data(command.folder / "volume.h5", shape="8 6 4 2", **volume)
    train(command, "volume", data=dict(train="volume.h5", test=None, batch=2), data__arrays=None, model=dict(channels=[4, 6]))
    predict_both(command, "volume", "volume.h5", (("2,1,1", 2), ("2,1,2", 4), ("1,3,1", 3), ("2,1,1", 4)))


def check_refusals(command):
    write_plane(command.folder / "plane.h5")
    train(command, "refused")
    train(command, "deep", model=dict(channels=[4, 4, 4], edges="reflect"))
    predict_both(command, "deep", "plane.h5", (("2,1", 2),))

    def refuse(error, *parts, run="refused", space="2,1", ranks=2, more=(), output="out.h5"):
        command.must_refuse(["predict", run, "plane.h5", output, "--space", space, *more], error, "--space", *parts, ranks=ranks)
        assert not (command.folder / output).exists()

    refuse("wrong-rank-count", "3 ranks", ranks=3)
    refuse("keys-conflict", "16 points", space="5,1", ranks=5, run="deep")  # the coarsest level has four rows
    refuse("keys-conflict", "2 axes", space="2")
    refuse("keys-conflict", "2 axes", space="1,2,1")
    refuse("bad-argument", "out.h5", output="out.csv")
    refuse("bad-argument", "--flags", more=["--flags", "flags.csv"])
    refuse("bad-argument", "--mc-dropout", more=["--mc-dropout", "3"])
    places = dict(model=dict(type="chain", channels=None, blocks=None, fields=None, edges=None, norm=None, activation=None),
                  layers=[layer("positions"), layer("conv", outputs=2, kernel=3)])
    train(command, "positions", **places)
    refuse("keys-conflict", "positions", run="positions")
    command.must_refuse(["predict", "refused", "plane.h5", "out.h5", "--space", "0,2"], "bad-argument", "--space")


NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def evaluate_both(command, name, splits, *words, tolerance=1e-5):
    """Evaluations of divided samples say what those of whole ones say."""
    whole = command.must("eval", name, *words).stdout
    for space, ranks in splits:
        said = command.must("eval", name, *words, "--space", space, ranks=ranks).stdout
        assert NUMBER.sub("#", said) == NUMBER.sub("#", whole), (whole, said)
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (said, whole)]
        numpy.testing.assert_allclose(*numbers, rtol=tolerance, err_msg=f"{name} {space}\n{whole}\n{said}")
    return whole


def check_evaluations(command):
    write_plane(command.folder / "plane.h5")
    areas = dict(data__arrays=dict(mask="/sea"), data__weights=dict(file="plane.h5", array="/area"))
    train(command, "evaluated")
    said = evaluate_both(command, "evaluated", (*SOME, ("1,3", 3)), "--variables", "--metrics", "r2")
    assert f"{LEVELS - 1} samples" in said and "RMSE" in said.upper(), said
    evaluate_both(command, "evaluated", SOME, "--split", "train")
    train(command, "areas", **areas)
    evaluate_both(command, "areas", SOME, "--variables")
    train(command, "stated", model=dict(loss="gaussian"))
    said = evaluate_both(command, "stated", SOME, "--metrics", "crps", "--variables")
    assert "CRPS" in said.upper()
    train(command, "levels", model=dict(loss="quantile", quantiles=[0.1, 0.5, 0.9]))
    evaluate_both(command, "levels", (("1,2", 4),))
    source = numpy.random.default_rng(4)
    write_data(command.folder / "more.h5", shape="8 8 2", **{name: source.normal(size=(1101, 128)).astype("f4") for name in ("inputs", "targets")})
    train(command, "more", data=dict(train="more.h5", test="more.h5"), data__arrays=None)
    evaluate_both(command, "more", (("2,1", 2), ("2,1", 4)), "--variables")

    def refuse(error, *parts, more=(), ranks=2, space="2,1"):
        command.must_refuse(["eval", "evaluated", "--space", space, *more], error, "--space", *parts, ranks=ranks)

    refuse("wrong-rank-count", ranks=3)
    refuse("not-measured", "relative_l2", more=["--metrics", "relative_l2"])
    refuse("bad-argument", "--mc-dropout", more=["--mc-dropout", "3"])


def rollout_both(command, name, splits, *words):
    """Rollouts of states that ranks share are those of whole states, and so are their errors, scores, spectra and pictures, of which the
    spectra are summed by groups of ranks."""
    for space, ranks in splits:
        groups = ranks // numpy.prod([int(boxes) for boxes in space.split(",")])
        command.must("rollout", name, *words, "--out", "whole.h5", ranks=groups)
        said = command.must("rollout", name, *words, "--out", "split.h5", "--space", space, ranks=ranks).stdout
        assert said.startswith("split.h5: "), said
        require_same(command.folder / "whole.h5", command.folder / "split.h5", f"{name} {space}")
        for ending in (".errors.csv", ".spectrum.csv", ".rollout.json"):
            whole, split = (command.text(f"{stem}{ending}") for stem in ("whole", "split"))
            assert whole == split, (name, space, ranks, ending)
        if (command.folder / "whole.errors.nc").exists():
            require_same(command.folder / "whole.errors.nc", command.folder / "split.errors.nc", f"{name} {space} scores")


def check_rollouts(command):
    write_plane(command.folder / "plane.h5")
    with h5py.File(command.folder / "plane.h5", "r+") as file:
        file["sun"] = numpy.random.default_rng(5).normal(size=file["u"].shape).astype("f4")
    truth = ["--truth", "plane.h5"]
    train(command, "rolled")
    rollout_both(command, "rolled", (*SOME, ("1,3", 3)), "plane.h5", "--steps", "4", *truth, "--climatology", "training", "--start", "0:5")
    rollout_both(command, "rolled", (("2,1", 4),), "plane.h5", "--steps", "3", "--start", "0:3", "--perturb", "0.1", "--members", "3", *truth)
    rollout_both(command, "rolled", (("2,2", 4),), "plane.h5", "--steps", "20")  # beyond the file
    for what, sections in dict(forced=dict(data__arrays=dict(inputs=["/u", "/v", "/sun"])),
                               masks=dict(data__arrays=dict(mask="/sea"), data__weights=dict(file="plane.h5", array="/area"),
                                          model=dict(loss="relative_h1")),
                               changes=dict(data__arrays=dict(targets_are="difference", history=2))).items():
        train(command, f"rolled-{what}", **sections)
        rollout_both(command, f"rolled-{what}", (("1,2", 4),) if what == "forced" else (("2,2", 4),), "plane.h5", "--steps", "3", "--start", "0:5", *truth)
    write_plane(command.folder / "wide.h5", high=24, wide=24)
    rollout_both(command, "rolled", (("2,2", 4), ("1,3", 3)), "wide.h5", "--steps", "3", "--truth", "wide.h5")

    def refuse(error, *parts, more=(), ranks=2, space="2,1"):
        command.must_refuse(["rollout", "rolled", "plane.h5", "--steps", "2", "--out", "no.h5", "--space", space, *more], error, "--space", *parts,
                            ranks=ranks)
        assert not (command.folder / "no.h5").exists()

    refuse("wrong-rank-count", ranks=3)
    refuse("bad-argument", "--mc-dropout", more=["--mc-dropout", "3"])


def start_on_own_disks(command, *words):
    run = command.start_on_own_disks(["disk-0", "disk-1"], words[0], str(command.folder / "lost"), *words[1:], "--space", "2,1")
    _, stderr = run.communicate(timeout=200)
    return run.returncode, [line for line in stderr.splitlines() if line.startswith("mylos: ")]


def check_lost_file(command):
    """A rank reads its box alone. If it cannot, all end, and say it once."""
    write_plane(command.folder / "plane.h5")
    train(command, "lost")
    for rank in range(2):
        folder = command.folder / f"disk-{rank}"
        folder.mkdir()
        shutil.copy(command.folder / "plane.h5", folder / "plane.h5")
    for rank, row in enumerate((12, 3)):
        with h5py.File(command.folder / f"disk-{rank}/plane.h5", "r+") as file:
            file["u"][7, row, 3] = numpy.nan  # in the box of the other one
    command.must("predict", "lost", "plane.h5", "whole.h5")
    code, said = start_on_own_disks(command, "predict", "plane.h5", str(command.folder / "out.h5"))
    assert code == 0, said
    require_same(command.folder / "whole.h5", command.folder / "out.h5", "boxes alone")
    with h5py.File(command.folder / "disk-1/plane.h5", "r+") as file:
        file["u"][7, 12, 3] = numpy.nan
    (command.folder / "out.h5").unlink()
    for words in (["predict", "plane.h5", str(command.folder / "out.h5")], ["eval", "--data", "plane.h5"]):
        code, said = start_on_own_disks(command, *words)
        assert code == 2 and len(said) == 1 and "rank 1: " in said[0] and "plane.h5" in said[0], (words, code, said)
    assert not (command.folder / "out.h5").exists()


run_cases(check_predictions, check_fields, check_prepared, check_refusals, check_evaluations, check_rollouts, check_lost_file)
