"""mylos convert against a GPT-2 that was written and computed without Mylos."""
import json
import os
import re
import struct

import h5py
import numpy

import reference_gpt2
from small_problem import gpt_deck, prepare_text
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.command import Command
from support.run_folders import last_checkpoint, weights_of

SHAPE = dict(layers=3, width=48, context=20, vocabulary=101)
HEADS = 4


def write_gpt2(folder, *, prefix="transformer.", tied=True, word="F32", masks=False, config=True, seed=1):
    """FOLDER/model.safetensors and its weights, without prefix, as the file holds them."""
    folder.mkdir(exist_ok=True)
    tensors = reference_gpt2.random_weights(**SHAPE, tied=tied, seed=seed)
    stored = {name if name == "lm_head.weight" else prefix + name: tensor for name, tensor in tensors.items()}
    if masks:
        for i in range(SHAPE["layers"]):
            stored[f"{prefix}h.{i}.attn.bias"] = numpy.tri(SHAPE["context"], dtype=bool)[None, None]
            stored[f"{prefix}h.{i}.attn.masked_bias"] = numpy.array(-1e4, dtype=numpy.float32)
    reference_gpt2.write_safetensors(folder / "model.safetensors", stored, word)
    if config:
        write_config(folder, tied=tied)
    return {name: reference_gpt2.rounded(tensor, word) for name, tensor in tensors.items()}


def write_config(folder, tied=True, **changes):
    config = reference_gpt2.config_of(**SHAPE, heads=HEADS, tied=tied)
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def mylos_logits(command, program, checkpoint, tokens):
    tokens.astype(numpy.int32).tofile(command.folder / "tokens.bin")
    Command(program, command.folder).must(checkpoint, "tokens.bin", "logits.bin")
    return numpy.fromfile(command.folder / "logits.bin", numpy.float32).reshape(*tokens.shape, -1)


def check_logits(command, program):
    tokens = numpy.random.default_rng(7).integers(0, SHAPE["vocabulary"], (2, SHAPE["context"]))
    kinds = [dict(), dict(prefix="", masks=True, tied=False), dict(word="BF16"), dict(word="F16")]
    for number, kind in enumerate(kinds):
        folder = command.folder / f"logits{number}"
        weights = write_gpt2(folder, **kind)
        options = ["--pad-vocabulary", 128] if number % 2 else []
        command.must("convert", folder / "model.safetensors", "gpt2.h5", *options)
        ours = mylos_logits(command, program, "gpt2.h5", tokens)
        assert ours.shape[-1] == (128 if number % 2 else SHAPE["vocabulary"]), ours.shape
        exact = reference_gpt2.logits(weights, HEADS, tokens)
        error = numpy.abs(ours[..., :SHAPE["vocabulary"]] - exact).max()
        print(f"logits {kind}: largest {numpy.abs(exact).max():.3g}, error {error:.3g}")
        assert numpy.abs(exact).max() > 1 and error <= 1e-4, (kind, error)


def check_padding(command):
    """Rows of zeros in the embedding give logits of 0, far above those of the tokens here: they must not count."""
    tokens = numpy.random.default_rng(8).integers(0, SHAPE["vocabulary"], 3 * SHAPE["context"] + 1)
    tokens.astype(numpy.uint16).tofile(command.folder / "padding.bin")
    command.must("prepare", "tokens", "padding.bin", "--vocabulary", SHAPE["vocabulary"], "--out", "padding.h5")
    weights = write_gpt2(command.folder / "padding")
    weights["ln_f.weight"] = numpy.zeros_like(weights["ln_f.weight"])
    weights["ln_f.bias"] = -30 * numpy.ones_like(weights["ln_f.bias"])
    weights["wte.weight"] += 1
    reference_gpt2.write_safetensors(command.folder / "padding/model.safetensors",
                                     {"transformer." + name: tensor for name, tensor in weights.items()})
    rows = tokens[:-1].reshape(3, -1)
    logits = reference_gpt2.logits(weights, HEADS, rows)
    assert logits.max() < -100, logits.max()
    largest = logits.max(axis=-1)
    sums = largest + numpy.log(numpy.exp(logits - largest[..., None]).sum(axis=-1))
    expected = (sums - numpy.take_along_axis(logits, tokens[1:].reshape(3, -1, 1), axis=-1)[..., 0]).mean()
    said = []
    for padding in ([], ["--pad-vocabulary", 128]):
        command.must("convert", "padding/model.safetensors", "padded.h5", *padding)
        for ranks in (1, 2):
            said.append(command.must("eval", "padded.h5", "--data", "padding.h5", ranks=ranks).stdout)
    found = [tuple(map(float, re.search(r"loss ([\d.]+), .*accuracy ([\d.]+)", line).groups())) for line in said]
    assert len(set(found)) == 1, found
    assert abs(found[0][0] - expected) < 1e-3, (found, expected)


