"""mylos data: files, arrays, samples and statistics as numpy finds them, pictures, and what it refuses."""
import base64
import re
import struct
import xml.etree.ElementTree
import zlib

import h5py
import numpy

from small_problem import prepare, prepare_text
from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text, layer

DECK = deck_text(run=dict(peak_flops=None, name="fields", steps=10),
                 data=dict(train="run-*.h5", test="other.h5", batch=4, validation=0.2, shuffle="blocks"),
                 data__arrays=dict(inputs=["/u", "/v"], targets=["/u"], constants=["/mask"], axes="time y x", history=2),
                 model=dict(type="unet", channels=[8, 8], edges="periodic", loss="mse"))
LEVELS, GRID = 12, (8, 6)
VIRIDIS_ENDS = (0x44, 0x01, 0x54), (0xfd, 0xe7, 0x25)


def write_fields(command):
    source = numpy.random.default_rng(7)
    for name in ("run-0", "run-1", "other"):
        with h5py.File(command.folder / f"{name}.h5", "w") as file:
            file.create_dataset("u", data=source.standard_normal((LEVELS, *GRID)), chunks=(3, *GRID), compression="gzip", shuffle=True)
            file.create_dataset("v", data=source.integers(-500, 500, (LEVELS, *GRID)).astype(">i2"), maxshape=(None, *GRID))
            file["v"].attrs["scale_factor"] = 0.25
            file["mask"] = numpy.ones(GRID, "f4")
    command.write("fields.toml", DECK)


def pixels_of(png):
    """[height, width, 3] of a PNG without filters, as ours are."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    begin = png.index(b"IDAT")
    bytes_of_chunk = struct.unpack(">I", png[begin - 4:begin])[0]
    rows = numpy.frombuffer(zlib.decompress(png[begin + 4:begin + 4 + bytes_of_chunk]), "u1").reshape(height, 1 + 3 * width)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def check_tables(command):
    said = command.must("data", "fields.toml").stdout
    for name in ("run-0.h5", "run-1.h5"):
        assert re.search(rf"^ +{name} +10 +[\d.]+ KiB$", said, re.M), said
    assert re.search(r"^ +2 files +20 ", said, re.M) and re.search(r"^ +other\.h5 +10 ", said, re.M), said
    assert re.search(r"^ +/u +input, target +time 12, y 8, x 6 +float64 +chunks 3 x 8 x 6, shuffle, gzip", said, re.M), said
    assert re.search(r"^ +/v +input +time 12\+, y 8, x 6 +int16, big-endian +chunks ", said, re.M), said
    assert re.search(r"^ +/mask +constant +y 8, x 6 +float32 +contiguous +192 B$", said, re.M), said
    assert "windows of 2 levels, targets 1 level later" in said and "the last 4 training samples are for validation" in said, said
    assert f"a sample: {8 * 6 * 5} inputs (8 x 6 x 5), {8 * 6} targets" in said, said
    assert re.search(r"^reading: \d+ samples/s", said, re.M) and re.search(r"reading (keeps up|does NOT keep up)", said), said
    check_statistics(command, said)


def check_statistics(command, said):
    """Of all levels that the 16 training windows touch: 12 of the first file, 8 and a target of the second."""
    with h5py.File(command.folder / "run-0.h5") as first, h5py.File(command.folder / "run-1.h5") as second:
        u = numpy.concatenate([first["u"][()], second["u"][:8]])
    found = re.search(r"^ +u\(t\) +(\S+) +(\S+) +(\S+) +(\S+)$", said, re.M)
    assert found, said
    expected = (u.mean(), u.std(), u.min(), u.max())
    assert numpy.allclose([float(number) for number in found.groups()], expected, rtol=1e-5, atol=1e-6), f"{found.group()}: {expected}"
    assert re.search(r"^ +mask +1 +0 +1 +1 +constant$", said, re.M), said


def check_pictures(command):
    """Each panel has its array's colours: the same range for all levels of u, pixel by pixel."""
    said = command.must("data", "fields.toml", "--picture", "sample.svg", "--sample", 3).stdout
    assert "sample.svg: sample 3" in said, said
    root = xml.etree.ElementTree.parse(command.folder / "sample.svg").getroot()
    images = [image.get("href") for image in root.iter("{http://www.w3.org/2000/svg}image")]
    assert len(images) == 6, len(images)  # u and v twice, the mask, the target u
    pictures = [pixels_of(base64.b64decode(image.split(",")[1])) for image in images]
    with h5py.File(command.folder / "run-0.h5") as file:
        u = file["u"][3:6].astype("f4")
    highest, lowest = numpy.unravel_index(u.argmax(), u.shape), numpy.unravel_index(u.argmin(), u.shape)
    of_u = [pictures[0], pictures[2], pictures[5]]
    for (level, y, x), colour in ((lowest, VIRIDIS_ENDS[0]), (highest, VIRIDIS_ENDS[1])):
        picture = of_u[level]
        pixels = picture.shape[0] // GRID[0]
        assert tuple(picture[y * pixels, x * pixels]) == colour, (level, y, x, picture[y * pixels, x * pixels])
        others = sum(numpy.all(other == colour, axis=-1).sum() for other in of_u)
        assert others == pixels * pixels, f"{others} pixels have the colour of an end, expected {pixels} x {pixels}"
    command.must("data", "fields.toml", "--picture", "sample.png")
    page = pixels_of((command.folder / "sample.png").read_bytes())
    assert page.shape[0] > 2 * pictures[0].shape[0] and page.shape[1] > 5 * pictures[0].shape[1], page.shape


