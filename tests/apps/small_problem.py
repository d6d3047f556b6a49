"""A small dataset and deck for tests of the command."""
import random

from support.decks import deck_text
from support.tables import write_table

# The decks of tests state peak_flops: to measure it takes as long as all steps together of networks so small.
SCALER = """[precision.scaler]
mode = "dynamic"  # in every type
initial_scale = 1024
growth_interval = 7
"""

DECK = """[run]
peak_flops = 1e12
name = "small"
epochs = 3
log_every = 4
[data]
train = "train.h5"
test = "test.h5"
batch = 48
normalize = "standard"
last_batch = "join"
[model]
type = "mlp"
hidden = [32, 16]
dropout = 0.2
loss = "cross_entropy"
[precision]
compute = "bf16"
@SCALER@[optimizer]
lr = 1e-2
clip_norm = 1.0
[schedule]
type = "cosine"
warmup = 3
[checkpoint]
every = 9
keep_last = 0
""".replace("@SCALER@", SCALER)


def gpt_deck(*, run, data, model=None, **tables):
    """A small GPT's deck; `run`, `data` and `model`: more keys of these sections."""
    return deck_text(run={"name": "gpt", **run}, data={"train": "text.h5", **data},
                     model={"type": "gpt", "layers": 2, "heads": 2, "width": 32, "context": 16, **(model or {})}, **tables)


def write_csv(path, samples, seed):
    """Three classes: which of three noisy sums of eight features is the largest."""
    source, rows = random.Random(seed), []
    for _ in range(samples):
        row = [source.gauss(0, 1) for _ in range(8)]
        sums = [row[0] + row[1] - row[2], row[3] - row[4] + row[5], row[6] + row[7] - row[0]]
        label = max(range(3), key=lambda c: sums[c] + source.gauss(0, 0.1))
        rows.append([*(f"{value:.6f}" for value in row), label])
    write_table(path, [*(f"x{i}" for i in range(8)), "class"], rows)


def prepare_text(command, text, name="text"):
    command.write(f"{name}.txt", text)
    command.must("prepare", "text", f"{name}.txt", "--out", f"{name}.h5")


def prepare_table_and_text(command, gpt):
    """The data and deck of prepare(), and gpt.toml with a text."""
    prepare(command)
    prepare_text(command, "the quick brown fox jumps over the lazy dog. " * 60)
    command.write("gpt.toml", gpt)


def prepare(command, deck=DECK, samples=500):
    write_csv(command.folder / "train.csv", samples, 1)
    write_csv(command.folder / "test.csv", 100, 2)
    for name in ("train", "test"):
        command.must("prepare", "csv", f"{name}.csv", "--label", "class", "--out", f"{name}.h5")
    command.write("deck.toml", deck)
