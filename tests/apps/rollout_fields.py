"""Trajectories, decks and NumPy's own rollouts and errors, for tests of `mylos rollout`."""
import h5py
import numpy

from support.data_files import write_data
from support.decks import deck_text, layer


def linear_deck(history=1, targets_are="state", normalize="standard", rolls_out=True, **arrays):
    """`rolls_out`: measures rollouts; `arrays`: more keys of [data.arrays]."""
    return deck_text(run=dict(name="linear", steps=30, evaluate_every=10, metrics=["rollout3"] if rolls_out else None),
                     data=dict(train="linear.h5", test="linear.h5", batch=8, normalize=normalize),
                     data__arrays=dict(inputs=["/u", "/g", "/f"], targets=["/g", "/u"], axes="sample time channel", history=history,
                                       targets_are=targets_are, **arrays),
                     model=dict(type="mlp", hidden=[], loss="mse"), precision=dict(compute="fp32"), optimizer=dict(lr=1e-2),
                     checkpoint=dict(keep_best="test.rollout3") if rolls_out else None)


def fields_deck(time=":", points=False, outputs=3, **arrays):
    """`points`: each point is a sample of its own; `arrays`: more or other keys of [data.arrays]."""
    arrays = dict(inputs=["/u", "/deep/v", "/f"], targets=["/u", "/deep/v"], constants=["/mask"],
                  axes={"/u": "time y x", "/deep/v": "x time channel y", "/f": "time y x", "/mask": "y x"},
                  slice={"x": "::2", "time": time}, points_are_samples=points or None) | arrays
    edges = dict(kernel=3, edges="periodic")
    network = dict(model=dict(type="mlp", hidden=[8], loss="mse")) if points else \
        dict(model=dict(type="chain", loss="mse"), layers=[layer("conv", outputs=6, activation="gelu", **edges),
                                                           layer("conv", outputs=outputs, **edges)])
    return deck_text(run=dict(name="fields", steps=8),
                     data=dict(train="fields.h5", test="fields.h5", batch=40 if points else 4,
                               normalize="standard" if points else "channel"),
                     data__arrays=arrays, **network, precision=dict(compute="fp32"))


SAMPLES, LEVELS = 5, 12
HIGH, WIDE = 6, 20  # of the fields; every other column is used


def write_linear(path):
    """u [3 channels] and g [2] go round; f [1] drives nothing, but is read."""
    source = numpy.random.default_rng(3)
    matrix = numpy.linalg.qr(source.normal(size=(5, 5)))[0]
    state = numpy.empty((SAMPLES, LEVELS, 5))
    state[:, 0] = source.normal(size=(SAMPLES, 5))
    for level in range(1, LEVELS):
        state[:, level] = state[:, level - 1] @ matrix.T + 0.1
    write_data(path, u=state[..., :3], g=state[..., 3:].astype("f4"), f=source.normal(size=(SAMPLES, LEVELS, 1)))


def write_fields(path, levels=LEVELS, integers=False):
    """As a solver might: other orders of axes, types and packings, coordinates with units, some attributes."""
    source = numpy.random.default_rng(7)
    u = source.normal(size=(LEVELS, HIGH, WIDE))
    v = source.normal(size=(WIDE, LEVELS, 2, HIGH)).astype("f4")
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "a test"
        file.attrs["Conventions"] = "CF-1.8"
        if integers:
            file["u"] = numpy.round(u[:levels] * 100).astype("i2")
            file["u"].attrs["scale_factor"] = 0.01
            file["u"].attrs["add_offset"] = 0.0
        else:
            file["u"] = u[:levels]
        file["u"].attrs["units"] = "m s-1"
        file["u"].attrs["levels_used"] = numpy.array([1, 2], "i4")
        file["deep/v"] = v[:, :levels]
        file["f"] = source.normal(size=(LEVELS, HIGH, WIDE))[:levels].astype("f4")
        file["mask"] = source.integers(0, 2, size=(HIGH, WIDE)).astype("i1")
        file["time"] = 10.0 + 0.5 * numpy.arange(levels)
        file["time"].attrs["units"] = "seconds since 2000-01-01"
        file["y"] = numpy.arange(HIGH, dtype="f4")
        file["x"] = numpy.arange(WIDE, dtype="i4") * 3
        for name in ("time", "y", "x"):
            file[name].make_scale(name)
        for path_of, axes in (("u", ("time", "y", "x")), ("deep/v", ("x", "time", None, "y"))):
            for i, axis in enumerate(axes):
                if axis:
                    file[path_of].dims[i].attach_scale(file[axis])


def fields_of(path, levels=slice(None)):
    """[time, y, x, channel] in the deck's channels and slices, as float32."""
    with h5py.File(path) as file:
        u = file["u"][:].astype("f8") * file["u"].attrs.get("scale_factor", 1)
        v = file["deep/v"][:].astype("f8")
    return numpy.concatenate([u[..., None], v.transpose(1, 3, 0, 2)], axis=-1).astype("f4")[levels]


def errors(predicted, truth):
    """(relative L2, nRMSE, correlation) of fields [..., channel]."""
    p, t = (array.reshape(-1, array.shape[-1]).astype("f8") for array in (predicted, truth))
    relative = numpy.linalg.norm(p - t) / numpy.linalg.norm(t)
    nrmse = numpy.sqrt(((p - t) ** 2).mean(0)) / numpy.sqrt((t ** 2).mean(0))
    with numpy.errstate(invalid="ignore", divide="ignore"):
        correlation = [numpy.corrcoef(p[:, i], t[:, i])[0, 1] if len(p) > 1 else numpy.nan for i in range(p.shape[1])]
    return relative, nrmse.mean(), numpy.mean(correlation)


def spectrum(field):
    """The energy by wavenumber of a field [y, x, channel], by NumPy's FFT."""
    modes = numpy.fft.fft2(field.astype("f8"), axes=(0, 1)) / field[..., 0].size
    numbers = [numpy.fft.fftfreq(n) * n for n in field.shape[:2]]
    shells = numpy.rint(numpy.hypot(numbers[0][:, None], numbers[1][None, :])).astype(int)
    return numpy.bincount(shells.ravel(), (numpy.abs(modes) ** 2).sum(-1).ravel())
