"""A small GPT on a few KiB of text: restarts, rank counts, evaluation, samples and bad input."""
import pathlib
import re

import h5py
import numpy

from small_problem import DECK, gpt_deck, write_csv
from support.cases import run_cases
from support.changed_checkpoints import replace_signed
from support.data_files import read_data
from support.run_folders import compare_runs, last_checkpoint

GPT = gpt_deck(run=dict(steps=12, log_every=4, evaluate_every=6), data=dict(validation=0.2, batch=6), model=dict(dropout=0.2),
               precision__scaler=dict(mode="dynamic", initial_scale=1024, growth_interval=5),  # in every type
               optimizer=dict(lr=1e-3, clip_norm=1.0), checkpoint=dict(every=5))


def judged(text):
    """Loss and perplexity as printed last, and the tokens that they are over."""
    loss, perplexity, tokens = re.findall(r"loss ([\d.]+), perplexity ([\d.]+), .*\((\d+) tokens\)", text)[-1]
    return float(loss), float(perplexity), int(tokens)


def check_restarts(command):
    for ranks in (1, 2):
        for compute in ("bf16", "fp16"):
            common = ["train", "gpt.toml", f"precision.compute={compute}"]
            whole, parts = f"whole-{compute}-{ranks}", f"parts-{compute}-{ranks}"
            command.must(*common, f"run.folder={whole}", ranks=ranks)
            command.must(*common, f"run.folder={parts}", "--stop-after", 7, ranks=ranks, code=85)
            command.must(*common, f"run.folder={parts}", "--restart", "latest", ranks=ranks)
            count = compare_runs(command, whole, parts)
            print(f"{compute}, {ranks} ranks: {count} datasets bitwise equal after a restart")


def check_rank_counts(command):
    """The dropped elements, windows and first weights do not depend on ranks: losses agree within rounding."""
    losses = {}
    for ranks in (1, 2, 3, 4):
        said = command.must("train", "gpt.toml", "precision.compute=fp32", f"run.folder=ranks-{ranks}", ranks=ranks)
        losses[ranks] = judged(said.stdout)[0]
    print("validation losses by ranks:", losses)
    assert max(losses.values()) - min(losses.values()) <= 2e-4, losses


def check_evaluation(command):
    """`eval` finds what the run said at its end, over all windows of the last fifth of the text."""
    said = command.must("train", "gpt.toml", "run.folder=judged").stdout
    again = command.must("eval", "judged", "--split", "validation").stdout
    assert judged(said) == judged(again), f"{said}\n{again}"
    loss, perplexity, tokens = judged(again)
    assert abs(perplexity / 2.718281828 ** loss - 1) < 1e-3, again
    with h5py.File(command.folder / "text.h5") as file:
        held_out = len(file["tokens"]) * 0.2
    assert held_out - 17 <= tokens <= held_out and tokens % 16 == 0, again
    for ranks in (2, 3):
        loss_on_ranks, _, tokens_on_ranks = judged(
            command.must("eval", "judged", "--split", "validation", ranks=ranks).stdout)
        assert abs(loss_on_ranks - loss) <= 1e-4 and tokens_on_ranks == tokens


def check_samples(command):
    sample = ["sample", "judged", "--prompt", "First", "--tokens", 50]
    text = command.must(*sample).stdout
    assert text.startswith("First") and len(text) == 5 + 50 + 1, text
    assert command.must(*sample).stdout == text, "the same seed gave another text"
    assert command.must(*sample, "--seed", 2).stdout != text, "another seed gave the same text"
    greedy = command.must(*sample, "--temperature", 0).stdout
    assert command.must(*sample, "--top-k", 1, "--seed", 5).stdout == greedy

    command.must("train", "gpt.toml", "data.train=numbers.h5", "run.steps=2", "run.folder=numbers")
    numbers = command.must("sample", "numbers", "--prompt", "3 1", "--tokens", 20).stdout.split()
    assert numbers[:2] == ["3", "1"] and len(numbers) == 22 and all(0 <= int(n) < 50 for n in numbers), numbers


