"""mylos check-precision: its counts are NumPy's, for files of every kind; and what it refuses."""
import re

import h5py
import numpy

from small_problem import prepare, prepare_text
from support.cases import run_cases
from support.data_files import write_data
from support.decks import deck_text
from support.run_folders import weights_of

SMALLEST_NORMAL = {"fp16": 2.0 ** -14, "bf16": 2.0 ** -126}
EXPONENTS = range(-149, 128)


def to_bf16(values):
    """Nearest even, on the bits; as float32."""
    bits = values.view(numpy.uint32).astype(numpy.uint64)
    half_way, kept = bits & 0xffff, bits >> 16
    up = (half_way > 0x8000) | ((half_way == 0x8000) & (kept & 1 == 1))
    kept = numpy.where(numpy.isnan(values), 0x7fc0, kept + up)
    return (kept << 16).astype(numpy.uint32).view(numpy.float32)


def to_fp16(values):
    with numpy.errstate(over="ignore"):
        return values.astype(numpy.float16).astype(numpy.float32)


def expected(values):
    """As the command's JSON has it."""
    values = numpy.ascontiguousarray(values, dtype=numpy.float32).ravel()
    number = numpy.isfinite(values) & (values != 0)
    types = {}
    for name, rounded in (("bf16", to_bf16(values)), ("fp16", to_fp16(values))):
        overflow = number & ~numpy.isfinite(rounded)
        judged = number & ~overflow
        exact, near = values[judged].astype(float), rounded[judged].astype(float)
        errors = numpy.abs((near - exact) / exact)
        types[name] = dict(overflows=overflow.sum(), to_zero=(near == 0).sum(),
                           subnormal=((near != 0) & (numpy.abs(near) < SMALLEST_NORMAL[name])).sum(),
                           largest_error=errors.max(initial=0), mean_error=errors.mean() if len(errors) else 0)
    exponents = numpy.frexp(values[number].astype(float))[1] - 1
    return dict(values=len(values), nan=numpy.isnan(values).sum(), infinite=numpy.isinf(values).sum(),
                zero=(values == 0).sum(), types=types,
                exponents={e: count for e in EXPONENTS if (count := (exponents == e).sum())})


def verdict(types, values):
    numbers = sum(values["exponents"].values())
    if types["overflows"] or types["to_zero"] > 0.01 * numbers:
        return "unsafe"
    return "lossy" if types["to_zero"] or types["subnormal"] > 0.01 * numbers else "safe"


def compare(found, values, what):
    want = expected(values)
    for name in ("values", "nan", "infinite", "zero"):
        assert found[name] == want[name], f"{what}: {name} {found[name]}, NumPy has {want[name]}"
    exponents = {line["exponent"]: line["count"] for line in found["exponents"] if line["count"]}
    assert exponents == want["exponents"], f"{what}: {exponents}\n{want['exponents']}"
    assert [counts["type"] for counts in found["types"]] == ["bf16", "fp16"], found
    for counts in found["types"]:
        numpys = want["types"][counts["type"]]
        for name in ("overflows", "to_zero", "subnormal"):
            assert counts[name] == numpys[name], f"{what}, {counts['type']}: {name} {counts[name]}, NumPy: {numpys[name]}"
        for name in ("largest_error", "mean_error"):
            assert numpy.isclose(counts[name], numpys[name], rtol=5e-6, atol=0), f"{what}: {counts}, NumPy: {numpys}"
        assert counts["verdict"] == verdict(counts, want), f"{what}: {counts}"


def check(command, *arguments, **options):
    return command.json("check-precision", *arguments, "--json", **options)


