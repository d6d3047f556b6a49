"""The reacting flow as a user runs it, on small grids."""
import os
import pathlib
import re
import shutil
import signal
import sys

import h5py
import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
from support.cases import run_cases  # noqa: E402
from support.processes import ranks_of, send, wait_until  # noqa: E402

SMALL = ["cells=24", "diffusivity=2.2e-4", "dt=0.2"]


def datasets(path):
    """All but the memory plan, which counts what the process has."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    found = {name: values for name, values in found.items() if not name.startswith("plan/")}
    assert found, path
    return found


def require_equal(first, second, what):
    a, b = datasets(first), datasets(second)
    assert a.keys() == b.keys(), (what, a.keys() ^ b.keys())
    for name, values in a.items():
        assert values.tobytes() == b[name].tobytes(), f"{what}: {name} differs"


def check_ranks(program):
    """The solver alone gives the same bits on any number of ranks."""
    for ranks in (1, 2, 3, 4):
        program.must("deck.toml", "mode=alone", "steps=12", f"folder=alone{ranks}", *SMALL, ranks=ranks)
    for ranks in (2, 3, 4):
        require_equal(program.folder / "alone1/solver-12.h5", program.folder / f"alone{ranks}/solver-12.h5", f"{ranks} ranks")
    fields = datasets(program.folder / "alone1/solver-12.h5")["fields"]
    assert fields.shape == (4, 24, 24) and fields[0].min() > 0 and fields[2].max() > 0.5, fields
    assert numpy.abs(fields[:3].sum(axis=0) - 1).max() < 1e-13


def check_learns(program):
    """In compare mode: the network takes most cells, is within the bound where it is checked, and the fields agree."""
    output = program.must("deck.toml", "cells=32", "diffusivity=1.7e-4", "steps=240", "learning_steps=12", "explore_share=0.5",
                          "error_bound=0.02", "folder=learns").stdout
    share = float(re.search(r"cells by network, % +[\d.]+ +([\d.]+)", output).group(1))
    assert share > 20, output
    assert float(re.search(r"error of a step, last checks, % +([\d.]+)", output).group(1)) < 2.5, output
    for species in ("y1", "y2", "y3"):
        assert float(re.search(rf"relative L2 error of {species} at the end, % +([\d.]+)", output).group(1)) < 1, output
    low, high, mass = map(float, re.search(r"mass fractions from (\S+) to (\S+); mass conserved to (\S+)", output).groups())
    assert low >= 0 and high <= 1 and mass < 1e-6, output
    fields = datasets(program.folder / "learns/fields.h5")
    for species in range(3):
        a, b = fields["with_surrogate"][species], fields["alone"][species]
        error = numpy.linalg.norm(a - b) / numpy.linalg.norm(b)
        assert 0 < error < 0.01, (species, error)
    history = numpy.loadtxt(program.folder / "learns/history.csv", delimiter=",", skiprows=1)
    assert history[0, 0] == 20 and history[-1, 0] == 240 and history[0, 1] < history[-1, 1], history
    assert (program.folder / "learns/network.h5").exists()


def check_restart(program):
    """Stopped, or killed at any time, and continued: the same bits as the undisturbed run."""
    line = ["deck.toml", "mode=surrogate", "steps=60", "learning_steps=4", "explore_share=0.5", "error_bound=0.1", *SMALL]
    program.must(*line, "folder=whole", ranks=2)
    program.must(*line, "folder=stopped", "stop_after=35", ranks=2)
    assert sorted(os.listdir(program.folder / "stopped")) == ["history.csv", "network-35.h5", "restart", "solver-35.h5"]
    program.must(*line, "folder=stopped", "restart=true", ranks=2)

    killed = program.folder / "killed"
    with program.start(*line, "folder=killed", "save_every=5", ranks=2) as run:
        wait_until(lambda: (killed / "restart").exists() and int((killed / "restart").read_text()) >= 20, "no restart is written")
        send(signal.SIGKILL, ranks_of(program))
        run.communicate()
    assert 20 <= int((killed / "restart").read_text()) < 60, "it was killed too late"
    program.must(*line, "folder=killed", "save_every=5", "restart=true", ranks=2)
    for folder in ("stopped", "killed"):
        for file in ("solver-60.h5", "network-60.h5"):
            require_equal(program.folder / "whole" / file, program.folder / folder / file, f"{folder}, {file}")
        assert (program.folder / folder / "history.csv").read_text() == (program.folder / "whole/history.csv").read_text()
    assert datasets(program.folder / "whole/solver-60.h5")["network_share"][0] > 0


def check_older_pair_is_kept(program):
    """A pair whose writing was interrupted is not used, whatever is left of it."""
    line = ["deck.toml", "mode=surrogate", "learning_steps=1", *SMALL]
    program.must(*line, "folder=pair", "steps=6")
    (program.folder / "pair/network-8.h5").write_bytes(b"incomplete")
    (program.folder / "pair/solver-8.h5").write_bytes(b"incomplete")
    program.must(*line, "folder=pair", "steps=10", "restart=true")
    program.must(*line, "folder=undisturbed", "steps=10")
    require_equal(program.folder / "undisturbed/solver-10.h5", program.folder / "pair/solver-10.h5", "after a lost pair")
    assert not (program.folder / "pair/network-8.h5").exists()


def check_refusals(program):
    program.must_refuse(["deck.toml", "cells=x"], "bad-argument", "cells=x", "an integer from 2")
    program.must_refuse(["deck.toml", "cells=x"], "bad-argument", "cells=x", ranks=2)
    for line, parts in ((["mode=alone", "restart=true", "folder=none"], ("no-checkpoint", "none/restart")),
                        (["diffusivity=1e-5"], ("bad-value", "it must be at least")),
                        (["mode=alone", "dt=1000"], ("bad-value", "dt = 1000")),
                        (["mode=alone", "restart=true", "folder=pair", *SMALL], ("restart-mismatch", "with that mode")),
                        (["mode=surrogate", "restart=true", "folder=pair", "cells=26", "diffusivity=2.2e-4"],
                         ("restart-mismatch", "the same cells"))):
        result = program.run("deck.toml", *line)
        assert result.returncode == 2 and all(part in result.stderr for part in parts), (line, result)


def set_up(program, repository):
    shutil.copy(repository / "apps/reacting/surrogate.toml", program.folder / "deck.toml")
    assert "explore_share" in program.must("--help").stdout


run_cases(set_up, check_ranks, check_learns, check_restart, check_older_pair_is_kept, check_refusals, arguments=["repository"])
