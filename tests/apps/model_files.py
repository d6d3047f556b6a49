"""What a model file must hold, made by NumPy from its checkpoint, for tests of `mylos export`."""
import zlib

import h5py
import numpy

from support import checkpoint_block

RUN_ONLY = ("optimizer", "average", "scaler", "schedule", "random", "plan", "history", "health", "evaluation")


def rounded(values, kind):
    """float32 rounded to nearest even by integers alone: what the model file must hold, as float32."""
    values = numpy.asarray(values, numpy.float32)
    if kind == "fp16":
        return values.astype(numpy.float16).astype(numpy.float32)
    if kind == "bf16":
        bits = values.view(numpy.uint32).astype(numpy.uint64)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(numpy.uint32).view(numpy.float32).reshape(values.shape)
    return values


def stored_bytes(dataset):
    """As they lie in the file; h5py has no bf16, and reads it as float32."""
    if dataset.dtype.kind == "S" or dataset.shape == () or dataset.id.get_type().get_size() == dataset.dtype.itemsize:
        return dataset[()].tobytes()
    raw = numpy.empty(dataset.shape, numpy.uint16)
    dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, raw, dataset.id.get_type())
    return raw.tobytes()


def type_of(dataset):
    size, bits = dataset.id.get_type().get_size(), dataset.id.get_type().get_fields()[2]
    return {(4, 8): "fp32", (2, 5): "fp16", (2, 8): "bf16"}[size, bits]


def leaves(group):
    found = {}
    group.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def require_model(path, checkpoint, kind, weights="model", types=None):
    """`types`: of the layers that have another type than `kind`."""
    contents = path.read_bytes()
    assert contents[:512] == checkpoint_block.block(contents[512:], checkpoint_block.MODEL), "digest"
    with h5py.File(path) as model, h5py.File(checkpoint) as run:
        assert model.attrs["format"] == b"mylos-model" and model.attrs["version"] == 1
        assert model.attrs["step"] == run.attrs["step"]
        for name, dataset in leaves(model).items():
            data = stored_bytes(dataset)
            if dataset.dtype.kind == "S":  # the padding of a text is none of its bytes
                data = data or b"\0"
            assert zlib.crc32(data) == dataset.attrs["crc32"], name
        ours, theirs = leaves(model["model"]), leaves(run[weights])
        assert ours.keys() == theirs.keys(), ours.keys() ^ theirs.keys()
        for name, dataset in ours.items():
            expected = (types or {}).get(name.split("/")[0], kind)
            assert type_of(dataset) == expected, (name, type_of(dataset), expected)
            assert numpy.array_equal(dataset[()].astype("f4"), rounded(theirs[name][()], expected)), name
        for group in ("buffers", "data/normalization", "input_range", "vocabulary", "samples"):
            assert (group in model) == (group in run), group
            for name, dataset in leaves(run[group]).items() if group in run else ():
                assert model[group][name].dtype == dataset.dtype, (group, name)
                assert numpy.array_equal(model[group][name][()], dataset[()]), (group, name)
        assert model["data/identity"][()] == run["data/identity"][()]
        assert not any(group in model for group in RUN_ONLY), list(model)
        return {name: value[()].decode() for name, value in model["provenance"].items()}