def data_of_every_kind():
    source = numpy.random.default_rng(3)

    def any_bits(count):
        return source.integers(0, 2 ** 32, count, dtype=numpy.uint32).view(numpy.float32)

    yield "normal", source.standard_normal((1000, 20))
    yield "gradients", source.standard_normal((3000, 8)) * 1e-6
    yield "log-uniform", source.choice([-1.0, 1.0], 30000) * 2.0 ** source.uniform(-149, 127.9, 30000)
    yield "subnormal", source.integers(1, 2 ** 23, 20000, dtype=numpy.uint32).view(numpy.float32)
    yield "any bits", any_bits(200000)
    special = source.standard_normal(5000).astype("f4")
    special[::7], special[1::9], special[2::11] = numpy.nan, numpy.inf, -numpy.inf
    yield "NaN and infinite", special
    yield "only NaN", numpy.full(300, numpy.nan)
    edges = [65504, 65520, 65536, 2.0 ** -14, 2.0 ** -24, 2.0 ** -25, 2.0 ** -14 - 2.0 ** -25, 3.3895314e38, 2.0 ** -126,
             2.0 ** -133, 2.0 ** -134, 2049, 2051, 1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8]
    bits = numpy.array(edges, dtype="f4").view(numpy.uint32)[:, None] + numpy.arange(-3, 4)
    yield "ties", numpy.concatenate([sign * bits.astype(numpy.uint32).view(numpy.float32).ravel() for sign in (1, -1)])
    yield "zeros", numpy.tile(numpy.array([0.0, -0.0, 1.0], dtype="f4"), 500)
    yield "only zeros", numpy.array([0.0, -0.0])
    yield "one number", numpy.array([65520.0])
    yield "several pieces", source.standard_normal((5000, 301)) * 10.0 ** source.uniform(-9, 6, (5000, 1))
    yield "a long row", source.standard_normal((2, 600000))


def check_datasets(command):
    count = 0
    for what, values in data_of_every_kind():
        inputs = numpy.atleast_2d(numpy.asarray(values, dtype="f4"))
        targets = numpy.resize(inputs, (len(inputs), 3))[:, ::-1].copy()
        write_data(command.folder / "data.h5", inputs=inputs, targets=targets)
        found = check(command, "data.h5")
        assert [(a["array"], a["stored"]) for a in found["arrays"]] == [("/inputs", "float32"), ("/targets", "float32")]
        compare(found["arrays"][0], inputs, what)
        compare(found["arrays"][1], targets, what)
        count += 1
    print(count, "datasets")
    assert count >= 10


def check_bytes_and_labels(command):
    source = numpy.random.default_rng(5)
    images = source.integers(0, 256, (700, 784), dtype=numpy.uint8)
    write_data(command.folder / "images.h5", inputs=images, labels=numpy.zeros(700, dtype="i4"), classes=2)
    found = check(command, "images.h5")
    assert found["others"] == ["/labels"] and found["arrays"][0]["stored"] == "uint8", found
    compare(found["arrays"][0], images, "images")
    assert {counts["verdict"] for counts in found["arrays"][0]["types"]} == {"safe"}
    prepared = check(command, "train.h5")
    with h5py.File(command.folder / "train.h5") as file:
        compare(prepared["arrays"][0], file["inputs"][:], "prepared")


def check_as_a_deck_normalises(command):
    """Of a table whose pressures are beyond fp16 as they are stored, and of other data by the training data's statistics."""
    source = numpy.random.default_rng(8)
    for name in ("pressures", "later"):
        inputs = source.normal(101325, 500, (300, 3)).astype("f4")
        write_data(command.folder / f"{name}.h5", inputs=inputs, targets=inputs[:, :1] * numpy.float32(1e-9))
        if name == "pressures":
            training = inputs[:240].astype("f8"), (inputs[:240, :1] * numpy.float32(1e-9)).astype("f8")
    command.write("pressures.toml", deck_text(run=dict(peak_flops=None, name="pressures", epochs=1),
                                              data=dict(train="pressures.h5", validation=0.2, batch=20, normalize="standard"),
                                              model=dict(type="mlp", hidden=[4], loss="mse")))
    for name in ("pressures", "later"):
        stored = check(command, f"{name}.h5")
        assert "normalize" not in stored and stored["arrays"][0]["types"][1]["verdict"] == "unsafe", stored
        found = check(command, f"{name}.h5", "--deck", "pressures.toml")
        assert found["normalize"] == "standard", found
        with h5py.File(command.folder / f"{name}.h5") as file:
            for array, values, of in zip(found["arrays"], (file["inputs"][:], file["targets"][:]), training):
                scaled = ((values.astype("f8") - of.mean(0)) * (1 / of.std(0))).astype("f4")
                assert array["types"][1]["overflows"] == 0 and array["types"][1]["verdict"] == "safe", array
                assert numpy.isclose(array["types"][1]["mean_error"], expected(scaled)["types"]["fp16"]["mean_error"], rtol=1e-2), array
    text = command.must("check-precision", "pressures.h5").stdout
    assert text.index("judged as they are stored") < text.index("unsafe"), "it is said first"
    for arguments in (("train.h5", "--deck", "pressures.toml"), ("text.h5", "--deck", "pressures.toml")):
        command.must("check-precision", *arguments, code=2)


