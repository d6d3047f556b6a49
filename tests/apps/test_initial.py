"""run.initial: runs that begin with the weights of a file, and `mylos convert` of any network's weights."""
import json
import pathlib
import re

import h5py
import numpy

import reference_gpt2
import safetensors_file
from small_problem import DECK, prepare
from support.cases import run_cases
from support.decks import deck_text
from support.run_folders import last_checkpoint, losses_of, weights_of

SHAPE = dict(layers=2, width=48, context=32, vocabulary=65)

FREEZE = """
[[optimizer.groups]]
match = ["embedding/*", "attention1/*"]
frozen = true
"""
FREEZE_ALL_BUT = """
[[optimizer.groups]]
match = "*"
frozen = true
[[optimizer.groups]]
match = "{}"
frozen = false
"""


def tune(steps, groups):
    return deck_text(run=dict(name="tune", initial="gpt2.h5", steps=steps), data=dict(train="text.h5", batch=8),
                     model=dict(type="gpt", layers=2, heads=4, width=48, context=32), precision=dict(compute="fp32"),
                     optimizer=dict(lr=3e-3)) + groups


def prepare_texts(command, repository):
    """text.h5, and window.h5: eight windows of it that are a whole batch."""
    text = pathlib.Path(repository, "inputs/data/tinyshakespeare.txt").read_text(encoding="utf-8")
    command.write("text.txt", text)
    command.write("window.txt", text[5000:5000 + 8 * SHAPE["context"] + 1])
    command.must("prepare", "text", "text.txt", "--out", "text.h5")
    command.must("prepare", "text", "window.txt", "--vocabulary", "text.h5", "--out", "window.h5")


def check_fine_tuning(command, repository):
    """A GPT-2 of Hugging Face, converted: the first loss is that of the file, further ones are lower, frozen weights stay."""
    prepare_texts(command, repository)
    (command.folder / "gpt2").mkdir()
    reference_gpt2.write_safetensors(command.folder / "gpt2/model.safetensors", {
        "transformer." + name: tensor * numpy.float32(0.2 if tensor.ndim == 2 else 1)
        for name, tensor in reference_gpt2.random_weights(**SHAPE, tied=True, seed=5).items()})
    command.write("gpt2/config.json", json.dumps(reference_gpt2.config_of(**SHAPE, heads=4, tied=True)))
    command.write("deck.toml", tune(60, FREEZE))

    command.must("convert", "gpt2/model.safetensors", "gpt2.h5")
    said = command.must("train", "deck.toml").stdout
    assert "run.initial: 28 of 28 parameters from gpt2.h5 (checkpoint of step 0)" in said, said
    losses = losses_of(command, "runs/tune")
    assert sum(losses[-10:]) / 10 < losses[0] - 0.4, losses
    before, after = weights_of(command.folder / "gpt2.h5"), weights_of(last_checkpoint(command, "runs/tune"))
    assert before.keys() == after.keys() and len(before) == 28
    for name, tensor in before.items():
        frozen = name.startswith(("embedding/", "attention1/"))
        assert (tensor.tobytes() == after[name].tobytes()) == frozen, name

    judged = float(re.search(r"loss ([\d.]+)", command.must("eval", "gpt2.h5", "--data", "window.h5").stdout).group(1))
    tokens = h5py.File(command.folder / "window.h5")["tokens"][:].astype(int)
    logits = reference_gpt2.logits(numpy_weights(command.folder / "gpt2/model.safetensors"), 4,
                                   tokens[:-1].reshape(8, -1))
    sums = numpy.log(numpy.exp(logits).sum(axis=-1))
    exact = (sums - numpy.take_along_axis(logits, tokens[1:].reshape(8, -1, 1), axis=-1)[..., 0]).mean()
    for ranks, keys in ((1, []), (2, []), (3, ["optimizer.shard=state"]), (2, ["optimizer.shard=gradients"])):
        run = f"runs/first{ranks}{len(keys)}"
        command.must("train", "deck.toml", f"run.folder={run}", "run.steps=1", "data.train=window.h5",
                     "data.window=sequential", *keys, ranks=ranks)
        first = losses_of(command, run)[0]
        assert abs(first - exact) < 1e-4 and abs(first - judged) < 6e-5, (ranks, keys, first, exact, judged)


def numpy_weights(path):
    return {name.removeprefix("transformer."): tensor for name, tensor in safetensors_file.read(path)[1].items()}


def check_restarts(command):
    """A run that is restarted goes on from its own checkpoint, and says nothing of the file, which may be gone."""
    command.must("train", "deck.toml", "run.folder=whole", "run.steps=12", "checkpoint.every=6")
    command.must("train", "deck.toml", "run.folder=cut", "run.steps=12", "checkpoint.every=6", "--stop-after", 6,
                 "--restart", "auto", code=85)
    (command.folder / "gpt2.h5").rename(command.folder / "gone.h5")
    said = command.must("train", "deck.toml", "run.folder=cut", "run.steps=12", "checkpoint.every=6", "--restart", "auto")
    (command.folder / "gone.h5").rename(command.folder / "gpt2.h5")
    assert "run.initial" not in said.stdout and "restarted from" in said.stdout, said.stdout
    whole, cut = (weights_of(last_checkpoint(command, run)) for run in ("whole", "cut"))
    assert all(tensor.tobytes() == cut[name].tobytes() for name, tensor in whole.items())