def check_there_and_back(command):
    """Their file -> our checkpoint -> their file: every tensor has the same bits."""
    for tied, padding in ((True, []), (True, ["--pad-vocabulary", 128]), (False, ["--pad-vocabulary", 128])):
        source, target = command.folder / "there", command.folder / f"back-{tied}-{len(padding)}"
        target.mkdir()
        weights = write_gpt2(source, tied=tied)
        command.must("convert", source / "model.safetensors", "there.h5", *padding)
        with h5py.File(command.folder / "there.h5") as file:
            token = file["/model/embedding/token"][:]
            assert numpy.array_equal(token[:SHAPE["vocabulary"]], weights["wte.weight"])
            assert not token[SHAPE["vocabulary"]:].any() and len(token) == (128 if padding else 101)
            assert ("/model/head/weight" in file) != tied
        command.must("convert", "there.h5", target / "model.safetensors")
        tensors, words = reference_gpt2.read_safetensors(target / "model.safetensors")
        assert words == {"F32"}
        names = {name if name == "lm_head.weight" else "transformer." + name: name for name in weights}
        assert tensors.keys() == names.keys(), tensors.keys() ^ names.keys()
        for name, tensor in tensors.items():
            assert tensor.tobytes() == weights[names[name]].tobytes(), name
        written = json.loads((target / "config.json").read_text())
        theirs = json.loads((source / "config.json").read_text())
        assert all(theirs[key] == value for key, value in written.items() if key in theirs), written


def write_deck(command, tied=True, bias=True, vocabulary=0):
    command.write("deck.toml", gpt_deck(run=dict(steps=3), data=dict(batch=4), model=dict(vocabulary=vocabulary, bias=bias, tied=tied),
                                        precision=dict(compute="fp32")))


def check_back_and_forth(command):
    """A network that Mylos trained -> their file -> checkpoint: same bits, same loss, also without biases."""
    prepare_text(command, "the quick brown fox jumps over the lazy dog. " * 40)
    for tied, bias, padded in ((True, True, 0), (False, False, 64)):
        run = f"runs/{tied}-{bias}"
        write_deck(command, tied=tied, bias=bias, vocabulary=padded)
        command.must("train", "deck.toml", f"run.folder={run}")
        command.must("convert", run, f"{run}/model.safetensors")
        command.must("convert", f"{run}/model.safetensors", "again.h5", "--pad-vocabulary", max(1, padded))
        before = weights_of(last_checkpoint(command, run))
        after = weights_of(command.folder / "again.h5")
        vocabulary = command.document(f"{run}/config.json")["vocab_size"]
        assert vocabulary == 28, vocabulary  # of the letters, the blank and the full stop
        for name, tensor in after.items():
            if name in ("embedding/token", "head/weight"):
                assert tensor.shape == before[name].shape, name
                assert before[name][:vocabulary].tobytes() == tensor[:vocabulary].tobytes(), name
            elif name in before:
                assert before[name].tobytes() == tensor.tobytes(), name
            else:
                assert not bias and name.endswith("bias") and not tensor.any(), name
        assert before.keys() <= after.keys()
        losses = [re.search(r"loss [\d.]+", command.must("eval", file, "--data", "text.h5").stdout).group(0)
                  for file in (run, "again.h5")]
        assert losses[0] == losses[1], losses  # what pads the vocabulary came back as zeros, and takes no probability
        assert "embedding/token" in command.must("info", "again.h5").stdout


