"""Data files with something wrong, as plain h5py may write them, for tests of what is said of them."""
import h5py
import numpy

SAMPLES = 60


def write(path, inputs, labels, classes=3):
    with h5py.File(path, "w") as file:
        for name, values in (("inputs", inputs), ("labels", labels)):
            if values is not None:
                file[name] = values
        if classes is not None:
            file.attrs["classes"] = classes


def changed(values, place, value):
    copy = values.copy()
    copy[place] = value
    return copy


def write_bad_data(folder):
    source = numpy.random.default_rng(3)
    x = source.standard_normal((SAMPLES, 8)).astype("f4")
    y = source.integers(0, 3, SAMPLES).astype("i4")
    wide = numpy.hstack([x, x])
    for name, parts in {
            "no-inputs": (None, y), "no-labels": (x, None), "no-classes": (x, y, None), "flat": (x.reshape(-1), y),
            "double": (x.astype("f8"), y), "two-labels": (x, y.reshape(-1, 1)), "fewer-labels": (x, y[:40]),
            "empty": (x[:0], y[:0]), "few": (x[:10], y[:10]), "wide": (wide, y), "more-classes": (x, y, 4),
            "label-7": (x, changed(y, 21, 7)), "label-minus": (x, changed(y, 22, -1)),
            "nan": (changed(x, (17, 3), numpy.nan), y), "inf": (changed(x, (18, 4), numpy.inf), y)}.items():
        write(folder / f"{name}.h5", *parts)
    (folder / "zero.h5").write_bytes(b"")
    (folder / "cut.h5").write_bytes((folder / "wide.h5").read_bytes()[:2500])