def check_checkpoints(command):
    """Of a file and of a folder; masters and moments, not the scaler."""
    command.must("train", "deck.toml")
    found = check(command, "runs/small")
    assert found["kind"] == "checkpoint" and not found["others"], found
    arrays = {f"/{group}/{name}": array for group in ("model", "optimizer")
              for name, array in weights_of(command.folder / found["file"], [group]).items()}
    assert [array["array"] for array in found["arrays"]] == sorted(arrays), found
    for array in found["arrays"]:
        compare(array, arrays[array["array"]], array["array"])
    sums = {array["array"]: array for array in found["sums"]}
    assert set(sums) == {"all of /model", "all m of /optimizer", "all v of /optimizer"}, sums.keys()
    for name, last in (("all of /model", ""), ("all m of /optimizer", "/m"), ("all v of /optimizer", "/v")):
        group = "/model" if not last else "/optimizer"
        parts = [values.ravel() for path, values in sorted(arrays.items()) if path.startswith(group) and path.endswith(last)]
        compare(sums[name], numpy.concatenate(parts), name)
    assert sums["all v of /optimizer"]["types"][1]["verdict"] == "unsafe", "squares vanish in half"
    assert check(command, found["file"]) == found


def check_table_and_histogram(command):
    write_data(command.folder / "data.h5", inputs=numpy.array([[70000, 1, 1e-9, numpy.nan] + 96 * [0.5]], dtype="f4"))
    said = command.must("check-precision", "data.h5").stdout
    assert re.search(r"^/inputs +float32 +100 +1 +0 +0 +bf16 +0 +0 +0 +0\.00\d+ +\S+ +safe$", said, re.M), said
    assert re.search(r"^ +fp16 +1 +1 +0 +1 +\S+ +unsafe: 1 % overflow$", said, re.M), said
    assert "safe: nothing overflows" in said and "2^" not in said, said
    longer = command.must("check-precision", "data.h5", "--histogram").stdout
    assert longer.startswith(said), longer
    lines = dict(re.findall(r"^ +2\^(-?\d+) +(\d+)", longer, re.M))
    assert {int(e): int(n) for e, n in lines.items() if n != "0"} == {16: 1, 0: 1, -1: 96, -30: 1}, longer
    assert re.search(r"2\^16 .*overflows in fp16$", longer, re.M) and re.search(r"2\^-30 .*zero in fp16$", longer, re.M), longer


def check_threads(command):
    """They change nothing, in no digit."""
    source = numpy.random.default_rng(9)
    write_data(command.folder / "data.h5", inputs=(source.standard_normal((4000, 700)) * 1e-4).astype("f4"))
    said = [command.must("check-precision", "data.h5", "--json", variables={"OMP_NUM_THREADS": threads}).stdout
            for threads in ("1", "2", "5")]
    assert said[0] == said[1] == said[2]


def check_tokens(command):
    prepare_text(command, "to be or not to be " * 20)
    assert "380 tokens, which are whole numbers: there is nothing to check" in \
        command.must("check-precision", "text.h5").stdout
    assert check(command, "text.h5")["arrays"] == []


