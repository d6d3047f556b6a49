"""The command lines of the how-to, reference and explanation pages run, in their order, as they stand there, each page in a folder
with the small files that it presupposes (workshops.py). README's and the tutorials' have tests of their own.

usage: test_page_commands.py MYLOS SOURCE [PAGE...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy

import blocks
from workshops import Workshop
import documented_commands as documented
from safetensors_file import write
from support.command import environment

# Not run here, with the reason.
LEFT_OUT = {
    r"(?:for .*)?srun ": "a cluster's launcher",
    r"mylos bench gemm": "minutes, and every size has a test",
    r"perf/": "benchmarks: tests/perf has theirs",
    r"cmake |cc |gfortran |spack |eb |apptainer |ctest ": "builds: tests/bindings and tests/scripts have theirs",
    r"scripts/(?:setup|collect-sources|check-|bundle|gpu-check|profile-device|peers)": "what installs, builds and checks",
    r"DIR/": "a bundle's programs: tests/scripts has theirs",
    r"tests/": "what keeps files of earlier versions",
    r"build/host/bin/|mpirun .*build/host/bin/": "the programs of apps/, which have tests",
    r".* inputs/\w+\.toml": "the decks that come with Mylos, which have tests",
    r"mylos prepare fields .*data/fields": "of these decks",
    r".* --watch ": "runs as long as the run that it shows",
    r".* --restart FILE": "FILE is any of the run's checkpoints",
}


def numerics(shop):
    shop.train_table()
    shop.deck(file="flow.toml")


def precision(shop):
    shop.prepare_tables()
    shop.copy("flow.h5", "data.h5")
    shop.deck("looked-at")


def health(shop):
    shop.prepare_tables()
    shop.deck()
    shop.must("train", "deck.toml", "--stop-after", 10, code=85)


def advise(shop):
    shop.prepare_tables()
    shop.deck()


def convert(shop):
    shop.train_tokens("gpt2-124m")
    shop.must("convert", "runs/gpt2-124m", "gpt2/model.safetensors")
    shop.copy("text.h5", "tokens.h5")
    shop.train_table("fashion-mlp", "data.normalize=none")
    sizes = [3, 16, 16, 2]
    shop.train_table()
    shop.must("export", "runs/surrogate", "other.onnx")
    write(shop.folder / "net.safetensors", {
        f"{2 * layer}.{name}": numpy.full(shape, 0.1, "f4") for layer, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]))
        for name, shape in (("weight", (outputs, inputs)), ("bias", (outputs,)))})
    shop.write("net.toml", "[run]\nsteps = 1\n[model]\ninputs = 3\noutputs = 2\nhidden = [16, 16]\nloss = \"mse\"\n")
    shop.copy("new.h5", "samples.h5")


def data(shop):
    shop.train_table()
    for name, numbers in (("images", bytes([0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 8]) + bytes(range(256))),
                          ("labels", bytes([0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 2, 1]))):
        (shop.folder / f"train-{name}").write_bytes(numbers)
        subprocess.run(["gzip", "-S", ".gz", f"train-{name}"], cwd=shop.folder, check=True)
    for folder in ("photos", "train", "test"):
        shop.pictures(folder, ["cat", "dog"])
    shop.pictures("new", [])
    shop.write("test.csv", "p,T,kind\n1,2,0\n3,4,9\n2,2,5\n")
    shop.write("log.csv", "time,mach,alpha,lift\n" + "".join(f"at {row} h,0.{row},{row},{'' if row == 3 else row}\n" for row in range(9)))
    shop.table("export.csv", 10, 4, targets=False, separator=";")
    shop.write("shakespeare.txt", "to be, or not to be, that is the question. " * 40)
    shop.write("test.txt", "that is the question. " * 20)
    (shop.folder / "train_0.bin").write_bytes(b"".join(number.to_bytes(4, "little") for number in (20240520, 1, 200)) + bytes(1012)
                                              + b"".join((number * 7).to_bytes(2, "little") for number in range(200)))
    shop.copy("flow.h5", "edited.h5")
    with h5py.File(shop.folder / "edited.h5", "r+") as file:
        file["inputs"][0, 0] += 0.125
    shop.train_fields("turbulence")


def initial(shop):
    shop.train_table()
    shop.must("convert", "runs/surrogate", "base.safetensors")


def launching(shop):
    shop.prepare_tables()
    shop.deck()


def networks(shop):
    shop.train_fields("flow")
    shop.folder.joinpath("runs/flow").rename(shop.folder / "runs/first")  # the page trains it
    for name in ("fine.h5", "fine_start.h5"):
        shop.fields(name, 20, extent=16)


def with_run(shop):
    shop.train_table()


def onnx(shop):
    with_run(shop)
    shop.must("export", "runs/surrogate", "net.onnx")
    shop.copy("flow.h5", "samples.h5")


def report(shop):
    shop.train_table()
    for seed, name in enumerate("abc"):
        shop.train_table(name, f"run.seed={seed}", steps=10)
    shop.deck(steps=10)
    shop.must("sweep", "deck.toml", "optimizer.lr=1e-3,1e-2")


def restart(shop):
    shop.prepare_tables()
    shop.deck(steps=40)
    shop.must("train", "deck.toml", "--stop-after", 10, code=85)
    (shop.folder / "scripts").symlink_to(shop.source / "scripts")


def rollout(shop):
    shop.train_fields("flow")
    shop.fields("start.h5", 260)
    shop.fields("run09.h5", 260)
    with h5py.File(shop.folder / "start.h5", "r+") as file:  # of eight samples, as the second line has it
        for name in ("u", "v"):
            values = file[name][:].repeat(4, axis=0)
            del file[name]
            file[name] = values
    shop.copy("start.h5", "run09.h5")


def rollout_training(shop):
    lines = next(lines for _, lines in blocks.blocks_of(shop.page) if blocks.language_of(lines) == "toml")
    (shop.folder / "fields").mkdir()
    for number in range(2):
        shop.fields(f"fields/{number}.h5", 12, seed=number)
        with h5py.File(shop.folder / f"fields/{number}.h5", "r+") as file:  # without an axis of samples, and with a forcing
            for name in ("u", "v"):
                values = file[name][0]
                del file[name]
                file[name] = values
            file["forcing"] = file["u"][:] * 0
        shop.copy(f"fields/{number}.h5", f"run0{number}/fields.h5")
    shop.write("deck.toml", "\n".join(lines).replace("normalize", "batch = 4\nnormalize") +
               '\n[run]\nname = "rolled"\nsteps = 4\npeak_flops = 1e12\n[model]\ntype = "unet"\nfields = 2\nchannels = [8, 16]\n'
               'norm = "groupnorm"\nloss = "mse"\n')


def large_fields(shop):
    lines = next(lines for _, lines in blocks.blocks_of(shop.page) if blocks.language_of(lines) == "toml")
    shop.fields("fields.h5", 12, seed=1)
    shop.write("deck.toml", '[run]\nname = "large"\nsteps = 4\npeak_flops = 1e12\n'
               '[data]\ntrain = "fields.h5"\nbatch = 2\nnormalize = "channel"\n[data.arrays]\ninputs = ["/u", "/v"]\ntargets = ["/u", "/v"]\naxes = "sample time y x"\n'
               '[model]\ntype = "unet"\nfields = 2\nchannels = [8, 16]\nloss = "mse"\n' + "\n".join(lines) + "\n")


def scaling(shop):
    (shop.folder / "FOLDER").mkdir()


def sweep(shop):
    shop.prepare_tables()
    shop.deck("NAME", steps=9)


def uncertainty(shop):
    shop.prepare_tables()
    lines = next(lines for _, lines in blocks.blocks_of(shop.page) if blocks.language_of(lines) == "toml")
    text = "\n".join(lines) + "\n"
    for header, more in (("[model]", "dropout = 0.1"), ("[run]", 'name = "closure"\nsteps = 12\npeak_flops = 1e12')):
        text = text.replace(f"{header}\n", f"{header}\n{more}\n")
    shop.write("deck.toml", text + '[data]\ntrain = "flow.h5"\ntest = "test.h5"\nvalidation = 0.2\nbatch = 32\nnormalize = "standard"\n')
    for name in ("fresh.h5", "held-out.h5"):
        shop.copy("test.h5", name)


def checkpoint(shop):
    shop.train_table(steps=20)


def library(shop):
    shop.train_table("closure")
    shop.train_table("plain", "data.normalize=none")
    shop.must("export", "runs/plain", "surrogate.h5")
    shop.copy("test.h5", "cells.h5")


def metrics(shop):
    shop.train_table()
    shop.train_table("closure", "run.metrics=[\"crps\"]", loss="gaussian")
    shop.train_fields("darcy")
    shop.pictures("photos", ["cat", "dog"] + [f"kind{number}" for number in range(4)])
    shop.must("prepare", "images", "photos", "--out", "photos.h5")
    shop.write("photos.toml", '[run]\nname = "photos"\nsteps = 4\npeak_flops = 1e12\n[data]\ntrain = "photos.h5"\ntest = "photos.h5"\n'
               'batch = 8\nnormalize = "channel"\n[model]\nhidden = [8]\n')
    shop.must("train", "photos.toml")


def deck(shop):
    shop.prepare_tables(rows=3000)
    lines = next(lines for _, lines in blocks.blocks_of(shop.page) if blocks.language_of(lines) == "toml")
    shop.write("surrogate.toml", "\n".join(lines).replace("epochs = 20", "epochs = 20\npeak_flops = 1e12"))
    shop.copy("flow.h5", "data/flow_train.h5")
    shop.copy("test.h5", "data/flow_test.h5")


PAGES = {
    "explanation/health": health, "explanation/numerics": numerics, "explanation/precision": precision,
    "how-to/advise": advise, "how-to/convert": convert, "how-to/data": data, "how-to/initial": initial, "how-to/large-fields": large_fields, "how-to/launching": launching,
    "how-to/networks": networks, "how-to/onnx": onnx, "how-to/report": report, "how-to/restart": restart,
    "how-to/rollout": rollout, "how-to/rollout-training": rollout_training, "how-to/scaling": scaling, "how-to/source": with_run,
    "how-to/sweep": sweep,
    "how-to/uncertainty": uncertainty, "reference/checkpoint": checkpoint, "reference/deck": deck, "reference/library": library,
    "reference/metrics": metrics,
}
# The runs of the decks that come with Mylos, and what installs it.
OTHER_PAGES = {"gallery", "how-to/install"}



def left_out(line):
    return any(re.match(pattern, line) for pattern in LEFT_OUT)


def run_page(page, mylos, source, folder):
    shop = Workshop(mylos, folder)
    shop.source, shop.page = source, source / "docs" / f"{page}.md"
    (folder / "bin").mkdir()
    (folder / "bin/mylos").symlink_to(mylos)
    PAGES[page](shop)
    variables = environment() | {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}
    variables["PATH"] = f"{folder / 'bin'}:{variables['PATH']}"
    ran = 0
    for number, line in documented.lines_of(shop.page):
        if left_out(line):
            continue
        result = subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=folder, env=variables, capture_output=True, text=True,
                                check=False)
        expected = 85 if "--stop-after" in line else 0
        said = f"{result.stdout[-2000:]}\n{result.stderr}"
        assert result.returncode == expected, f"docs/{page}.md:{number}: {line}\ncode {result.returncode}\n{said}"
        ran += 1
    assert ran > 0, f"docs/{page}.md: no line was run"
    return ran


def require_all_pages(source):
    """A page with command lines is in PAGES, or all its lines are left out."""
    for page in sorted((source / "docs").rglob("*.md")):
        name = page.relative_to(source / "docs").with_suffix("").as_posix()
        if name not in PAGES and name not in OTHER_PAGES and not name.startswith("tutorials/"):
            lines = [line for _, line in documented.lines_of(page) if not left_out(line)]
            assert not lines, f"docs/{name}.md has lines that nothing runs: {lines}"


def main(mylos, source, *pages):
    source = pathlib.Path(source).resolve()
    require_all_pages(source)
    for page in pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{page}: {run_page(page, mylos, source, pathlib.Path(folder))} command lines", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
