"""What users get wrong, and what is said of it, word for word: where, what, and what would be right."""
from bad_data import SAMPLES

MAKES_DATA = "`mylos prepare` makes data files"
HERE = " (the current folder is {folder})"
INTEGER = "an integer from 1 to 2147483647"
LONG = "n" * 255
TOO_LONG = f"{'n' * 60}...: this file name has 255 bytes, at most 251 are possible (4 go to .tmp while it is written)"
DECKS = {  # what becomes of the sound deck, and what is said
    "unknown-key": (("hidden =", "hiden ="), ":13: unknown key 'model.hiden'; did you mean 'model.hidden'?"),
    "unknown-section": (("[model]", "[modle]"), ":11: unknown section [modle]; did you mean [model]?"),
    "twice": (("batch = 48", "batch = 48\nbatch = 4"), ":9: duplicate key 'data.batch'; it was first given in line 8"),
    "type": (("batch = 48", 'batch = "many"'), f":8: 'data.batch' must be {INTEGER}, not the string \"many\""),
    "range": (("batch = 48", "batch = 0"), f":8: 'data.batch' must be {INTEGER}, not the integer 0"),
    "enum": (('"bf16"', '"bf17"'),
             ":17: 'precision.compute' must be \"bf16\", \"fp16\" or \"fp32\", not the string \"bf17\"; did you mean "
             '"bf16"?'),
    "unit": (("[model]", '[communication]\nbucket = "25 GX"\n[model]'),
             ":12: 'communication.bucket' must be \"auto\" or byte count from 1 B to 1 TiB, such as \"25 MiB\" (units "
             'B, kB, MB, GB, TB, KiB, MiB, GiB, TiB), not the string "25 GX"'),
    "lengths": (("epochs = 3", "epochs = 3\nsteps = 9"),
                ":4: 'run.epochs' and 'run.steps' are both given; keep the one that sets the run's length"),
}
RAW_DECKS = {
    "empty": (b" \n\n", ": the deck is empty"),
    "latin1": (b"[run]\nname = \"caf\xe9\"\n", ":2: not a text: byte 0xE9 is not UTF-8"),
    "brackets": (b"[" * 10_000_000, ": a deck has at most 1 MiB, this one has 9.537 MiB"),
}
COMMANDS = {
    "trian deck.toml": "mylos: unknown command 'trian'; did you mean 'train'?\n`mylos --help` says more.",
    "": "mylos: a command is missing; the commands are train, plan, advise, eval, predict, info, sample, prepare, convert, init, "
        "types, check-precision, bench, report, manual\n`mylos --help` says more.",
    "prepare zebra": "mylos prepare: unknown command 'zebra'; the commands are idx, csv, images, fields, text, tokens, stamp\n"
                     "`mylos prepare --help` says more.",
    "bench": "mylos bench: a command is missing; the commands are allreduce, gemm, checkpoint\n`mylos bench --help` says "
             "more.",
    "bench allreduce --sizes 1KiB,3GiB":
        "mylos bench allreduce: --sizes: '3GiB' is not a byte count from 1 B to 2 GiB, such as \"64 KiB\"\n"
        "`mylos bench allreduce --help` says more.",
    "bench allreduce --sizes 1KiB --types fp64":
        "mylos bench allreduce: --types: fp64 not in {{fp32,bf16,fp16}}\n`mylos bench allreduce --help` says more.",
    "bench gemm --shapes 512x784":
        "mylos: --shapes: '512x784' is no shape: samples, inputs and outputs of a layer, each from 1 to 1048576, as in "
        "512x784x2048",
    "bench checkpoint none": "mylos: none: there is no such folder" + HERE,
    "bench checkpoint . --size 0": "mylos bench checkpoint: --size: '0' is not a byte count from 1 B to 64 TiB, such as "
                                   "\"64 KiB\"\n`mylos bench checkpoint --help` says more.",
    "train": "mylos train: deck is required\n`mylos train --help` says more.",
    "train deck.toml --retsart latest": "mylos train: unknown option '--retsart'; did you mean '--restart'?\n"
                                        "`mylos train --help` says more.",
    "train deck.toml --stop-after 0": "mylos train: --stop-after: '0' is not an integer from 1 to 2147483647\n"
                                      "`mylos train --help` says more.",
    "train deck.toml --walltime=-00:30:00":
        "mylos: command line: 'run.walltime' must be a time \"HH:MM:SS\" above 0, not the string \"-00:30:00\"",
    "train deck.toml optimizer.lr=1e-320":
        "mylos: command line: 'optimizer.lr' must be a number above 0 and at most 1000, not the number 1e-320, which is 0 "
        "in float",
    "train deck.toml optimizer.learning_rate=1e-3":
        "mylos: command line: unknown key 'optimizer.learning_rate'; did you mean 'optimizer.lr'?",
    "plan deck.toml --ranks=-1": "mylos plan: --ranks: '-1' is not an integer from 1 to 2147483647\n"
                                 "`mylos plan --help` says more.",
    "plan deck.toml --ranks=010": "mylos plan: --ranks: '010' is not an integer from 1 to 2147483647\n"
                                  "`mylos plan --help` says more.",
    "eval run --data other.h5 --split validation":
        "mylos eval: --data excludes --split\n`mylos eval --help` says more.",
    "train deck.toml model.droput=0.1":
        "mylos: command line: unknown key 'model.droput'; did you mean 'model.dropout'?",
    "train deck.toml data.batch": "mylos: command line: 'data.batch' is not of the form section.key=value",
    "train deck.toml optimizer.lr=-1":
        "mylos: command line: 'optimizer.lr' must be a number above 0 and at most 1000, not the integer -1",
    "train deck.toml precision.rules.hidden3=fp32":
        "mylos: precision.rules: 'hidden3' is no layer of this model, nor a kind or pattern of one; it has hidden1 "
        "(linear), hidden2 (linear), head (linear)",
    "train deck.toml schedule.warmup=100":
        "mylos: schedule.warmup is 100, more than the 32 steps of the run; lower it",
    "train deck.toml schedule.type=wsd schedule.warmup=20 schedule.decay_share=0.5":
        "mylos: schedule.warmup = 20 and the 16 updates of schedule.decay_share = 0.5 are more than the 32 steps of the run; "
        "lower one of them",
    "train deck.toml run.folder=done":
        "mylos: done has checkpoints of an earlier run (the newest: step-0000000032.h5): resume from there with "
        "--restart latest, or give another run.folder",
    "prepare csv - --out no.h5": "mylos: -: standard input is not read; write it to a file first, and name that",
    "prepare csv train.csv --header --no-header --out no.h5":
        "mylos prepare csv: --header excludes --no-header\n`mylos prepare csv --help` says more.",
    "prepare csv train.csv --classes 3 --out no.h5":
        "mylos prepare csv: --classes requires --label\n`mylos prepare csv --help` says more.",
    "prepare idx train.csv --classes 3 --out no.h5":
        "mylos prepare idx: --classes requires labels\n`mylos prepare idx --help` says more.",
    f"prepare csv train.csv --out {LONG}": f"mylos: {TOO_LONG}",
    f"prepare text train.csv --out {LONG}": f"mylos: {TOO_LONG}",
    f"predict done test.h5 {LONG}": f"mylos: {TOO_LONG}",
    "train none.toml": "mylos: none.toml: there is no such deck" + HERE + "; `mylos manual` explains decks",
    "train deck.toml --restart latest": "mylos: --restart latest: runs/small/checkpoints has no valid checkpoint; "
                                     "--restart auto starts afresh then",
    "train deck.toml --restart none.h5": "mylos: none.h5: there is no such file",
}
EMPTY = [  # words of the command line that are there and say nothing
    ("train", "deck.toml", "--restart", ""), ("train", "deck.toml", "--walltime", ""),
    ("train", "deck.toml", "--plan", ""), ("train", ""), ("train", "deck.toml", ""), ("plan", ""), ("eval", ""),
    ("eval", "done", "--data", ""), ("predict", "done", "", "out.h5"), ("predict", "done", "test.h5", ""), ("info", ""),
    ("sample", "done", "--prompt", ""), ("prepare", "csv", "train.csv", "--label", "", "--out", "out.h5"),
    ("prepare", "csv", "train.csv", "--targets", "", "--out", "out.h5"), ("prepare", "csv", "train.csv", "--out", ""),
    ("prepare", "idx", "train.csv", "", "--out", "out.h5"), ("prepare", "text", "", "--out", "out.h5"),
    ("prepare", "tokens", "", "--out", "out.h5"), ("convert", "", "out.h5"), ("convert", "done", ""),
]
SEEDS = "'{}' is not an integer from 0 to 9223372036854775807"
OF_SAMPLE = {  # an option of `mylos sample`, and what is said of it
    "--seed=-1": "--seed: " + SEEDS.format("-1"), "--seed=9223372036854775808": "--seed: " + SEEDS.format("9223372036854775808"),
    "--seed=99999999999999999999": "--seed: " + SEEDS.format("99999999999999999999"), "--seed=1.5": "--seed: " + SEEDS.format("1.5"),
    "--seed=0x10": "--seed: " + SEEDS.format("0x10"),
    "--tokens=-1": "--tokens: '-1' is not an integer from 1 to 2147483647",
    "--top-k=-1": "--top-k: '-1' is not an integer from 0 to 2147483647",
    "--top-k=99999999999999999999": "--top-k: '99999999999999999999' is not an integer from 0 to 2147483647",
    "--temperature=-1": "--temperature: '-1' is not a number of at least 0",
    "--temperature=nan": "--temperature: 'nan' is not a number of at least 0",
    "--temperature=inf": "--temperature: 'inf' is not a number of at least 0",
    "--temperature=1e400": "--temperature: '1e400' is not a number of at least 0",
    "--temperature=warm": "--temperature: 'warm' is not a number of at least 0",
}
DATA = {  # the training data's name, and what is said after it
    "none": ": cannot be opened: No such file or directory" + HERE + f"; {MAKES_DATA}",
    "zero": f": is not an HDF5 file; {MAKES_DATA}",
    "cut": ": cannot be read as HDF5: truncated file: eof = 2500, sblock->base_addr = 0, stored_eof = {wide_bytes}; "
           + MAKES_DATA,
    "no-inputs": f": has no dataset /inputs [samples, features]; {MAKES_DATA}",
    "no-labels": ": has neither /labels [samples] nor /targets [samples, outputs], so that only `mylos predict` can use it; "
                 "`mylos prepare csv` with --label or --targets, or `prepare idx` with a file of labels, makes one that "
                 "has them",
    "no-classes": ": / has no attribute 'classes', expected an integer",
    "flat": ": dataset /inputs has 1 dimension, expected 2 [samples, features]",
    "double": ": dataset /inputs holds float64, expected uint8 or float32",
    "two-labels": ": dataset /labels has 2 dimensions, expected 1 [samples]",
    "fewer-labels": f": dataset /labels has 40 samples, /inputs has {SAMPLES}",
    "empty": ": dataset /inputs is [0, 8], expected at least one sample and one feature",
    "label-7": ": /labels row 21 (counted from 0) is 7, expected 0 to 2",
    "label-minus": ": /labels row 22 (counted from 0) is -1, expected 0 to 2",
    "nan": ": /inputs row 17, column 3 (counted from 0) is nan, expected a finite number",
    "inf": ": /inputs row 18, column 4 (counted from 0) is inf, expected a finite number",
}
OTHER_DATA = {
    "data.train=few.h5": "data.batch = 48 is more than the 10 training samples; lower it",
    "model.loss=mse": 'train.h5 has class labels, which model.loss = "mse" cannot learn; use "cross_entropy"',
    "data.test=wide.h5": "wide.h5: has 16 features per sample, train.h5 has 8",
    "data.test=more-classes.h5": "more-classes.h5: has 4 classes, train.h5 has 3",
    "data.test=nan.h5": "nan.h5" + DATA["nan"],
    "data.test=no-labels.h5": "no-labels.h5" + DATA["no-labels"],
    "model.inputs=9": "train.h5: 8 per sample, but the deck has model.inputs = 9; remove the key",
}
NEWEST = "done/checkpoints/step-0000000032.h5"
CHANGED = NEWEST + ": {} was {} when this run began, the deck says {}; a restart cannot change it"
RESTARTS = {
    "model.hidden=[24,16]": f"{NEWEST}: /model/hidden1/weight is [32, 8], the deck's model needs [24, 8]",
    "data.normalize=minmax": CHANGED.format("data.normalize", '"standard"', '"minmax"'),
    "data.validation=0.1": CHANGED.format("data.validation", "0.0", "0.1"),
    "data.shuffle=blocks": CHANGED.format("data.shuffle", '"samples"', '"blocks"'),
    "data.last_batch=drop": CHANGED.format("data.last_batch", '"join"', '"drop"'),
    "run.seed=2": f"{NEWEST}: run.seed was 1 when this run began, the deck says 2; a restart cannot change it",
    "data.train=test.h5": f"{NEWEST} was trained on other data than test.h5 holds; a restart needs the same contents",
    "run.folder=newer": "--restart latest: newer/checkpoints has no valid checkpoint: skipped newer/checkpoints/"
                        "step-0000000032.h5: has format version 4, this program reads 3; --restart auto "
                        "starts afresh then",
}