def check_conversion(command):
    """`convert --type` says what its file loses."""
    command.write("gpt.toml", deck_text(run=dict(peak_flops=None, name="gpt", steps=2), data=dict(train="text.h5", batch=2),
                                        model=dict(type="gpt", layers=1, heads=1, width=16, context=8),
                                        precision=dict(compute="fp32")))
    command.must("train", "gpt.toml")
    assert "overflow" not in command.must("convert", "runs/gpt", "gpt32.safetensors").stdout
    for name in ("fp16", "bf16"):
        folder = command.folder / name
        folder.mkdir()
        said = command.must("convert", "runs/gpt", f"{name}/gpt.safetensors", "--type", name).stdout
        counts = re.search(rf"^{name}: of (\d+) values (\d+) overflow, (\d+) go to zero, (\d+) become subnormal; relative "
                           r"error at most (\S+)$", said, re.M)
        assert counts, said
        found = check(command, "runs/gpt")
        whole = next(array for array in found["sums"] if array["array"] == "all of /model")
        of_type = next(t for t in whole["types"] if t["type"] == name)
        assert whole["values"] == int(counts.group(1)), said
        assert [of_type[key] for key in ("overflows", "to_zero", "subnormal")] == [int(n) for n in counts.groups()[1:4]], said
        assert (int(counts.group(4)) > 0) == (name == "fp16"), said  # weights near zero


def refuse(command, arguments, message, ranks=1):
    result = command.run("check-precision", *arguments, ranks=ranks)
    assert result.returncode == 2 and not result.stdout, f"{arguments}: {result.returncode}\n{result.stdout}"
    assert re.search(message, result.stderr), f"{arguments} says\n{result.stderr}and not\n{message}"
    assert result.stderr.count("mylos") >= 1 and "rror" not in result.stderr, result.stderr


def check_bad_input(command):
    refuse(command, ["none.h5"], r"^mylos: none\.h5: .* \[no-such-file\]$")
    refuse(command, ["deck.toml"], r"^mylos: deck\.toml: .*`mylos prepare`.* \[wrong-format\]$")
    (command.folder / "empty").mkdir()
    refuse(command, ["empty"], r"^mylos: empty: .* checkpoints/ \[no-checkpoint\]$")
    refuse(command, ["train.h5"], r"^mylos: mylos check-precision .* mpirun \[wrong-rank-count\]$", ranks=2)
    refuse(command, ["train.h5", "--json", "--histogram"], r"--(histogram|json) .* --(histogram|json) \[arguments-conflict\]\n")
    refuse(command, [], r"check-precision: file .* \[missing-argument\]\n")
    whole = (command.folder / "train.h5").read_bytes()
    (command.folder / "cut.h5").write_bytes(whole[:3000])
    refuse(command, ["cut.h5"], r"^mylos: cut\.h5: .*truncated file: eof = 3000.* \[truncated\]$")
    (command.folder / "changed.h5").write_bytes(whole)
    with h5py.File(command.folder / "changed.h5", "r+") as file:
        file["inputs"][17, 3] += 1
    refuse(command, ["changed.h5"], r"^mylos: changed\.h5: .*a value of /inputs in rows \d+ to \d+")
    write_data(command.folder / "double.h5", inputs=numpy.ones((4, 4)))
    refuse(command, ["double.h5"], r"^mylos: double\.h5: .*/inputs .*float64.* uint8 or float32 \[bad-dataset\]$")
    checkpoint = check(command, "runs/small")["file"]
    stored = bytearray((command.folder / checkpoint).read_bytes())
    stored[len(stored) // 2] ^= 1
    (command.folder / "damaged.h5").write_bytes(stored)
    refuse(command, ["damaged.h5"], r"^mylos: damaged\.h5: .*")


run_cases(prepare, check_datasets, check_bytes_and_labels, check_checkpoints, check_table_and_histogram, check_threads,
          check_tokens, check_as_a_deck_normalises, check_conversion, check_bad_input)
