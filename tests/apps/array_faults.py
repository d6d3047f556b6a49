"""Mistakes in a section [data.arrays] and damage to its files, each with what a refusal of it must name.

A fault changes `case`: its deck's keys, or its files. It returns the words that a refusal must have, or None if the deck may be
right after it; then the batches must be numpy's.
"""
import h5py
import numpy

FAULTS = []


def fault(function):
    FAULTS.append(function)
    return function


def rewrite(case, name, values, **storage):
    with h5py.File(case.path(), "r+") as file:
        attributes = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=values, **storage).attrs.update(attributes)


def values_of(case, name):
    with h5py.File(case.path()) as file:
        return file[name][()]


# In the section.

@fault
def a_key_that_is_not_there(case):
    case.extra = case.pick("histroy = 2", "ahed = 1", "axis = \"time y x\"", "input = [\"/u\"]")
    return ["deck.toml:", "unknown-key"]


@fault
def a_value_of_another_type(case):
    key, value = case.pick(("history", "two"), ("ahead", 1.5), ("every", True), ("targets_are", "delta"), ("inputs", 3), ("axes", 7),
                           ("points_are_samples", 1), ("slice", "1:"), ("constants", [1]), ("inputs", [""]), ("inputs", ["/u", 3]))
    case.section[key] = value
    return ["deck.toml:", f"data.arrays.{key}"]


@fault
def a_number_outside_its_range(case):
    key, value = case.pick(("history", 0), ("history", -1), ("ahead", -1), ("every", 0), ("history", 2 ** 40), ("every", 2 ** 62))
    case.section[key] = value
    return ["deck.toml:", f"data.arrays.{key}"]


@fault
def arrays_named_twice(case):
    key = case.pick("inputs", "targets")
    case.section[key] = ["/u", "/v", "/u"]
    return ["deck.toml:", f"data.arrays.{key}"]


@fault
def a_constant_among_the_inputs(case):
    case.section["constants"] = ["/mask", "/u"]
    return ["deck.toml:", "/u"]


@fault
def axes_that_are_wrong(case):
    case.section["axes"] = case.pick("time y", "time y x z", "y x", "time y y", "", "time y 2x", "sample time y x", "a b c d e f g h i")
    return ["axes"]


@fault
def axes_of_an_array_that_is_not_used(case):
    case.section["axes"] = {name: "time y x" for name in ("/u", "/v", "/w")} | {"/mask": "y x"}
    return ["deck.toml:", "/w"]


@fault
def a_slice_of_an_axis_that_is_not_there(case):
    case.section["slice"] = {case.pick("z", "t", "sample", "channel"): "1:"}
    return ["deck.toml:", "data.arrays.slice"]


@fault
def a_slice_that_is_none(case):
    case.section["slice"] = {"x": case.pick("a:", "::0", "::-1", "1", "1:2:3:4", "1.5:", ":::", "99999999999999999999:")}
    return ["deck.toml:", "data.arrays.slice"]


@fault
def a_slice_that_leaves_nothing(case):
    axis, part = case.pick(("x", "100:"), ("y", "2:2"), ("time", "500:"), ("y", "3:1"), ("time", ":-400"), ("x", "-1:-3"))
    case.section["slice"] = {axis: part}
    return [axis]


@fault
def any_slices(case):
    def bound():
        return case.pick("", *map(str, case.random.integers(-15, 15, 3)))

    case.section["slice"] = {axis: f"{bound()}:{bound()}" + case.pick("", f":{case.random.integers(1, 4)}")
                             for axis in ("time", "y", "x")}
    return None


@fault
def a_window_longer_than_time(case):
    key = case.pick("history", "ahead")
    case.section[key] = int(case.pick(13, 50, 1000))
    return ["time"]


@fault
def differences_of_what_is_no_input(case):
    case.section |= {"inputs": ["/u"], "targets": ["/v"], "targets_are": "difference"}
    return ["/v"]


@fault
def differences_of_the_same_level(case):
    case.section |= {"targets_are": "difference", "ahead": 0}
    return ["data.arrays.ahead"]


@fault
def a_rollout_of_what_is_no_input(case):
    case.section |= {"inputs": ["/u"], "targets": ["/u", "/v"]}
    case.rollout = case.pick(2, 5)
    return ["/v"]


@fault
def a_rollout_of_levels_that_are_not_predicted(case):
    case.section |= {"history": 2, "ahead": 2}
    case.rollout = 3
    return ["ahead"]


@fault
def no_targets(case):
    del case.section["targets"]
    return ["data.arrays.targets"]


@fault
def no_axes(case):
    del case.section["axes"]
    return ["data.arrays.axes"]


@fault
def a_pattern_without_files(case):
    case.train, named = case.pick(("nothing-*.h5", "nothing-*.h5"), (["run-*.h5", "gone.h5"], "gone.h5"), ("run-[7-9].h5", "[7-9]"),
                                  ("no/folder/*.h5", "no/folder"), (["run-0.h5", "r[.h5"], "r[.h5"), ("missing.h5", "missing.h5"))
    return [named]


@fault
def the_same_file_twice(case):
    case.train = ["run-0.h5", "run-*.h5"]
    return None


# In the files.

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
