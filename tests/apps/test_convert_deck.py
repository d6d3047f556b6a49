"""mylos convert NET.safetensors OUT.h5 --deck DECK: what PyTorch's files hold becomes the network of a deck, bit for bit."""
import json
import struct

import numpy

import reference_gpt2
from foreign_networks import deck, outputs_of, random_tensors
from safetensors_file import write
from small_problem import gpt_deck
from support.cases import run_cases
from support.data_files import read_data, write_data
from support.decks import layers
from support.run_folders import weights_of

# Taps, groups and points that no other order of them has.
NET = deck("net", "inputs = 48\noutputs = 3\n" + layers(
    'conv name = "first"; outputs = 6; kernel = [3, 1]; activation = "relu"',
    'conv name = "grouped"; outputs = 6; kernel = 3; groups = 3; norm = "batchnorm"',
    'conv name = "larger"; outputs = 4; kernel = 2; stride = 2; padding = 0; transposed = true; norm = "groupnorm"; norm_groups = 2',
    'max_pool', 'dense name = "flat"; outputs = 5; activation = "relu"', 'dense name = "head"'), [6, 4, 2])
LAYERS = {"first": "net.0", "grouped": "net.2", "grouped.norm": "net.3", "larger": "net.4", "larger.norm": "net.5",
          "flat": "net.8", "head": "net.10"}
VECTORS = deck("vectors", 'type = "mlp"\nhidden = [4]\ninputs = 3\noutputs = 2')
SPECTRAL = deck("spectral", "inputs = 84\noutputs = 126\n" + layers("spectral outputs = 3; modes = [4, 5]"), [6, 7, 2])
TWO_LAYERS = {"b.weight": (4, 3), "b.bias": (4,), "a.weight": (2, 4), "a.bias": (2,)}


def pytorch_tensors(command):
    """The drawn network under PyTorch's names and in its order of axes, which test_init.py checks, and its weights."""
    command.write("net.toml", NET)
    command.must("init", "net.toml", "drawn.h5")
    command.must("convert", "drawn.h5", "drawn.safetensors")
    tensors, _ = reference_gpt2.read_safetensors(command.folder / "drawn.safetensors")
    state = {}
    for layer, theirs in LAYERS.items():
        for part in ("weight", "bias", "running_mean", "running_variance"):
            if f"{layer}.{part}" in tensors:
                state[f"{theirs}.{part.replace('variance', 'var')}"] = tensors[f"{layer}.{part}"]
    state["net.3.num_batches_tracked"] = numpy.array(7, numpy.int64)
    return state, weights_of(command.folder / "drawn.h5")


def check_grids(command, program):
    """Any order of the file, with its order stated or numbers in its names, gives the same bits and outputs."""
    state, own = pytorch_tensors(command)
    by_name = dict(sorted(state.items()))
    x = numpy.random.default_rng(1).standard_normal((3, 48))
    expected = outputs_of(command, program, "drawn.h5", x)
    words = {name.replace("net.", "abc"[int(name.split(".")[1]) % 3]): tensor for name, tensor in state.items()}
    for tensors, order in ((state, None), (by_name, None), (by_name, list(state)), (dict(sorted(words.items())), list(words))):
        write(command.folder / "net.safetensors", tensors, order)
        said = command.must("convert", "net.safetensors", "net.h5", "--deck", "net.toml").stdout
        found = weights_of(command.folder / "net.h5")
        assert found.keys() == own.keys()
        assert all(found[name].tobytes() == array.tobytes() for name, array in own.items()), [
            name for name, array in own.items() if found[name].tobytes() != array.tobytes()]
        assert outputs_of(command, program, "net.h5", x).tobytes() == expected.tobytes()
    for row in ("[6, 2, 3, 1] F32", "first/weight", "[6, 6] channels last, by order", "counts batches", "normalisation: none",
                f"net.h5: checkpoint of step 0, {sum(a.size for n, a in own.items() if 'running' not in n)} parameters"):
        assert row in said, (row, said)
    write_data(command.folder / "data.h5", inputs=x.astype(numpy.float32), targets=numpy.zeros((3, 3), numpy.float32))
    command.must("predict", "net.h5", "data.h5", "out.h5")
    assert numpy.allclose(read_data(command.folder / "out.h5", "outputs").ravel(), expected, atol=1e-5)
    assert "loss " in command.must("eval", "net.h5", "--data", "data.h5").stdout
    command.must("init", "net.toml", "again.h5", "--from", "net.h5")
    assert all(array.tobytes() == own[name].tobytes() for name, array in weights_of(command.folder / "again.h5").items())


