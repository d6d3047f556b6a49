"""Mistakes and damage in files of arrays, as array_faults.py has those of the section that reads them."""
import h5py
import numpy

from array_faults import fault


def rewrite(case, name, values, **storage):
    with h5py.File(case.path(), "r+") as file:
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=values, **storage).attrs.update(attributes)


def values_of(case, name):
    with h5py.File(case.path()) as file:
        return file[name][()]


@fault
def an_array_that_is_not_there(case):
    key = case.pick("inputs", "targets", "constants")
    name = case.pick("/U", "/no/such", "/time", "u u")
    case.section[key] = [name] if key == "constants" else ["/u", name]
    return [name]


@fault
def a_group_for_an_array(case):
    with h5py.File(case.path(), "r+") as file:
        del file["v"]
        file.create_group("v")
    return [case.file_name(), "/v"]


@fault
def what_are_no_numbers(case):
    kind = case.pick("text", "compound", "bool", "complex", "scalar", "null")
    with h5py.File(case.path(), "r+") as file:
        shape = file["v"].shape
        del file["v"]
        if kind == "text":
            file["v"] = numpy.full(shape, b"1.5")
        elif kind == "compound":
            file["v"] = numpy.zeros(shape, [("a", "f4"), ("b", "f4")])
        elif kind == "bool":
            file["v"] = numpy.ones(shape, bool)
        elif kind == "complex":
            file["v"] = numpy.ones(shape, "c8")
        elif kind == "scalar":
            file["v"] = 1.5
        else:
            file["v"] = h5py.Empty("f4")
    return [case.file_name(), "/v"]


@fault
def arrays_of_other_shapes(case):
    shape = list(case.shape)
    axis = case.pick(0, 1, 2)
    shape[axis] += case.pick(-1, 1)
    rewrite(case, "v", case.random.standard_normal(shape))
    return [case.file_name(), "/v"]


@fault
def files_of_other_grids(case):
    shape = list(case.shape)
    shape[case.pick(1, 2)] += 1
    for name in ("u", "v"):
        rewrite(case, name, case.random.standard_normal(shape))
    rewrite(case, "mask", case.random.standard_normal(shape[1:]))
    return [case.file_name()]


@fault
def another_number_of_axes(case):
    rewrite(case, "v", case.random.standard_normal(case.pick(case.shape[:2], (*case.shape, 2), case.shape[:1])))
    return [case.file_name(), "/v"]


@fault
def an_empty_axis(case):
    shape = list(case.shape)
    shape[case.pick(0, 1, 2)] = 0
    for name in ("u", "v"):
        rewrite(case, name, numpy.zeros(shape))
    return [case.file_name()]


@fault
def a_number_that_is_none(case):
    values = values_of(case, "v")
    place = tuple(int(case.random.integers(extent)) for extent in case.shape)
    values[place] = case.pick(numpy.nan, numpy.inf, -numpy.inf)
    rewrite(case, "v", values)
    return [case.file_name(), "/v", *map(str, place)]


@fault
def a_missing_number(case):
    place = tuple(int(case.random.integers(extent)) for extent in case.shape)
    for path in case.folder.glob("run-*.h5"):  # files of one list have one type
        values = case.random.integers(-100, 100, case.shape).astype("i2")
        if path == case.path():
            values[place] = -32768
        with h5py.File(path, "r+") as file:
            del file["v"]
            file["v"] = values
            file["v"].attrs["_FillValue"] = numpy.int16(-32768)
            file["v"].attrs["scale_factor"] = 0.5
    return [case.file_name(), "/v", *map(str, place)]


@fault
def a_number_beyond_float(case):
    values = values_of(case, "v")
    place = tuple(int(case.random.integers(extent)) for extent in case.shape)
    values[place] = case.pick(1e39, -1e300)
    rewrite(case, "v", values)
    return [case.file_name(), "/v", *map(str, place)]


@fault
def attributes_that_make_no_sense(case):
    with h5py.File(case.path(), "r+") as file:
        name, value = case.pick(("scale_factor", "two"), ("scale_factor", numpy.nan), ("add_offset", numpy.inf), ("scale_factor", [1.0, 2.0]),
                                ("add_offset", "x"), ("scale_factor", 0.0))
        file["v"].attrs[name] = value
    return [case.file_name(), "/v", name] if value != 0.0 or isinstance(value, (str, list)) else None


@fault
def a_filter_that_is_not_built_in(case):
    rewrite(case, "v", values_of(case, "v"), chunks=(2, 2, 2), compression="lzf")
    return [case.file_name(), "/v", "lzf"]


@fault
def numbers_in_other_files(case):
    kind = case.pick("link", "soft", "external", "virtual")
    with h5py.File(case.path(), "r+") as file:
        del file["v"]
        if kind == "link":
            file["v"] = h5py.ExternalLink("run-1.h5", "/v")
        elif kind == "soft":
            file["v"] = h5py.SoftLink("/u")
        elif kind == "external":
            file.create_dataset("v", case.shape, "f8", external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])
        else:
            layout = h5py.VirtualLayout(case.shape, "f8")
            layout[:] = h5py.VirtualSource("run-1.h5", "v", case.shape)
            file.create_virtual_dataset("v", layout)
    return [case.file_name(), "/v"]


@fault
def an_array_larger_than_its_file(case):
    with h5py.File(case.path(), "r+") as file:
        for name in ("u", "v"):
            del file[name]
            file.create_dataset(name, (2 ** 40, *case.shape[1:]), "f8", chunks=(1, *case.shape[1:]), maxshape=(None, *case.shape[1:]))
    return [case.file_name()]


@fault
def a_file_of_another_kind(case):
    contents = case.pick(b"", b"CDF\x01" + bytes(60), b"CDF\x02" + bytes(60), b"CDF\x05" + bytes(60), b"time,u,v\n0,1,2\n", bytes(4096),
                         b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + bytes(2000))
    case.path().write_bytes(contents)
    return [case.file_name(), *(["NetCDF"] if contents.startswith(b"CDF") else [])]


@fault
def a_folder_for_a_file(case):
    case.path().unlink()
    case.path().mkdir()
    return [case.file_name()]


@fault
def a_file_cut_short(case):
    contents = case.path().read_bytes()
    case.path().write_bytes(contents[:int(case.random.integers(1, len(contents)))])
    return [case.file_name()]


@fault
def flipped_bytes_of_compressed_chunks(case):
    """Found by the checksum, or by zlib."""
    values = values_of(case, "v")
    rewrite(case, "v", values, chunks=(1, *case.shape[1:]), compression="gzip", fletcher32=True)
    with h5py.File(case.path()) as file:
        chunk = file["v"].id.get_chunk_info(int(case.random.integers(case.shape[0])))
    contents = bytearray(case.path().read_bytes())
    contents[chunk.byte_offset + int(case.random.integers(chunk.size))] ^= 1 << int(case.random.integers(8))
    case.path().write_bytes(bytes(contents))
    return [case.file_name(), "/v"]


@fault
def a_flipped_byte_of_numbers(case):
    """Of an array without a checksum: other numbers, which h5py reads too, or none at all."""
    rewrite(case, "v", values_of(case, "v"))
    with h5py.File(case.path()) as file:
        offset = file["v"].id.get_offset()
    contents = bytearray(case.path().read_bytes())
    contents[offset + int(case.random.integers(8 * numpy.prod(case.shape)))] ^= 1 << int(case.random.integers(8))
    case.path().write_bytes(bytes(contents))
    return None