def check_types(command):
    weights = write_gpt2(command.folder / "types")
    command.must("convert", "types/model.safetensors", "types.h5")
    for name, word in (("bf16", "BF16"), ("fp16", "F16")):
        (command.folder / name).mkdir()
        command.must("convert", "types.h5", f"{name}/model.safetensors", "--type", name)
        tensors, words = reference_gpt2.read_safetensors(command.folder / name / "model.safetensors")
        assert words == {word}, words
        for key, tensor in weights.items():
            assert numpy.array_equal(tensors["transformer." + key], reference_gpt2.rounded(tensor, word)), key
    assert command.must("convert", "--help").stdout.count("safetensors") > 1


def refuse(command, arguments, error_id, *parts):
    with command.writes_nothing():
        command.must_refuse(["convert", *arguments], error_id, *parts)


def check_bad_input(command):
    folder = command.folder / "bad"
    file = "bad/model.safetensors"
    good = write_gpt2(folder, prefix="", config=False)

    def refuse_tensors(change, error_id, *parts):
        tensors = dict(good)
        change(tensors)
        reference_gpt2.write_safetensors(folder / "model.safetensors", tensors)
        refuse(command, [file, "out.h5", "--heads", 4], error_id, f"{file}: ", *parts)

    refuse(command, [file, "out.h5"], "missing-argument", f"{file}: ", "bad/config.json", "--heads")
    refuse(command, [file, "out.h5", "--heads", 5], "bad-argument", f"{file}: 5 heads", "48")
    refuse(command, [file, "out.h5", "--heads", 4, "--type", "bf16"], "arguments-conflict", "--type", "float")
    refuse(command, [file, "out.safetensors"], "wrong-format", f"{file}: ", "out.safetensors")
    refuse(command, [file, "bad"], "not-a-file", "bad: ", "bad/gpt2.h5")
    refuse(command, ["nothing", "out.h5"], "no-such-file", "nothing: ")
    os.mkfifo(command.folder / "pipe")  # nobody writes: opening it would wait for ever
    refuse(command, ["pipe", "out.safetensors"], "not-a-file", "pipe: ", "read only once")

    refuse_tensors(lambda t: t.pop("wte.weight"),
                   "missing-dataset", "'transformer.wte.weight'")
    refuse_tensors(lambda t: (t.clear(), t.update({f"hidden{i}.weight": numpy.ones((2, 3), numpy.float32) for i in range(6)})),
                   "wrong-format", "GPT-2", "6 tensors", "hidden0.weight, hidden1.weight, hidden2.weight, hidden3.weight, ...",
                   f'run.initial = "{file}"', f"`mylos init DECK OUT.h5 --from {file}`")
    refuse_tensors(lambda t: t.pop("h.1.mlp.c_fc.bias"),
                   "missing-dataset", "'h.1.mlp.c_fc.bias'")
    refuse_tensors(lambda t: t.update({"h.1.attn.c_attn.weight": t["h.1.attn.c_attn.weight"].T}),
                   "bad-dataset", "'h.1.attn.c_attn.weight' is [144, 48]", "width 48", "[48, 144]")
    refuse_tensors(lambda t: t.update({"wpe.weight": t["wpe.weight"][0]}),
                   "bad-dataset", "'wpe.weight' is [48]", "matrix")
    refuse_tensors(lambda t: t.update({"h.7.ln_1.weight": t["ln_f.weight"]}),
                   "model-mismatch", "'h.7.ln_1.weight'", "3 layers")
    refuse_tensors(lambda t: t.update({"ln_f.bias": t["ln_f.bias"] > 0}),
                   "unsupported-feature", "'ln_f.bias'", "BOOL", "F32, F16 and BF16")

    for name, value in (("h.2.ln_2.weight", numpy.nan), ("h.1.attn.c_attn.weight", -numpy.inf)):
        wrong = good[name].copy()
        wrong.flat[7] = value
        refuse_tensors(lambda t: t.update({name: wrong}),
                       "not-finite", f"'{name}' has {value}", "element 7 (counted from 0)")

    write_gpt2(folder, prefix="")
    (folder / "loop").symlink_to("loop")
    refuse(command, [file, "bad/loop"], "cannot-write", "bad/loop: ", "Too many levels of symbolic links")
    refuse(command, [file, "n" * 300], "cannot-write", f"{'n' * 60}...: ", "File name too long")
    (folder / "config.json").rename(folder / "config")
    (folder / "config.json").symlink_to("config.json")
    refuse(command, [file, "out.h5"], "cannot-read", "bad/config.json: ", "Too many levels of symbolic links")
    (folder / "config.json").unlink()
    (folder / "config").rename(folder / "config.json")
    refuse(command, [file, "out.h5", "--heads", 8], "arguments-conflict", "--heads 8: ", "bad/config.json", " 4")
    for error_id, changes, found, expected in (
            ("model-mismatch", {"n_layer": 4}, "n_layer is 4", f"{file} has 3"),
            ("bad-value", {"n_layer": -4}, "n_layer ", "from 0 to 2147483647"),
            ("unsupported-feature", {"activation_function": "gelu"}, 'activation_function is "gelu"', '"gelu_new"'),
            ("unsupported-feature", {"n_inner": 96}, "n_inner is 96", "192"),
            ("unsupported-feature", {"model_type": "llama"}, 'model_type is "llama"', '"gpt2"'),
            ("unsupported-feature", {"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon is 1e-06", "1e-05"),
            ("unsupported-feature", {"scale_attn_weights": False}, "scale_attn_weights is false", "true"),
            ("unsupported-feature", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is true", "false"),
            ("unsupported-feature", {"add_cross_attention": True}, "add_cross_attention is true", "false"),
            ("unsupported-feature", {"tie_word_embeddings": 1}, "tie_word_embeddings is 1", "true")):
        write_config(folder, **changes)
        refuse(command, [file, "out.h5"], error_id, f"bad/config.json: {found}", expected)
    deep = 500_000
    (folder / "config.json").write_text('{"model_type":' + "[" * deep + "]" * deep + "}", encoding="utf-8")
    refuse(command, [file, "out.h5"], "unsupported-feature", "bad/config.json: model_type is an array", '"gpt2"')
    (folder / "config.json").write_text("{", encoding="utf-8")
    refuse(command, [file, "out.h5"], "wrong-format", "bad/config.json: ", "JSON")
    write_gpt2(folder, prefix="", tied=False)
    write_config(folder, tied=True)
    refuse(command, [file, "out.h5"], "model-mismatch", "bad/config.json: tie_word_embeddings is true", file, "'lm_head.weight'")

    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2 ** 63) + b"{}")
    refuse(command, [file, "out.h5"], "wrong-format", f"{file}: ", "safetensors")