def check_coasts(command):
    """What the mask leaves out is blank, with a dark line one pixel wide where it touches what has a value."""
    sea = numpy.ones(GRID, bool)
    sea[1:, 2:4] = False
    write_data(command.folder / "coast.h5", u=numpy.random.default_rng(3).standard_normal((LEVELS, *GRID)), sea=sea.astype("i1"))
    command.write("coast.toml", deck_text(
        run=dict(name="coast", steps=1), data=dict(train="coast.h5", batch=2),
        data__arrays=dict(inputs=["/u"], targets=["/u"], axes="time y x", mask="/sea"), model=dict(type="chain", loss="mse"),
        layers=[layer("conv", outputs=1)]))
    command.must("data", "coast.toml", "--picture", "coast.svg")
    root = xml.etree.ElementTree.parse(command.folder / "coast.svg").getroot()
    image = next(root.iter("{http://www.w3.org/2000/svg}image")).get("href")
    pixels = pixels_of(base64.b64decode(image.split(",")[1]))
    known = sea.repeat(pixels.shape[0] // GRID[0], 0).repeat(pixels.shape[1] // GRID[1], 1)
    beside = numpy.pad(known, 1)
    touches = beside[:-2, 1:-1] | beside[2:, 1:-1] | beside[1:-1, :-2] | beside[1:-1, 2:]
    is_line, is_blank = ((pixels == colour).all(-1) for colour in ([0x10] * 3, [0x80] * 3))
    assert numpy.array_equal(is_line, ~known & touches) and numpy.array_equal(is_blank, ~known & ~touches)


def check_maps(command):
    """North is up, whichever way the latitudes run."""
    field = numpy.arange(numpy.prod(GRID), dtype="f4").reshape(GRID)
    deck = DECK.replace('"run-*.h5"', '"map.h5"').replace('test = "other.h5"\n', "").replace('["/u", "/v"]', '["/u"]')
    deck = deck.replace('constants = ["/mask"]\n', "").replace("time y x", "time lat lon")
    command.write("map.toml", deck)
    pages = []
    for direction in (1, -1):
        with h5py.File(command.folder / "map.h5", "w") as file:
            file["u"] = numpy.broadcast_to(field[::direction], (LEVELS, *GRID))
            file["lat"] = numpy.linspace(-70, 70, GRID[0])[::direction]
            file["lat"].make_scale("lat")
            file["u"].dims[1].attach_scale(file["lat"])
        command.must("data", "map.toml", "--picture", "map.png")
        pages.append(pixels_of((command.folder / "map.png").read_bytes()))
    assert numpy.array_equal(*pages), "the same map"
    colours = [tuple(colour) for colour in pages[0].reshape(-1, 3)]
    assert colours.index(VIRIDIS_ENDS[1]) < colours.index(VIRIDIS_ENDS[0]), "the largest value is the northernmost"


def check_lines(command):
    """Grids of one dimension are curves."""
    write_data(command.folder / "line.h5", u=numpy.sin(numpy.arange(20)[:, None] + numpy.linspace(0, 6, 32)))
    deck = DECK.replace('"run-*.h5"', '"line.h5"').replace('test = "other.h5"\n', "").replace('["/u", "/v"]', '["/u"]')
    deck = deck.replace('constants = ["/mask"]\n', "").replace("time y x", "time x").replace('"blocks"', '"samples"')
    command.write("line.toml", deck)
    said = command.must("data", "line.toml", "--picture", "line.svg").stdout
    assert 'data.shuffle = "samples" reads all' in said, said
    root = xml.etree.ElementTree.parse(command.folder / "line.svg").getroot()
    paths = [path.get("d") for path in root.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) == 3 and all(path.count("L") == 31 for path in paths), paths
    assert pixels_of((command.folder / "sample.png").read_bytes()).size > 0


def check_prepared(command):
    prepare(command)
    said = command.must("data", "deck.toml", "--picture", "row.svg").stdout
    assert re.search(r"^ +train\.h5 +500 ", said, re.M) and "8 inputs, 1 of 3 classes" in said, said
    with h5py.File(command.folder / "train.h5") as file:
        first = file["inputs"][:, 0].astype("f8")
    found = re.search(r"^ +x0 +(\S+) +(\S+) +(\S+) +(\S+)$", said, re.M)
    assert numpy.allclose([float(number) for number in found.groups()], (first.mean(), first.std(), first.min(), first.max()), rtol=1e-5), said
    prepare_text(command, "to be or not to be " * 20)
    command.write("gpt.toml", '[run]\nsteps = 1\n[data]\ntrain = "text.h5"\nbatch = 2\n[model]\ntype = "gpt"\nlayers = 1\nheads = 1\n'
                  "width = 8\ncontext = 4\n")
    assert "380 tokens below" in command.must("data", "gpt.toml").stdout
    command.must_refuse(["data", "gpt.toml", "--picture", "a.svg"], "arguments-conflict", "text.h5", "tokens")


def check_first_mistakes(command):
    """What a newcomer's first file meets: types by the name as which they are read, names of axes, test data of another grid."""
    values = numpy.random.default_rng(9).standard_normal((LEVELS, *GRID)).astype("f4")
    for name, extent in (("small", GRID[1]), ("smaller", GRID[1] - 2)):
        with h5py.File(command.folder / f"{name}.h5", "w") as file:
            file["u"] = (values[:, :, :extent].view("u4") >> 16).astype("u2")
            file["u"].attrs["dtype"] = "bfloat16"
    lines = DECK.replace('"run-*.h5"', '"small.h5"').replace('"other.h5"', '"small.h5"').replace(', "/v"', "").replace('constants = ["/mask"]\n', "")
    command.write("small.toml", lines)
    assert re.search(r"^ +/u +input, target +time 12, y 8, x 6 +bfloat16 +contiguous ", command.must("data", "small.toml").stdout, re.M)
    command.must_refuse(["data", "small.toml", "data.test=smaller.h5"], "data-mismatch", "smaller.h5: has 64 features", "(8 x 4 x 2)", "(8 x 6 x 2)")
    command.write("small.toml", lines.replace("time y x", "t y x").replace("history = 2\n", ""))
    command.must_refuse(["data", "small.toml", "data.validation=0"], "too-little-data", 'neither "time" nor "sample"', "each file is one sample")
    command.write("small.toml", lines.replace('["/u"]', '["/w"]'))
    command.must_refuse(["data", "small.toml"], "missing-dataset", "small.h5: /w is missing; / has u")


def check_refusals(command):
    picture = ["data", "fields.toml", "--picture"]
    command.must_refuse([*picture, "sample.jpg"], "bad-argument", "--picture sample.jpg", ".svg", ".png")
    command.must_refuse([*picture, "a.svg", "--sample", 20], "bad-argument", "--sample 20", "0 to 19")
    command.must_refuse(["data", "fields.toml", "--sample", 2], "arguments-conflict", "--sample", "--picture")
    command.must_refuse(["data", "fields.toml"], "wrong-rank-count", "one rank", ranks=2)
    command.must_refuse(["data", "fields.toml", "data.train=none-*.h5"], "no-such-file", "none-*.h5")
    assert not (command.folder / "a.svg").exists()
    result = command.run(*picture, "run-0.h5/a.svg")
    assert result.returncode == 1 and "run-0.h5/a.svg" in result.stderr and "[cannot-write]" in result.stderr, result


run_cases(write_fields, check_tables, check_pictures, check_coasts, check_maps, check_lines, check_prepared, check_first_mistakes, check_refusals)
