"""What users get wrong, and what the refusal says: the error's id, then what its message must have: where, what, and what
would be right."""

from bad_data import SAMPLES

MAKES_DATA = "`mylos prepare`"
HERE = "{folder}"  # the current folder
INTEGER = "an integer from 1 to 2147483647"
LONG = "n" * 255
TOO_LONG = ("bad-argument", "n" * 60 + "...", "255 bytes", "at most 251", ".tmp")
DECKS = {  # what becomes of the sound deck, and its refusal
    "unknown-key": (("hidden =", "hiden ="), ("unknown-key", ":13: ", "'model.hiden'", "'model.hidden'")),
    "unknown-section": (("[model]", "[modle]"), ("unknown-section", ":11: ", "[modle]", "[model]")),
    "twice": (("batch = 48", "batch = 48\nbatch = 4"), ("duplicate-key", ":9: ", "'data.batch'", "line 8")),
    "type": (("batch = 48", 'batch = "many"'), ("bad-value", ":8: 'data.batch'", INTEGER, '"many"')),
    "range": (("batch = 48", "batch = 0"), ("bad-value", ":8: 'data.batch'", INTEGER, "0")),
    "enum": (('"bf16"', '"bf17"'), ("bad-value", ":17: 'precision.compute'", '"bf16", "fp16" or "fp32"', '"bf17"; did you mean "bf16"')),
    "unit": (("[model]", '[communication]\nbucket = "25 GX"\n[model]'),
             ("bad-value", ":12: 'communication.bucket'", '"auto"', "from 1 B to 1 TiB", '"25 MiB"', '"25 GX"')),
    "lengths": (("epochs = 3", "epochs = 3\nsteps = 9"), ("keys-conflict", ":4: ", "'run.epochs'", "'run.steps'")),
}
RAW_DECKS = {
    "empty": (b" \n\n", ("deck-size", "empty.toml: ")),
    "latin1": (b"[run]\nname = \"caf\xe9\"\n", ("deck-syntax", ":2: ", "0xE9", "UTF-8")),
    "brackets": (b"[" * 10_000_000, ("deck-size", "1 MiB", "9.537 MiB")),
}
COMMANDS = {
    "trian deck.toml": ("unknown-command", "'trian'", "'train'"),
    "": ("missing-argument", "train, sweep, plan, advise, eval, predict, info, rollout, sample, prepare, convert, data, export, calibrate, init, types, "
         "check-precision, bench, report, manual"),
    "prepare zebra": ("unknown-command", "'zebra'", "idx, csv, images, fields, text, tokens, stamp"),
    "bench": ("missing-argument", "allreduce, gemm, checkpoint"),
    "bench allreduce --sizes 1KiB,3GiB": ("bad-argument", "--sizes: '3GiB'", "from 1 B to 2 GiB", '"64 KiB"'),
    "bench allreduce --sizes 1KiB --types fp64": ("bad-argument", "--types: fp64", "{{fp32,bf16,fp16}}"),
    "bench gemm --shapes 512x784": ("bad-argument", "--shapes: '512x784'", "from 1 to 1048576", "512x784x2048"),
    "bench checkpoint none": ("no-such-folder", "none: ", HERE),
    "bench checkpoint . --size 0": ("bad-argument", "--size: '0'", "from 1 B to 64 TiB", '"64 KiB"'),
    "train": ("missing-argument", "mylos train: deck is required: The deck (TOML)"),
    "sweep deck.toml": ("missing-argument", "mylos sweep: keys is required: ", "section.key=a,b,c"),
    "train deck.toml --epochs 3": ("unknown-option", "'--epochs'", "without dashes: run.epochs=VALUE"),
    "train deck.toml --optimizer.lr=1e-3": ("unknown-option", "'--optimizer.lr=1e-3'", "without dashes: optimizer.lr=VALUE"),
    "train deck.toml --batch-size 8": ("unknown-option", "'--batch-size'", "without dashes: data.batch=VALUE"),
    "train deck.toml optimizer.lr = 1e-3": ("bad-argument", "command line: 'optimizer.lr'", "without spaces"),
    "predict done test.h5 out.txt": ("bad-argument", "out.txt: ", "out.h5", ".csv for a table"),
    "predict done test.h5 out.onnx": ("bad-argument", "out.onnx: ", "out.h5"),
    "predict done test.h5 out.v2": ("bad-argument", "out.v2: ", "out.h5"),
    "predict done test.h5 newer/checkpoints/step-0000000032.h5": ("already-exists", "newer/checkpoints", "is a checkpoint"),
    "predict done test.h5 other.h5": ("already-exists", "other.h5: has data of `mylos prepare`"),
    "export done net.cpp": ("bad-argument", "net.cpp"),
    "export done test.h5.onnx.part": ("bad-argument", "neither compressed nor in parts"),
    "export done other.h5": ("already-exists", "other.h5: has data"),
    "export done deck.toml": ("bad-argument", "deck.toml: ", "deck.h5"),
    "prepare csv train.csv --label class --out done/checkpoints/step-0000000032.h5": ("already-exists", "step-0000000032.h5: is a checkpoint"),
    "prepare csv train.csv --label class --out history": ("already-exists", "history: is not an HDF5 file"),
    "data deck.toml --picture picture.svg": ("already-exists", "picture.svg: has data"),
    "bench gemm --csv done/checkpoints/step-0000000032.h5": ("already-exists", "step-0000000032.h5: is a checkpoint"),
    "init deck.toml net.hpp": ("bad-argument", "net.hpp: ", "net.h5"),
    "prepare csv train.csv --inputs a,,b --out no.h5": ("bad-argument", "--inputs: ", "empty name"),
    "train deck.toml --retsart latest": ("unknown-option", "'--retsart'", "'--restart'"),
    "train deck.toml --stop-after 0": ("bad-argument", "--stop-after: '0'", INTEGER),
    "train deck.toml --walltime=-00:30:00": ("bad-value", "command line: 'run.walltime'", '"HH:MM:SS"', '"-00:30:00"'),
    "train deck.toml optimizer.lr=1e-320": ("bad-value", "command line: 'optimizer.lr'", "above 0 and at most 1000", "1e-320"),
    "train deck.toml optimizer.learning_rate=1e-3":
        ("unknown-key", "command line: ", "'optimizer.learning_rate'", "'optimizer.lr'"),
    "plan deck.toml --ranks=-1": ("bad-argument", "--ranks: '-1'", INTEGER),
    "plan deck.toml --ranks=010": ("bad-argument", "--ranks: '010'", INTEGER),
    "eval run --data other.h5 --split validation": ("arguments-conflict", "--data", "--split"),
    "train deck.toml model.droput=0.1": ("unknown-key", "command line: ", "'model.droput'", "'model.dropout'"),
    "train deck.toml data.batch": ("bad-argument", "command line: 'data.batch'", "section.key=value"),
    "train deck.toml optimizer.lr=-1": ("bad-value", "command line: 'optimizer.lr'", "above 0 and at most 1000", "-1"),
    "train deck.toml precision.rules.hidden3=fp32":
        ("unknown-name", "precision.rules: 'hidden3'", "hidden1 (linear), hidden2 (linear), head (linear)"),
    "train deck.toml schedule.warmup=100": ("keys-conflict", "schedule.warmup is 100", "32 steps of the run"),
    "train deck.toml schedule.type=wsd schedule.warmup=20 schedule.decay_share=0.5":
        ("keys-conflict", "schedule.warmup = 20", "16 updates", "schedule.decay_share = 0.5", "32 steps of the run"),
    "train deck.toml run.folder=done":
        ("folder-has-checkpoints", "done", "step-0000000032.h5", "--restart latest", "run.folder"),
    "prepare csv - --out no.h5": ("not-a-file", "-: ", "standard input"),
    "prepare csv train.csv --header --no-header --out no.h5": ("arguments-conflict", "--header", "--no-header"),
    "prepare csv train.csv --classes 3 --out no.h5": ("arguments-conflict", "--classes", "--label"),
    "prepare idx train.csv --classes 3 --out no.h5": ("arguments-conflict", "--classes", "labels"),
    f"prepare csv train.csv --out {LONG}": TOO_LONG,
    f"prepare text train.csv --out {LONG}": TOO_LONG,
    f"predict done test.h5 {LONG}": TOO_LONG,
    "train none.toml": ("no-such-file", "none.toml: ", HERE, "`mylos manual`"),
    "train deck.toml --restart latest": ("no-checkpoint", "--restart latest: runs/small/checkpoints", "--restart auto"),
    "train deck.toml --restart none.h5": ("no-such-file", "none.h5: "),
    "train deck.toml run.folder=done --restart lates": ("no-such-file", "--restart lates: ", '"latest"', "done"),
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
OF_SAMPLE = {  # an option of `mylos sample`, and what the message must have besides its name and value
    "--seed=-1": "from 0 to 9223372036854775807", "--seed=9223372036854775808": "from 0 to 9223372036854775807",
    "--seed=99999999999999999999": "from 0 to 9223372036854775807", "--seed=1.5": "from 0 to 9223372036854775807",
    "--seed=0x10": "from 0 to 9223372036854775807",
    "--tokens=-1": "from 1 to 2147483647",
    "--top-k=-1": "from 0 to 2147483647", "--top-k=99999999999999999999": "from 0 to 2147483647",
    "--temperature=-1": "at least 0", "--temperature=nan": "at least 0", "--temperature=inf": "at least 0",
    "--temperature=1e400": "at least 0", "--temperature=warm": "at least 0",
}
DATA = {  # the training data's name, and the refusal, which names the file too
    "none": ("no-such-file", "No such file or directory", HERE, MAKES_DATA),
    "zero": ("wrong-format", "HDF5", MAKES_DATA),
    "cut": ("truncated", "truncated file: eof = 2500", "stored_eof = {wide_bytes}", MAKES_DATA),
    "no-inputs": ("missing-dataset", "/inputs [samples, features]", MAKES_DATA),
    "no-labels": ("missing-dataset", "/labels [samples]", "/targets [samples, outputs]", "`mylos predict`", "`mylos prepare csv`",
                  "--label", "--targets", "`prepare idx`"),
    "no-classes": ("missing-dataset", ": / ", "'classes'", "integer"),
    "flat": ("bad-dataset", "/inputs has 1 dimension", "2 [samples, features]"),
    "double": ("bad-dataset", "/inputs", "float64", "uint8 or float32"),
    "two-labels": ("bad-dataset", "/labels has 2 dimensions", "1 [samples]"),
    "fewer-labels": ("bad-dataset", "/labels has 40 samples", f"/inputs has {SAMPLES}"),
    "empty": ("bad-dataset", "/inputs is [0, 8]"),
    "label-7": ("bad-label", "/labels row 21 (counted from 0) is 7", "0 to 2"),
    "label-minus": ("bad-label", "/labels row 22 (counted from 0) is -1", "0 to 2"),
    "nan": ("not-finite", "/inputs row 17, column 3 (counted from 0) is nan"),
    "inf": ("not-finite", "/inputs row 18, column 4 (counted from 0) is inf"),
}
OTHER_DATA = {
    "data.train=few.h5": ("too-little-data", "data.batch = 48", "10 training samples"),
    "model.loss=mse": ("data-mismatch", "train.h5", 'model.loss = "mse"', 'set model.loss = "cross_entropy"'),
    "data.test=wide.h5": ("data-mismatch", "wide.h5: has 16 features", "train.h5 has 8"),
    "data.test=more-classes.h5": ("data-mismatch", "more-classes.h5: has 4 classes", "train.h5 has 3"),
    "data.test=nan.h5": (*DATA["nan"], "nan.h5: "),
    "data.test=no-labels.h5": (*DATA["no-labels"], "no-labels.h5: "),
    "model.inputs=9": ("data-mismatch", "train.h5: has 8 inputs per sample", "model.inputs = 9"),
}
NEWEST = "done/checkpoints/step-0000000032.h5"


def changed(key, before, now):
    return "restart-mismatch", f"{NEWEST}: {key} was {before}", f"the deck says {now}"


RESTARTS = {
    "model.hidden=[24,16]": ("model-mismatch", f"{NEWEST}: /model/hidden1/weight is [32, 8]", "[24, 8]"),
    "data.normalize=minmax": changed("data.normalize", '"standard"', '"minmax"'),
    "data.validation=0.1": changed("data.validation", "0.0", "0.1"),
    "data.shuffle=blocks": changed("data.shuffle", '"samples"', '"blocks"'),
    "data.last_batch=drop": changed("data.last_batch", '"join"', '"drop"'),
    "run.seed=2": changed("run.seed", "1", "2"),
    "data.train=test.h5": ("restart-mismatch", NEWEST, "test.h5"),
    "run.folder=newer": ("no-checkpoint", "--restart latest: newer/checkpoints", "newer/checkpoints/step-0000000032.h5: ", "version 4",
                         "reads 3", "--restart auto"),
}