def check_types(command):
    """Values come exactly from 16 bits, and rounded from double."""
    command.write("vectors.toml", VECTORS)
    exact = random_tensors(TWO_LAYERS, numpy.float64)
    for dtype in ("float32", "float64", "float16", "uint16"):
        stored, expected = {}, {}
        for name, tensor in exact.items():
            bits = tensor.astype(numpy.float32).view(numpy.uint32) >> 16
            stored[name] = bits.astype(numpy.uint16) if dtype == "uint16" else tensor.astype(dtype)
            expected[name] = stored[name].astype(numpy.float32)
            if dtype == "uint16":
                expected[name] = (bits << 16).astype(numpy.uint32).view(numpy.float32)
        write(command.folder / "types.safetensors", stored)
        command.must("convert", "types.safetensors", "types.h5", "--deck", "vectors.toml")
        found = weights_of(command.folder / "types.h5")
        for ours, theirs in {"hidden1": "b", "head": "a"}.items():
            for part in ("weight", "bias"):
                assert found[f"{ours}/{part}"].tobytes() == expected[f"{theirs}.{part}"].tobytes(), (dtype, ours, part)


def check_without_length(command):
    """No deck here has run.steps or run.epochs: only a run needs them."""
    command.write("vectors.toml", VECTORS)
    command.plan("vectors.toml")
    command.must("init", "vectors.toml", "drawn.h5")
    command.must("export", "drawn.h5", "drawn-model.h5")
    command.must_refuse(["train", "vectors.toml"], "missing-key", "'run.epochs'", "'run.steps'")


def check_maps(command):
    """A map exchanges layers, transposes and leaves out."""
    state = random_tensors(TWO_LAYERS)
    state["a.weight"], state["loss.scale"] = state["a.weight"].T.copy(), numpy.ones(9, numpy.float32)
    write(command.folder / "mapped.safetensors", state)
    command.write("map.txt", "# ours\na.weight head/weight transposed\nloss.scale -\n")
    said = command.must("convert", "mapped.safetensors", "mapped.h5", "--deck", "vectors.toml", "--map", "map.txt").stdout
    assert "transposed, by map" in said and "not used, by the map" in said, said
    found = weights_of(command.folder / "mapped.h5")
    assert numpy.array_equal(found["head/weight"], state["a.weight"].T)
    command.write("map.toml", '"loss.scale" = "-"\n"b.weight" = "hidden1/weight"\n')
    command.must("convert", "mapped.safetensors", "mapped.h5", "--deck", "vectors.toml", "--map", "map.toml")
    assert numpy.array_equal(weights_of(command.folder / "mapped.h5")["head/weight"], state["a.weight"].T)


def check_gpt2(command):
    """With a deck, GPT-2's names give the same weights as without one, in both orientations of linear layers."""
    shape = dict(layers=2, width=32, context=16, vocabulary=11)
    tensors = reference_gpt2.random_weights(**shape, tied=True, seed=3)
    command.write("gpt.toml", gpt_deck(run=dict(steps=1), data=dict(train=None), model=dict(vocabulary=11), precision=dict(compute="fp32")))
    write(command.folder / "gpt.safetensors", {"transformer." + name: tensor for name, tensor in tensors.items()})
    command.must("convert", "gpt.safetensors", "plain.h5", "--heads", 2)
    plain = weights_of(command.folder / "plain.h5")
    linear = {name: tensor.T.copy() if name.startswith("h.") and tensor.ndim == 2 else tensor
              for name, tensor in tensors.items()}
    head = {"lm_head.weight": tensors["wte.weight"]}
    for state in (tensors, linear, tensors | head):
        write(command.folder / "gpt.safetensors",
              {name if name in head else "transformer." + name: tensor for name, tensor in state.items()})
        command.must("convert", "gpt.safetensors", "gpt.h5", "--deck", "gpt.toml")
        found = weights_of(command.folder / "gpt.h5")
        assert found.keys() == plain.keys() and all(found[name].tobytes() == array.tobytes() for name, array in plain.items())
    write(command.folder / "gpt.safetensors", {"transformer." + name: tensor for name, tensor in tensors.items()} |
          {"lm_head.weight": tensors["wte.weight"] + 1})
    refuse(command, ["gpt.safetensors", "no.h5", "--deck", "gpt.toml"], "model-mismatch", "'lm_head.weight'", "model.tied")