def check_refused_exports(command):
    write_gpt2(command.folder / "one")
    command.must("convert", "one/model.safetensors", "one.h5")
    refuse(command, ["one.h5", "two.h5"], "bad-argument", "two.h5: ", ".safetensors")
    refuse(command, ["one.h5", "one.safetensors", "--heads", 4], "arguments-conflict", "--heads", "one.h5")
    for size in (102, 10**8, 2**62):
        replace_signed(command.folder / "one.h5", command.folder / "more.h5", {"/vocabulary/size": numpy.int64(size)})
        refuse(command, ["more.h5", "more.safetensors"], "damaged", "more.h5: ", f"{size} tokens", "101")
    write_config(command.folder / "one", vocabulary=7)
    refuse(command, ["one.h5", "one/model.safetensors"], "already-exists", "one/config.json: ")

    weights = reference_gpt2.random_weights(**SHAPE, tied=True, seed=1)
    weights["h.0.mlp.c_fc.bias"][5] = 70000
    reference_gpt2.write_safetensors(command.folder / "large.safetensors", weights)
    command.must("convert", "large.safetensors", "large.h5", "--heads", 4)
    refuse(command, ["large.h5", "half.safetensors", "--type", "fp16"], "not-finite", "half.safetensors: ",
           "'transformer.h.0.mlp.c_fc.bias' has 70000 at place 5", "F16")

    write_deck(command)
    command.must("train", "deck.toml", "run.folder=rotary", "model.positions=rotary")
    refuse(command, ["rotary", "rotary.safetensors"],
           "arguments-conflict", 'model.positions = "rotary"', "--names own")


run_cases(check_logits, check_padding, check_there_and_back, check_back_and_forth, check_types, check_bad_input,
          check_refused_exports, arguments=["program"])
