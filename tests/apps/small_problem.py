"""A small dataset and deck, and ways to run the mylos command on them, for tests of the command."""
import os
import pathlib
import random
import re
import subprocess
import sys
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from refusal import require_refusal

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

# Of tokens, in places for the lines that a test adds.
GPT_DECK = """[run]
peak_flops = 1e12
name = "gpt"
{run}
[data]
train = "text.h5"
{data}
[model]
type = "gpt"
layers = 2
heads = 2
width = 32
context = 16
{model}
{tables}
"""


def gpt_deck(*, run, data, model="", tables=""):
    """A small GPT's deck; `tables`: those behind [model]."""
    return GPT_DECK.format(run=run, data=data, model=model, tables=tables)


def layers(*of):
    """The type and [[model.layers]] of a chain, of lines "kind key = value; ..."."""
    text = 'type = "chain"\n'
    for line in of:
        kind, _, keys = line.partition(" ")
        text += f'[[model.layers]]\nkind = "{kind}"\n' + keys.replace("; ", "\n") + "\n"
    return text


# Of a plan that is asked for its bytes: measuring the machine's rates would take ten times as long as planning.
MODELLED = "memory.times=model"
LAUNCHER = ["mpirun", "--quiet", "--oversubscribe", "--bind-to", "none"]


def environment():
    settings = dict(os.environ)
    settings.update(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return settings


class Command:
    """The mylos command in one working directory."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)

    def line(self, *arguments, ranks=1):
        line = [self.program, *map(str, arguments)]
        if ranks > 1:
            line = [*LAUNCHER, "-n", str(ranks), *line]
        return line

    def run(self, *arguments, ranks=1, timeout=600, variables=None):
        """`variables`: of the environment, beside the usual ones."""
        return subprocess.run(self.line(*arguments, ranks=ranks), cwd=self.folder, env=environment() | (variables or {}),
                              capture_output=True, text=True, timeout=timeout)

    def instructions(self):
        """The instruction sets there are here, the slowest first."""
        text = self.must("--version").stdout
        line = re.search(r"^  instructions: (\S+?),? .*here are (.*)$", text, re.M)
        assert line and re.search(r"loops compiled for \S+", text), text
        here = line[2].split(", ")
        assert line[1] == here[-1], f"not the best: {text}"
        return here

    def start(self, *arguments, ranks=1, variables=None):
        """The running command: a subprocess.Popen. `variables`: of the environment, beside the usual ones."""
        return self.start_line(self.line(*arguments, ranks=ranks), variables)

    def start_with_own_messages(self, *arguments, ranks, variables=None):
        """Each rank writes its messages to a file messages-RANK: a launcher that ends ranks does not always pass on what
        they say. `variables`: of the environment, beside the usual ones."""
        shell = ["sh", "-c", 'exec "$0" "$@" 2> messages-$OMPI_COMM_WORLD_RANK']
        return self.start_line([*LAUNCHER, "-n", str(ranks), *shell, *self.line(*arguments)], variables)

    def start_on_own_disks(self, folders, *arguments):
        """A rank in each of these folders of ours, as on nodes with disks of their own."""
        parts = []
        for folder in folders:
            parts += [":", "-n", "1", "-wdir", str(self.folder / folder), *self.line(*arguments)]
        return self.start_line([*LAUNCHER, *parts[1:]])

    def start_line(self, line, variables=None):
        return subprocess.Popen(line, cwd=self.folder, env=environment() | (variables or {}), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def must(self, *arguments, code=0, **options):
        result = self.run(*arguments, **options)
        if result.returncode != code:
            raise AssertionError(f"{arguments}: exit code {result.returncode}, expected {code}\n"
                                 f"{result.stdout}\n{result.stderr}")
        return result

    def must_refuse(self, arguments, error_id, *parts, code=2, **options):
        """The finished command, which must end with this code and one message, with this id and every part."""
        result = self.run(*arguments, **options)
        require_refusal(result, error_id, *parts, code=code)
        return result

    def plan(self, *arguments, **options):
        """`mylos plan`, asked for bytes."""
        return self.must("plan", *arguments, MODELLED, **options)


def renew_digests(file, name):
    """Of a dataset of an open data file whose values were changed, which its digests would say first."""
    rows, digests = file[name][()], file[f"digests/{name}"]
    block = digests.attrs["rows"]
    digests[...] = [zlib.crc32(rows[first:first + block].tobytes()) for first in range(0, len(rows), block)]


def write_csv(path, samples, seed):
    """Three classes: which of three noisy sums of eight features is the largest."""
    source = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(f"x{i}" for i in range(8)) + ",class\n")
        for _ in range(samples):
            row = [source.gauss(0, 1) for _ in range(8)]
            sums = [row[0] + row[1] - row[2], row[3] - row[4] + row[5], row[6] + row[7] - row[0]]
            label = max(range(3), key=lambda c: sums[c] + source.gauss(0, 0.1))
            file.write(",".join(f"{value:.6f}" for value in row) + f",{label}\n")


def prepare(command, deck=DECK, samples=500):
    write_csv(command.folder / "train.csv", samples, 1)
    write_csv(command.folder / "test.csv", 100, 2)
    for name in ("train", "test"):
        command.must("prepare", "csv", f"{name}.csv", "--label", "class", "--out", f"{name}.h5")
    (command.folder / "deck.toml").write_text(deck, encoding="utf-8")