def spectral_convolution(x, weight, bias):
    """neuraloperator's SpectralConv of two dimensions: x [samples, inputs, h, w], weight [inputs, outputs, modes ...]."""
    coefficients = numpy.fft.fftshift(numpy.fft.rfft2(x, norm="forward"), axes=-2)
    height, width = x.shape[2:]
    first = height // 2 - weight.shape[2] // 2
    kept = numpy.s_[..., first:first + weight.shape[2], :weight.shape[3]]
    result = numpy.zeros((len(x), weight.shape[1], height, width // 2 + 1), complex)
    result[kept] = numpy.einsum("nihw,iohw->nohw", coefficients[kept], weight)
    columns = numpy.fft.ifft(numpy.fft.ifftshift(result, axes=-2), axis=-2, norm="forward")
    columns[..., 0].imag = 0
    return numpy.fft.irfft(columns, n=width, axis=-1, norm="forward") + bias


def check_spectral(command, program):
    """Complex weights of modes, and the same as real pairs, give NumPy's outputs by its FFT."""
    command.write("spectral.toml", SPECTRAL)
    source = numpy.random.default_rng(4)
    weight = (source.standard_normal((2, 3, 4, 3, 2)) @ [1, 1j]).astype(numpy.complex64)
    bias = source.standard_normal((3, 1, 1)).astype(numpy.float32)
    x = source.standard_normal((5, 2, 6, 7)).astype(numpy.float32)
    expected = numpy.moveaxis(spectral_convolution(x.astype(float), weight, bias), 1, -1)
    stored = set()
    for form in (weight, numpy.stack([weight.real, weight.imag], -1)):
        write(command.folder / "spectral.safetensors", {"fno_blocks.convs.0.weight.tensor": form, "fno_blocks.convs.0.bias": bias})
        said = command.must("convert", "spectral.safetensors", "spectral.h5", "--deck", "spectral.toml").stdout
        assert "neuraloperator" not in said, said
        found = outputs_of(command, program, "spectral.h5", numpy.moveaxis(x, 1, -1)).reshape(expected.shape)
        assert numpy.abs(found - expected).max() < 1e-5 * numpy.abs(expected).max(), numpy.abs(found - expected).max()
        stored.add(weights_of(command.folder / "spectral.h5")["spectral1/weight"].tobytes())
    assert len(stored) == 1
    odd = SPECTRAL.replace("[6, 7, 2]", "[5, 7, 2]").replace("inputs = 84", "inputs = 70").replace("outputs = 126", "outputs = 105")
    command.write("odd.toml", odd)
    said = command.must("convert", "spectral.safetensors", "odd.h5", "--deck", "odd.toml").stdout
    assert "note: neuraloperator 2.0.0 shifts wave numbers" in said, said
    write(command.folder / "spectral.safetensors", {"c.weight": weight[:, :, 1:], "c.bias": bias})
    refuse(command, ["spectral.safetensors", "no.h5", "--deck", "spectral.toml"], "model-mismatch", "c.weight [2, 3, 3, 3, 2]",
           "spectral1/weight [2, 3, 4, 3, 2]")


def refuse(command, arguments, error_id, *parts):
    with command.writes_nothing():
        command.must_refuse(["convert", *arguments], error_id, *parts)


def check_bad_input(command):
    good = random_tensors(TWO_LAYERS)
    vectors = ["--deck", "vectors.toml"]

    def refused(change, error_id, *parts, text=None):
        tensors = dict(good)
        change(tensors)
        write(command.folder / "bad.safetensors", tensors)
        more = []
        if text is not None:
            (command.folder / "bad.txt").write_bytes(text)
            more = ["--map", "bad.txt"]
        refuse(command, ["bad.safetensors", "no.h5", *vectors, *more], error_id, *parts)

    keep = lambda tensors: None
    refused(lambda t: t.update({"more": numpy.ones((2, 5), numpy.float32)}), "model-mismatch",
            "bad.safetensors: ", "more [2, 5]", "--map")
    refused(lambda t: t.pop("a.bias"), "model-mismatch", "head/bias [2]")
    refused(lambda t: t.update({"head.weight": numpy.ones((2, 9), numpy.float32)}), "model-mismatch",
            "head.weight [2, 9]")
    refused(lambda t: t.update({"head.bias": t["a.bias"], "head/bias": t["a.bias"]}), "duplicate-key", "'head.bias'", "'head/bias'")
    refused(lambda t: t.update({"a.bias": numpy.array([True, False])}), "unsupported-feature", "'a.bias'", "BOOL")
    refused(lambda t: t.update({"a.bias": numpy.array([1, 2])}), "unsupported-feature", "'a.bias'", "I64")
    refused(lambda t: t.update({"a.bias": numpy.array([1, 1e39])}), "not-finite", "'a.bias'", "1e+39", "element 1")
    refused(lambda t: t.update({"a.bias": numpy.array([1, numpy.nan], numpy.float32)}), "not-finite", "'a.bias'", "element 1")
    refused(keep, "unknown-name", "bad.txt:1: ", "'a.wight'", "a.weight", text=b"a.wight head/weight\n")
    refused(keep, "unknown-name", "bad.txt:2: ", "'head/wight'", "head/weight", text=b"\na.weight head/wight\n")
    refused(keep, "duplicate-key", "bad.txt:2: ", "bad.txt:1", text=b"a.weight head/weight\na.weight hidden1/weight\n")
    refused(keep, "bad-row", "bad.txt:1: ", text=b"a.weight\n")
    refused(keep, "model-mismatch", "bad.txt:1: ", "[4, 3]", "[2, 4]", text=b"b.weight head/weight\n")
    refused(keep, "wrong-format", "bad.txt: ", text=b"a.weight\0 head/weight")

    write(command.folder / "bad.safetensors", good)
    refuse(command, ["bad.safetensors", "no.h5", *vectors, "--map", "none.txt"], "no-such-file", "none.txt")
    refuse(command, ["bad.safetensors", "no.h5", "--deck", "none.toml"], "no-such-file", "none.toml")
    for option in (["--heads", 4], ["--type", "bf16"], ["--names", "own"], ["--pad-vocabulary", 8]):
        refuse(command, ["bad.safetensors", "no.h5", *vectors, *option], "arguments-conflict", option[0])
    refuse(command, ["bad.safetensors", "no.h5", "--map", "map.txt"], "arguments-conflict", "--map")
    refuse(command, ["types.h5", "no.safetensors", *vectors], "arguments-conflict", "--deck", "types.h5")
    refuse(command, ["bad.safetensors", "no.safetensors", *vectors], "wrong-format", "no.safetensors")
    refuse(command, ["drawn.safetensors", "no.h5", "--deck", "net.toml"], "wrong-format",
           "mylos init DECK OUT.h5 --from drawn.safetensors")
    refuse(command, ["bad.safetensors", "vectors.toml", *vectors], "arguments-conflict", "vectors.toml")

    for name, content in (("net.pt", b"PK\3\4" + bytes(60)), ("net.pth", b"\x80\2}q\0."),
                          ("pytorch_model.bin", b"x" * 40), ("net.zip", b"PK\3\4")):
        (command.folder / name).write_bytes(content)
        for more in (vectors, []):
            refuse(command, [name, "no.h5", *more], "wrong-format", f"{name}: ", "torch.load",
                   "safetensors.torch.save_file", '{"mylos.order": "\\n".join(state)}')
    (command.folder / "net.onnx").write_bytes(b"\x08\x08\x12\x07pytorch" + bytes(60))
    refuse(command, ["net.onnx", "no.h5", *vectors], "wrong-format", "net.onnx: is an ONNX file", "without --deck", 'onnx.load("net.onnx")')
    write(command.folder / "good.safetensors", good)
    content = (command.folder / "good.safetensors").read_bytes()
    length, = struct.unpack("<Q", content[:8])
    begins_as_archive = struct.pack("<Q", 0x4b50) + content[8:8 + length].ljust(0x4b50) + content[8 + length:]
    for name, content in (("good.bin", content), ("archive.safetensors", begins_as_archive)):
        (command.folder / name).write_bytes(content)
        command.must("convert", name, "good.h5", *vectors)
    write(command.folder / "empty.safetensors", {})
    refuse(command, ["empty.safetensors", "no.h5", *vectors], "model-mismatch", "empty.safetensors: ", 'state["state_dict"]')
    command.write("notes.h5", "notes")
    refuse(command, ["good.safetensors", "notes.h5", *vectors], "already-exists", "notes.h5: ")
    refuse(command, ["good.safetensors", "no.onnx", *vectors], "bad-argument", "no.onnx: ", "mylos export")
    (command.folder / "claims.safetensors").write_bytes(struct.pack("<Q", 2 ** 40) + b"{}")
    refuse(command, ["claims.safetensors", "no.h5", *vectors], "wrong-format", "claims.safetensors: is not a safetensors file")
    header = json.dumps({"a": {"dtype": "F32", "shape": [2 ** 40, 2 ** 40], "data_offsets": [0, 4]}}).encode()
    (command.folder / "claims.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    refuse(command, ["claims.safetensors", "no.h5", *vectors], "too-large", "claims.safetensors: ", "'a'")


run_cases(check_grids, check_types, check_without_length, check_maps, check_gpt2, check_spectral, check_bad_input,
          arguments=["program"])