def check_round_trip(command):
    """Any network -> LAYER.PARAMETER in safetensors -> any network: the same bits."""
    layers = "\n".join(f"[[model.layers]]\nkind = \"dense\"\n{rest}" for rest in
                       ("name = \"body\"\noutputs = 16\nactivation = \"relu\"\nrepeat = 2", "name = \"top\""))
    chain = re.sub(r"\[model\].*?\[precision\]", f"[model]\ntype = \"chain\"\n{layers}\n[precision]", DECK, flags=re.S)
    for number, deck in enumerate((DECK, chain)):
        prepare(command, deck)
        run = f"net{number}"
        command.must("train", "deck.toml", f"run.folder={run}", "run.epochs=1")
        said = command.must("convert", run, f"{run}.safetensors").stdout
        before = weights_of(last_checkpoint(command, run))
        assert f"{run}.safetensors: {len(before)} tensors" in said, said
        tensors, words = reference_gpt2.read_safetensors(command.folder / f"{run}.safetensors")
        assert words == {"F32"}
        assert tensors.keys() == {".".join(name.rsplit("/", 1)) for name in before}, tensors.keys()
        for name, tensor in before.items():
            own = tensors[".".join(name.rsplit("/", 1))]
            assert own.shape == tensor.shape and own.tobytes() == tensor.tobytes(), name
        moves = ("head/bias", "top/bias")[number]
        command.write("deck.toml", deck + FREEZE_ALL_BUT.format(moves))
        for ranks, keys in ((1, []), (3, ["optimizer.shard=state"]), (1, ["precision.masters=none"]),
                            (2, ["precision.masters=none", "optimizer.shard=gradients"])):
            folder = f"{run}-{ranks}{len(keys)}"
            command.must("train", "deck.toml", f"run.folder={folder}", "run.epochs=1", f"run.initial={run}.safetensors",
                         "run.seed=9", *keys, ranks=ranks)
            after = weights_of(last_checkpoint(command, folder))
            word = "BF16" if "precision.masters=none" in keys else "F32"
            for name, tensor in before.items():
                as_taken = reference_gpt2.rounded(tensor, word).tobytes() == after[name].tobytes()
                assert as_taken or name == moves, (name, ranks, keys)
    command.must("convert", "net0", "half.safetensors", "--type", "bf16")
    halves, words = reference_gpt2.read_safetensors(command.folder / "half.safetensors")
    assert words == {"BF16"}
    for name, tensor in weights_of(last_checkpoint(command, "net0")).items():
        assert numpy.array_equal(halves[name.replace("/", ".")], reference_gpt2.rounded(tensor, "BF16")), name


def check_average(command):
    """initial.average: a run begins with the moving average that a checkpoint keeps."""
    prepare(command, DECK)
    command.must("train", "deck.toml", "run.folder=averaging", "run.epochs=1", "optimizer.average=0.9")
    checkpoint = last_checkpoint(command, "averaging")
    average = weights_of(checkpoint, ["average"])
    assert average.keys() == weights_of(checkpoint).keys()
    assert any(tensor.tobytes() != weights_of(checkpoint)[name].tobytes() for name, tensor in average.items())
    command.write("deck.toml", DECK + FREEZE_ALL_BUT.format("head/bias"))
    for ranks, keys in ((1, []), (3, ["optimizer.shard=state"]), (1, ["optimizer.average=0.5"])):
        folder = f"averaged-{ranks}{len(keys)}"
        said = command.must("train", "deck.toml", f"run.folder={folder}", "run.epochs=1", f"run.initial={checkpoint}",
                            "initial.average=true", *keys, ranks=ranks).stdout
        assert "(average of weights in the checkpoint of step " in said, said
        after = weights_of(last_checkpoint(command, folder))
        assert all(tensor.tobytes() == after[name].tobytes() for name, tensor in average.items() if name != "head/bias"), \
            (ranks, keys)
    without = last_checkpoint(command, "averaged-10")
    for file, error_id, part in ((without, "no-average", "optimizer.average"), ("net0.safetensors", "no-average", "initial.average")):
        command.must_refuse(["train", "deck.toml", "run.folder=refused", f"run.initial={file}", "initial.average=true"],
                            error_id, f"mylos: {file}: ", part)
        assert not (command.folder / "refused").exists()


