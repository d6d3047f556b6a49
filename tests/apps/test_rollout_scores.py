"""Errors of rollouts by variable and lead time, with climatologies and ensembles, against NumPy's; on any number of ranks; and
what is refused.

usage: test_rollout_scores.py MYLOS [--full]     --full: 2, 3 and 4 ranks, not 3
"""
import re

import h5py
import numpy

from rollout_fields import HIGH, LEVELS, WIDE, fields_deck, fields_of, spectrum, write_fields
from support.cases import run_cases

STEPS, STARTS = 4, (0, 2, 5, 8)  # the truth of the last start ends after 3 of the steps
VARIABLES = ["u", "deep/v[0]", "deep/v[1]"]
AREAS = numpy.random.default_rng(5).uniform(0, 2, (HIGH, WIDE // 2))
AREAS[1, :3] = 0
CLIMATOLOGY = numpy.random.default_rng(6).normal(0, 0.3, (HIGH, WIDE // 2, 3)).astype("f4")


def scores_of(path):
    with h5py.File(path) as file:
        return {name: values[()] for name, values in file.items()}


def measured(predicted, truth, climatology=None):
    """By channel, of fields [y, x, channel]."""
    p, t = predicted.astype("f8"), truth.astype("f8")

    def mean(values):
        return (AREAS[..., None] * values).sum((0, 1)) / AREAS.sum()

    def correlation(a, b):
        with numpy.errstate(invalid="ignore"):
            return mean(a * b) / numpy.sqrt(mean(a * a) * mean(b * b))

    found = dict(rmse=mean((p - t) ** 2), mae=mean(abs(p - t)), bias=mean(p - t), relative_l2=numpy.sqrt(mean((p - t) ** 2) / mean(t ** 2)),
                 correlation=correlation(p - mean(p), t - mean(t)))
    if climatology is not None:
        found["acc"] = correlation(p - climatology, t - climatology)
    return found


def of_ensemble(states, truth):
    """By the definitions of docs/how-to/rollout.md; states [member, y, x, channel]."""
    x, y, count = states.astype("f8"), truth.astype("f8"), len(states)
    pairs = abs(x[:, None] - x[None, :]).sum((0, 1)) / (2 * count * (count - 1))
    of_points = dict(spread=x.var(0, ddof=1) * (count + 1) / count, crps=abs(x - y).mean(0) - pairs)
    return {name: (AREAS[..., None] * values).sum((0, 1)) / AREAS.sum() for name, values in of_points.items()}


def expected_scores(states, truth, starts=STARTS, climatology=None):
    """states [start, member, step, y, x, channel]: the means over the starts that have a truth."""
    expected = {}
    for step in range(1, STEPS + 1):
        rows = {}
        for i, start in enumerate(starts):
            if start + step >= len(truth):
                continue
            now = truth[start + step]
            parts = {"": measured(states[i, :, step].astype("f8").mean(0).astype("f4"), now, climatology),
                     "persistence_": measured(truth[start], now, climatology)}
            if climatology is not None:
                parts["climatology_"] = measured(climatology, now)
            numbers = {prefix + name: values for prefix, part in parts.items() for name, values in part.items()}
            if states.shape[1] > 1:
                numbers |= of_ensemble(states[i, :, step], now)
            for name, values in numbers.items():
                rows.setdefault(name, []).append(values)
        for name, values in rows.items():
            mean = numpy.mean(values, axis=0)
            expected.setdefault(name, []).append(numpy.sqrt(mean) if name.endswith("rmse") or name == "spread" else mean)
    expected = {name: numpy.array(values) for name, values in expected.items()}
    if "spread" in expected:
        expected["spread_skill"] = expected["spread"] / expected["rmse"]
    return expected


def require_scores(found, expected):
    assert {name for name in found if found[name].ndim == 2} == expected.keys(), (sorted(found), sorted(expected))
    for name, values in expected.items():
        assert found[name].dtype == "f8" and found[name].shape == values.shape, (name, found[name].shape, values.shape)
        difference = numpy.abs(found[name] - values).max()
        assert difference <= 1e-6 * numpy.abs(values).max(), (name, difference, found[name], values)


def rollout(command, run, *words, out="flow.h5", ranks=1):
    words = ("fields.h5", "--steps", STEPS, "--out", out, "--truth", "fields.h5", "--start", ",".join(map(str, STARTS)), *words)
    said = command.must("rollout", *run, *words, ranks=ranks).stdout
    assert out.replace(".h5", ".errors.nc") in said, said
    return scores_of(command.folder / out.replace(".h5", ".errors.nc"))


def states_of(path, members):
    """[start, member, step, y, x, channel]"""
    with h5py.File(path) as file:
        u, v = file["u"][:].astype("f4"), file["deep/v"][:]
        if members == 1:
            u, v = u[None], v[None]
        else:
            assert list(file["member"][:]) == list(range(members)) and file["u"].dims[0][0].name == "/member"
        assert u.shape == (members, len(STARTS), STEPS + 1, HIGH, WIDE // 2)  # v: member start x time channel y
        return numpy.concatenate([u[..., None], v.transpose(0, 1, 3, 5, 2, 4)], axis=-1).swapaxes(0, 1)


def set_up(command):
    write_fields(command.folder / "fields.h5")
    with h5py.File(command.folder / "fields.h5", "a") as file:
        file["deep/v"].attrs["units"] = "K"
    with h5py.File(command.folder / "areas.h5", "w") as file:
        file["area"] = AREAS
    command.write("fields.toml", fields_deck() + '\n[data.weights]\nfile = "areas.h5"\narray = "/area"\n')
    for seed in (1, 2, 3):
        command.must("train", "fields.toml", f"run.seed={seed}", f"run.folder=run{seed}")
    with h5py.File(command.folder / "climatology.h5", "w") as file, h5py.File(command.folder / "fields.h5") as of:
        whole = numpy.full((HIGH, WIDE, 3), 7, "f4")
        whole[:, ::2] = CLIMATOLOGY
        file["u"], file["deep/v"] = whole[..., 0], whole[..., 1:].transpose(1, 2, 0)
        for name in ("y", "x"):
            file[name] = of[name][:]
            file[name].make_scale(name)
        for i, name in enumerate("yx"):
            file["u"].dims[i].attach_scale(file[name])


def check_variables(command):
    """Of one network, with weights of points; the coordinates of the file."""
    found = rollout(command, ["run1"])
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    require_scores(found, expected_scores(states_of(command.folder / "flow.h5", 1), truth))
    assert list(found["starts"]) == [4, 4, 4, 3] and list(found["lead_time"]) == [1, 2, 3, 4]
    assert [name.decode() for name in found["variable"]] == VARIABLES, found["variable"]
    assert [name.decode() for name in found["units"]] == ["m s-1", "K", "K"] and list(found["lead_duration"]) == [0.5, 1, 1.5, 2]
    with h5py.File(command.folder / "flow.errors.nc") as file:
        assert [scale[0].name for scale in file["rmse"].dims] == ["/lead_time", "/variable"]
        assert file["lead_duration"].attrs["units"] == b"seconds" and file["correlation"].attrs["units"] == b"1"
    drawn = command.document("flow.rollout.json")["variables"]
    assert drawn["names"] == VARIABLES and drawn["levels"] == [1, 2, 3, 4]
    assert numpy.array_equal(numpy.transpose(drawn["measures"]["rmse"]), found["rmse"])
    before = (command.folder / "flow.errors.csv").read_bytes()
    rollout(command, ["run1"], "--climatology", "climatology.h5")
    assert (command.folder / "flow.errors.csv").read_bytes() == before


def check_spectra(command):
    """Of each variable; the truth of the last step is not known for every start."""
    found = rollout(command, ["run1"])
    states = states_of(command.folder / "flow.h5", 1)[:, 0].astype("f8")
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2].astype("f8")
    assert list(found["wavenumber"]) == list(range(found["spectrum"].shape[2])) and found["spectrum"].shape[:2] == (STEPS, 3)
    for step in range(1, STEPS + 1):
        for variable in range(3):
            for name, part in (("spectrum", lambda i: states[i, step]), ("truth_spectrum", lambda i: truth[STARTS[i] + step]),
                               ("error_spectrum", lambda i: states[i, step] - truth[STARTS[i] + step])):
                row = found[name][step - 1, variable]
                if name != "spectrum" and step == STEPS:
                    assert numpy.isnan(row).all()
                    continue
                expected = numpy.mean([spectrum(part(i)[..., variable:variable + 1]) for i in range(len(STARTS))], axis=0)
                assert numpy.abs(row - expected).max() <= 1e-6 * expected.max(), (name, step, variable)
    with h5py.File(command.folder / "flow.errors.nc") as file:
        assert [scale[0].name for scale in file["error_spectrum"].dims] == ["/lead_time", "/variable", "/wavenumber"]


def check_climatology(command):
    """Given without an axis time, or as the mean of files."""
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    mean = truth.astype("f8").mean(0).astype("f4")
    for name, climatology in (("climatology.h5", CLIMATOLOGY), ("training", mean), ("fields.h5", mean), ("field?.h5", mean)):
        found = rollout(command, ["run1"], "--climatology", name)
        require_scores(found, expected_scores(states_of(command.folder / "flow.h5", 1), truth, climatology=climatology))


def check_ensembles(command):
    """Networks, starts with noise, and both; the noise has the stated deviation and is that of the seed."""
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    noisy = ["--perturb", "0.2", "--members", 2]
    for run, words, members in ((["--ensemble", "run1", "run2", "run3"], [], 3), (["run1"], noisy, 2),
                                (["--ensemble", "run1", "run2"], noisy, 4)):
        found = rollout(command, run, *words, "--climatology", "training")
        states = states_of(command.folder / "flow.h5", members)
        require_scores(found, expected_scores(states, truth, climatology=truth.astype("f8").mean(0).astype("f4")))
        if not words:
            assert (states[:, :, 0] == states[:, :1, 0]).all()
            for i in range(3):  # each member is the rollout of its network
                rollout(command, [f"run{i + 1}"], out="one.h5")
                close = numpy.abs(states_of(command.folder / "one.h5", 1)[:, 0] - states[:, i]).max()
                assert close < 1e-5, close
    noise = states[:, :, 0] - truth[list(STARTS), None]
    ratio = noise.std((0, 1, 2, 3)) / truth.std((0, 1, 2))
    assert (abs(ratio - 0.2) < 0.02).all() and len(numpy.unique(noise)) > 0.9 * noise.size, ratio
    rollout(command, ["--ensemble", "run1", "run2"], *noisy, "--seed", 1)
    assert (states_of(command.folder / "flow.h5", 4) == states).all()
    rollout(command, ["--ensemble", "run1", "run2"], *noisy, "--seed", 2)
    assert (states_of(command.folder / "flow.h5", 4)[:, :, 0] != states[:, :, 0]).mean() > 0.9


def check_dropout(command, full):
    """Members are those of predictions with the same masks, which stay the same at the next steps; on any number of ranks."""
    command.write("dropout.toml", fields_deck().replace('activation = "gelu"', 'activation = "gelu"\ndropout = 0.4'))
    command.must("train", "dropout.toml", "run.folder=dropout")
    masks, starts, words = 3, LEVELS - 2, ["--mc-dropout", 3, "--seed", 5]
    rolled = ["rollout", "dropout", "fields.h5", "--steps", 2, "--start", f"0:{starts}", "--out", "flow.h5", "--truth", "fields.h5", *words]
    command.must(*rolled)
    names = ("flow.h5", "flow.errors.nc", "flow.errors.csv")
    expected = [(command.folder / name).read_bytes() for name in names]
    assert {"spread", "crps"} <= scores_of(command.folder / "flow.errors.nc").keys()
    with h5py.File(command.folder / "flow.h5") as file:  # [member, start, time, ...]
        states = [file["u"][:], file["deep/v"][:].swapaxes(2, 3)]

    def require_members(source, mask, level):
        command.must("predict", "dropout", source, "predicted.h5", "--members", *words)
        with h5py.File(command.folder / "predicted.h5") as file:
            found = [file[f"u_member_{mask}"][:starts], file[f"deep/v_member_{mask}"][:, :starts].swapaxes(0, 1)]
        for one, other in zip(found, states):
            assert numpy.allclose(one, other[mask, :, level], rtol=1e-5, atol=1e-6), (level, mask, abs(one - other[mask, :, level]).max())
    for mask in range(masks):
        require_members("fields.h5", mask, 1)
        (command.folder / "after.h5").write_bytes((command.folder / "fields.h5").read_bytes())
        with h5py.File(command.folder / "after.h5", "a") as file:  # levels are the states after one step with this mask
            file["u"][:starts, :, ::2], file["deep/v"][::2, :starts] = states[0][mask, :, 1], states[1][mask, :, 1].swapaxes(0, 1)
            file["f"][:starts] = file["f"][1:starts + 1]
        require_members("after.h5", mask, 2)
    assert (states[0][0, :, 1] != states[0][1, :, 1]).mean() > 0.9
    for ranks in (2, 3, 4) if full else (3,):
        command.must(*rolled, ranks=ranks)
        assert expected == [(command.folder / name).read_bytes() for name in names], ranks
    command.must(*rolled[:-1], 6)
    assert (command.folder / "flow.h5").read_bytes() != expected[0]


def check_ranks(command, full):
    """The same bits on any number of ranks."""
    run = ["--ensemble", "run1", "run2"]
    words = ["--perturb", "0.2", "--members", 2, "--climatology", "training"]
    names = ("flow.h5", "flow.errors.nc", "flow.errors.csv")
    rollout(command, run, *words)
    expected = [(command.folder / name).read_bytes() for name in names]
    for ranks in (2, 3, 4) if full else (3,):
        rollout(command, run, *words, ranks=ranks)
        for name, content in zip(names, expected):
            assert (command.folder / name).read_bytes() == content, (name, ranks)


def check_evaluations(command):
    """The errors of each variable that eval prints, of a network and of the mean of several."""
    truth = fields_of(command.folder / "fields.h5")[:, :, ::2]
    for networks in (["run1"], ["--ensemble", "run1", "run2"]):
        command.must("predict", *networks, "fields.h5", "predicted.h5")
        each = [measured(*pair) for pair in zip(fields_of(command.folder / "predicted.h5"), truth[1:])]
        expected = {name: numpy.mean([one[name] for one in each], axis=0) for name in ("rmse", "mae", "bias")}
        expected["rmse"] = numpy.sqrt(expected["rmse"])
        said = [re.findall(r"^errors of (\S+): RMSE (\S+), MAE (\S+), bias (\S+)$",
                           command.must("eval", *networks, "--data", "fields.h5", "--variables", ranks=ranks).stdout, re.M) for ranks in (1, 3)]
        assert said[0] == said[1] and [row[0] for row in said[0]] == VARIABLES, said
        found = numpy.array([row[1:] for row in said[0]], "f8").T
        assert numpy.abs(found - [expected[name] for name in ("rmse", "mae", "bias")]).max() < 1e-6 * found.max(), (found, expected)


def check_refusals(command):
    plain = ["rollout", "run1", "fields.h5", "--steps", 2, "--out", "no.h5"]
    compared = [*plain, "--truth", "fields.h5", "--climatology"]
    with h5py.File(command.folder / "climatology.h5") as whole:
        arrays = {name: whole[name][:] for name in ("u", "deep/v", "y", "x")}
    arrays["u"][2, 4] = numpy.nan

    def write(name, **changed):
        with h5py.File(command.folder / name, "w") as file:
            for path, values in ({"u": arrays["u"], "deep/v": arrays["deep/v"]} | changed).items():
                if values is not None:
                    file[path] = values
            if "y" in changed:
                file["y"].make_scale("y")
                file["u"].dims[0].attach_scale(file["y"])
    write("nan.h5")
    arrays["u"][2, 4] = 0
    write("small.h5", u=arrays["u"][1:], **{"deep/v": arrays["deep/v"][..., 1:]})
    write("less.h5", **{"deep/v": None})
    write("turned.h5", y=arrays["y"][::-1])
    for words, refusal in ((["nan.h5"], ("not-finite", "nan.h5", "/u[2, 4]")), (["small.h5"], ("data-mismatch", "small.h5", "another grid")),
                           (["less.h5"], ("missing-dataset", "less.h5", "/deep/v")), (["turned.h5"], ("data-mismatch", "turned.h5", "axis y")),
                           (["none.h5"], ("no-such-file", "none.h5"))):
        command.must_refuse([*compared, *words], *refusal, ranks=2)
    for words, refusal in ((["--climatology", "training"], ("arguments-conflict", "--truth")), (["--perturb", "0.1"], ("arguments-conflict", "--members")),
                           (["--members", 3], ("arguments-conflict", "--perturb")), (["--perturb", 0, "--members", 3], ("bad-argument", "--perturb")),
                           (["--seed", 3], ("arguments-conflict", "--mc-dropout")), (["--mc-dropout", 2], ("not-measured", "no layer with dropout")),
                           (["--mc-dropout", 2, "--perturb", 0.1, "--members", 3], ("arguments-conflict", "--mc-dropout"))):
        command.must_refuse([*plain, *words], *refusal)
    command.must_refuse(["rollout", "run1", "run2", "fields.h5", "--steps", 2, "--out", "no.h5"], "extra-argument", "fields.h5")
    command.must_refuse(["rollout", "--ensemble", "run1", "fields.h5", "--steps", 2, "--out", "no.h5"], "missing-argument", "at least 2 members")
    assert not list(command.folder.glob("no.*"))


run_cases(set_up, check_variables, check_spectra, check_climatology, check_ensembles, check_dropout, check_ranks, check_evaluations, check_refusals)
