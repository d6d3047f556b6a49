"""Decks and data of runs whose samples are divided over ranks."""
import h5py
import numpy

from .decks import deck_text
from .run_folders import events_of, last_checkpoint, losses_of, weights_of

LEVELS = 13


def write_plane(path, high=24, wide=16, seed=3):
    """Waves that travel through a periodic plane, /w with gaps that are not as many in each box; a constant; a mask of points that count."""
    source = numpy.random.default_rng(seed)
    y, x = numpy.meshgrid(numpy.arange(high) / high, numpy.arange(wide) / wide, indexing="ij")
    with h5py.File(path, "w") as file:
        for name, (a, b) in dict(u=(1, 2), v=(2, 1)).items():
            phase = 2 * numpy.pi * (a * y + b * x) + 0.4 * numpy.arange(LEVELS)[:, None, None]
            file[name] = (numpy.sin(phase) + 0.1 * source.normal(size=(LEVELS, high, wide))).astype("f4")
        file["height"] = source.normal(size=(high, wide)).astype("f4")
        file["area"] = (1.5 + numpy.cos(2 * numpy.pi * y)).astype("f4")
        file["sea"] = (source.random((high, wide)) > 0.2).astype("i1")
        file["w"] = numpy.where(source.random((LEVELS, high, wide)) < 0.6 * y, numpy.nan, file["u"][()]).astype("f4")


def plane_deck(*, layers=(), **sections):
    keys = dict(run=dict(name="plane", steps=6, log_every=1, evaluate_every=3, seed=5),
                data=dict(train="plane.h5", test="plane.h5", batch=4, micro_batch=2, normalize="channel"),
                data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], constants=["/height"], axes="time y x"),
                model=dict(type="unet", channels=[6, 10], blocks=1, fields=2, edges="periodic", norm="none", activation="gelu", loss="mse"),
                precision=dict(compute="fp32"), optimizer=dict(lr=2e-3, clip_norm=0.5), checkpoint=dict(every=3, keep_last=0))
    for name, values in sections.items():
        keys[name] = values if values is None or name not in keys else keys[name] | values
    return deck_text(layers=layers, **keys)


def same_bits(command, whole, split, *, evaluations=1e-12):
    """Losses of all steps, scaler events, and everything that the last checkpoints hold of weights and state. Evaluations are sums over ranks
    in double, whose order follows them."""
    what = f"{split}, beside {whole}"
    assert losses_of(command, split) == losses_of(command, whole), what
    assert events_of(command, split, "overflow", "scale") == events_of(command, whole, "overflow", "scale"), what
    a, b = (weights_of(last_checkpoint(command, folder), ("model", "optimizer", "scaler", "average")) for folder in (whole, split))
    assert a.keys() == b.keys() and len(a) > 2, what
    for name in a:
        assert numpy.asarray(a[name]).tobytes() == numpy.asarray(b[name]).tobytes(), f"{what}: {name}"
    rows = [[float(row["loss"]) for row in command.rows(f"{folder}/evaluations.csv") if row["part"] != "train"] for folder in (split, whole)]
    numpy.testing.assert_allclose(*rows, rtol=evaluations, err_msg=what)
    pictures = [path.read_text(encoding="utf-8") if path.exists() else None
                for path in (command.folder / folder / "samples.json" for folder in (split, whole))]
    assert pictures[0] == pictures[1], f"pictures of {what}"