def check_kinds_of_files(command):
    """A run's folder and exported models begin a run as its newest checkpoint does."""
    newest = last_checkpoint(command, "averaging")
    command.must("export", "averaging", "whole.h5", "--type", "fp32")
    command.must("export", "averaging", "narrow.h5", "--type", "bf16")
    command.write("deck.toml", DECK + FREEZE_ALL_BUT.format("head/bias"))
    step = int(newest.stem.removeprefix("step-"))
    for number, (file, kind) in enumerate((("averaging", f"{newest.relative_to(command.folder)} (checkpoint of step {step})"),
                                           ("averaging/checkpoints", f"(checkpoint of step {step})"),
                                           ("whole.h5", f"whole.h5 (model file of step {step})"),
                                           ("narrow.h5", f"narrow.h5 (model file of step {step})"))):
        said = command.must("train", "deck.toml", f"run.folder=kinds{number}", "run.epochs=1",
                            f"run.initial={file}", ranks=1 + number % 2).stdout
        assert kind in said, said
        after = weights_of(last_checkpoint(command, f"kinds{number}"))
        for name, tensor in weights_of(newest).items():
            if file == "narrow.h5":
                tensor = reference_gpt2.from_bf16(reference_gpt2.to_bf16(tensor))
            assert name == "head/bias" or tensor.tobytes() == after[name].tobytes(), (file, name)
    (command.folder / "empty").mkdir()
    command.must_refuse(["train", "deck.toml", "run.folder=refused", "run.initial=empty"], "no-checkpoint", "empty: ")


def check_own_names_of_a_gpt(command):
    command.must("convert", "gpt2.h5", "own.safetensors", "--names", "own")
    tensors, _ = reference_gpt2.read_safetensors(command.folder / "own.safetensors")
    before = weights_of(command.folder / "gpt2.h5")
    assert all(tensors[name.replace("/", ".")].tobytes() == tensor.tobytes() for name, tensor in before.items())
    command.write("gpt.toml", tune(1, FREEZE_ALL_BUT.format("final_norm/bias")))
    command.must("train", "gpt.toml", "run.initial=own.safetensors", "run.folder=own")
    after = weights_of(last_checkpoint(command, "own"))
    assert all(after[name].tobytes() == tensor.tobytes() for name, tensor in before.items() if name != "final_norm/bias")


def check_mistakes(command):
    """Each is told in one line, before anything is written."""
    deck = DECK + '[initial]\nexclude = "hed/*"\n[[initial.rename]]\nfrom = "hiden*"\nto = "hidden*"\n'
    prepare(command, deck)
    line = deck.count("\n", 0, deck.index("exclude")) + 1

    def refuse(refusal, *keys):
        error_id, start, *parts = refusal
        result = command.must_refuse(["train", "deck.toml", "run.folder=refused", *keys], error_id, *parts)
        assert result.stderr.startswith(f"mylos: {start}") and result.stderr.count("\n") == 1, result.stderr
        assert not (command.folder / "refused").exists()

    refuse(("key-without-effect", f"deck.toml:{line}: 'initial.exclude'", "run.initial"))
    refuse(("unknown-name", f"deck.toml:{line}: initial.exclude: 'hed/*'", " head/"), "run.initial=net0.safetensors")
    refuse(("unknown-name", f"deck.toml:{line + 1}: initial.rename: 'hiden*'", "net0.safetensors", " hidden"),
           "run.initial=net0.safetensors", "initial.exclude=head/*")
    command.write("deck.toml", DECK)
    refuse(("model-mismatch", "net0.safetensors: tensor 'hidden1.weight' is [32, 8]", "hidden1/weight of this model is [33, 8]"),
           "run.initial=net0.safetensors", "model.hidden=[33,16]")
    refuse(("model-mismatch", "gpt2/model.safetensors: has no hidden1/weight, hidden1/bias, "), "run.initial=gpt2/model.safetensors")
    assert "`mylos convert gpt2/model.safetensors gpt2.h5`" in command.run(
        "train", "deck.toml", "run.folder=refused", "run.initial=gpt2/model.safetensors").stderr
    data = (command.folder / "net0.safetensors").read_bytes()
    (command.folder / "cut.safetensors").write_bytes(data[:-100])
    refuse(("truncated", "cut.safetensors: "), "run.initial=cut.safetensors")
    checkpoint = bytearray(last_checkpoint(command, "net0").read_bytes())
    checkpoint[len(checkpoint) // 2] ^= 4
    (command.folder / "damaged.h5").write_bytes(checkpoint)
    refuse(("damaged", "damaged.h5: "), "run.initial=damaged.h5")
    said = command.must("train", "deck.toml", "--check", "run.initial=net0.safetensors", "initial.exclude=head/*").stdout
    assert "#   hidden1/weight [32, 8] = hidden1.weight\n" in said and "#   drawn, not taken: head/" in said, said


run_cases(check_fine_tuning, check_restarts, check_round_trip, check_average, check_kinds_of_files, check_own_names_of_a_gpt,
          check_mistakes, arguments=["repository"])