def check_memory_of_samples(command):
    """A text's keys and values are counted, too, before anything is taken: here they are a TiB."""
    sound = last_checkpoint(command, "judged")
    deck = read_data(sound, "deck").decode()
    for line, longer in (("layers = 2", "layers = 1000"), ("width = 32", "width = 256"), ("context = 16", "context = 1048576")):
        assert f"\n{line}\n" in deck, deck
        deck = deck.replace(f"\n{line}\n", f"\n{longer}\n")
    replace_signed(sound, command.folder / "long.h5", {"deck": numpy.bytes_(deck.encode())})
    refused = command.must("sample", "long.h5", "--prompt", "First", code=3).stderr
    amount = r"[\d.]+ [KMGT]?i?B"
    assert re.fullmatch(rf"mylos: long\.h5: .* {amount} of memory, .*keys and values {amount}, .*{amount} .*"
                        r" \[does-not-fit\]\n", refused), refused


def refuse(command, arguments, message, **options):
    command.must_say_once(message, *arguments, **options)


def check_bad_input(command):
    refuse(command, ["train", "gpt.toml", "model.context=100000"], r"text\.h5.*context.* \[too-little-data\]\n", ranks=2)
    refuse(command, ["train", "gpt.toml", "model.heads=3"], r"model\.heads.* 3\D.* 32 .* \[keys-conflict\]\n")
    refuse(command, ["train", "gpt.toml", "model.vocabulary=5"], r"text\.h5: has a vocabulary of \d+ tokens, .*raise it.* \[data-mismatch\]\n")
    refuse(command, ["train", "gpt.toml", "data.train=table.h5"], r"table\.h5 holds labelled samples, .*\"gpt\".* \[data-mismatch\]\n")
    refuse(command, ["train", "mlp.toml", "data.train=text.h5"], r"text\.h5 holds tokens, .*\"mlp\".* \[data-mismatch\]\n")
    refuse(command, ["sample", "judged", "--prompt", "Fir\u20act"], r"U\+20AC\) at position 3 .*vocabulary.* \[unknown-token\]\n")
    refuse(command, ["sample", "judged", "--prompt", ""], r"--prompt: .* \[bad-argument\]\n")
    refuse(command, ["sample", "judged", "--prompt", "F", "--temperature", -1], r"--temperature: '-1' .* \[bad-argument\]\n")
    refuse(command, ["sample", "numbers", "--prompt", "3 50"], r"--prompt: '50' at position 1 .*0 to 49.* \[bad-argument\]\n")
    refuse(command, ["sample", "mlp", "--prompt", "F"], r"mlp.*tokens.*`mylos predict`.* \[wrong-format\]\n")
    refuse(command, ["predict", "judged", "text.h5", "x.h5"], r"judged.*`mylos sample`.*`mylos eval`.* \[wrong-format\]\n", ranks=2)
    refuse(command, ["predict", "judged", "table.h5", "x.h5"], r"table\.h5 holds labelled samples, .*\"gpt\".* \[data-mismatch\]\n")
    refuse(command, ["predict", "mlp", "text.h5", "x.h5"], r"text\.h5 holds tokens, .*\"mlp\".* \[data-mismatch\]\n")


def prepare(command, repository):
    text = pathlib.Path(repository, "inputs/data/tinyshakespeare.txt").read_bytes()[:6000]
    (command.folder / "text.txt").write_bytes(text)
    (command.folder / "numbers.bin").write_bytes(b"".join((i * i % 50).to_bytes(2, "little") for i in range(2000)))
    command.write("gpt.toml", GPT)
    command.must("prepare", "text", "text.txt", "--out", "text.h5")
    command.must("prepare", "tokens", "numbers.bin", "--vocabulary", 50, "--out", "numbers.h5")
    write_csv(command.folder / "table.csv", 100, 1)
    command.must("prepare", "csv", "table.csv", "--label", "class", "--out", "table.h5")
    command.write("mlp.toml", DECK)
    command.must("train", "mlp.toml", "data.train=table.h5", "data.test=table.h5", "run.folder=mlp", "run.epochs=1")


run_cases(prepare, check_restarts, check_rank_counts, check_evaluation, check_samples, check_memory_of_samples, check_bad_input,
          arguments=["repository"])
