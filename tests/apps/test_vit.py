"""Vision transformers: losses, gradients and steps are NumPy's; the same bits on any ranks, with recomputation, shards and after a restart;
the resolved deck is the same network; patches that do not fit are refused."""
import pathlib
import tempfile

import numpy

from chain_comparison import compare_run
from random_chains import Deck
from support.cases import run_cases
from support.command import Command
from support.data_files import write_data
from support.decks import deck_text, sections_text
from support.run_folders import compare, compare_runs, losses_of

PLANE = dict(type="vit", patch=[2, 4], width=12, heads=3, blocks=2, fields=2)
CLASSES = dict(type="vit", patch=4, width=8, heads=2, blocks=1, norm="rmsnorm", channel_mlp=2.5)
VOLUME = dict(type="vit", patch=[1, 2, 2], width=9, heads=1, blocks=1, activation="tanh")


def arrays_of(shape, outputs, classes=0):
    source = numpy.random.default_rng(3)
    inputs = source.normal(size=(21, numpy.prod(shape))).astype("f4")
    if classes:
        return {"inputs": inputs, "labels": source.integers(0, classes, 21).astype("i4"), "classes": classes}
    return {"inputs": inputs, "targets": source.normal(size=(21, outputs)).astype("f4")}


def check_numbers(command):
    for model, shape, arrays in ((PLANE, [4, 8, 3], arrays_of([4, 8, 3], 4 * 8 * 2)), (CLASSES, [16, 2], arrays_of([16, 2], 0, 5)),
                                 (VOLUME, [3, 4, 2, 2], arrays_of([3, 4, 2, 2], 24)), (PLANE | dict(fields=0), [4, 8, 1], arrays_of([4, 8, 1], 3))):
        loss = "mse" if "targets" in arrays else "cross_entropy"
        sections = dict(run=dict(peak_flops=1e12, steps=2, seed=11, folder="run"),
                        data=dict(train="data.h5", test="test.h5", batch=7, micro_batch=3, shape=shape, normalize="standard"),
                        model=model | dict(loss=loss), precision=dict(compute="fp32"),
                        optimizer=dict(type="sgd", momentum=0.0, lr=0.05, weight_decay=0.0), checkpoint=dict(every=1, keep_last=0))
        folder = pathlib.Path(tempfile.mkdtemp(dir=command.folder))
        inner = Command(command.program, folder)
        inner.write("deck.toml", sections_text(sections))
        test = {name: values if isinstance(values, int) else values[::-1][:7] for name, values in arrays.items()}
        write_data(folder / "data.h5", **arrays)
        write_data(folder / "test.h5", **test)
        inner.must("train", "deck.toml")
        compare_run(inner, Deck(sections, [], arrays), test)


def fields_deck(**more):
    return deck_text(run=dict(name="vit", steps=8, reproducible=True, log_every=1), data=dict(train="fields.h5", batch=8, micro_batch=2, shape=[4, 8, 3]),
                     model=PLANE | dict(loss="mse", dropout=0.1) | more, optimizer=dict(lr=1e-3), checkpoint=dict(every=4, keep_last=0))


def check_ranks_and_restarts(command):
    write_data(command.folder / "fields.h5", **arrays_of([4, 8, 3], 64))
    for compute in ("fp32", "bf16", "fp16"):
        command.write("deck.toml", fields_deck())
        command.must("train", "deck.toml", f"precision.compute={compute}", f"run.folder=whole-{compute}")
        for ranks, *keys in ((2, "optimizer.shard=state"), (4,), (1, "memory.recompute=all")) if compute == "bf16" else ((2, "memory.recompute=every 3"),):
            command.must("train", "deck.toml", f"precision.compute={compute}", f"run.folder=other-{compute}-{ranks}", *keys, ranks=ranks)
            compare_runs(command, f"whole-{compute}", f"other-{compute}-{ranks}")
    command.must("train", "deck.toml", "precision.compute=bf16", "run.folder=again", "--restart", "whole-bf16/checkpoints/step-0000000004.h5", ranks=2)
    compare_runs(command, "whole-bf16", "again")
    losses = losses_of(command, "whole-fp32")
    command.must("train", "deck.toml", "precision.compute=fp32", "run.reproducible=false", "run.folder=three", ranks=3)
    numpy.testing.assert_allclose(losses_of(command, "three"), losses, rtol=1e-5)
    assert len(losses) == 8 and losses[-1] < losses[0], losses


def check_resolved_deck(command):
    resolved = command.text("whole-bf16/resolved.toml")
    assert 'type = "chain"' in resolved and resolved.count('kind = "attention"') == 2 and resolved.count("heads = 3") == 2, resolved
    command.write("chain.toml", resolved)
    command.must("train", "chain.toml", "run.folder=chain")
    last = "checkpoints/step-0000000008.h5"
    compare(command.folder / "whole-bf16" / last, command.folder / "chain" / last, "its resolved deck")


def check_refusals(command):
    def refuse(error, *parts, **keys):
        command.write("wrong.toml", fields_deck(**keys))
        command.must_refuse(["train", "wrong.toml"], error, *parts)

    refuse("keys-conflict", "'model.patch' = 3", "8 points of axis 2", patch=[2, 3])
    source = numpy.random.default_rng(4)
    write_data(command.folder / "odd.h5", inputs=source.normal(size=(9, 60)).astype("f4"), targets=source.normal(size=(9, 3)).astype("f4"), shape="5 4 3")
    command.write("odd.toml", fields_deck(fields=0).replace("shape = [4, 8, 3]\n", ""))
    command.must_refuse(["train", "odd.toml", "data.train=odd.h5"], "bad-layer", "patches of 2 points", "5 points of")
    refuse("keys-conflict", "'model.heads' is 5", "12", heads=5)
    refuse("keys-conflict", "'model.norm'", norm="none")
    refuse("bad-value", "'model.channel_mlp'", channel_mlp=0)
    refuse("keys-conflict", "'model.blocks'", blocks=200)
    for key in ("patch", "width", "heads"):
        refuse("missing-key", f"'model.{key}'", **{key: None})
    refuse("key-without-effect", "model.kernel", kernel=3)
    command.write("wrong.toml", fields_deck().replace('type = "vit"', 'type = "unet"\nchannels = [8]'))
    command.must_refuse(["train", "wrong.toml"], "key-without-effect", "model.patch")


run_cases(check_numbers, check_ranks_and_restarts, check_resolved_deck, check_refusals)
