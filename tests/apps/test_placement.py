"""Ranks, threads and binding: one line at the start where they do not fit the node, none where they do; a table by --check.

usage: test_placement.py MYLOS
Nodes are this machine under several names: the launcher reaches them by a stand-in for ssh.
"""
import os
import re
import socket
import subprocess
import sys

from small_problem import prepare
from support.cases import run_cases
from support.command import environment
from support.refusal import require_refusal

AGENT = """#!/bin/sh
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1; shift
exec unshare --uts sh -c 'hostname "$0" && eval "$*"' "$host" "$@"
"""
HOST = socket.gethostname()
FREE = "`mpirun --bind-to none` or `srun --cpus-per-task="


def usable_cores():
    """Of a process that nobody binds."""
    ask = "import os; os.sched_setaffinity(0, range(os.cpu_count())); print(len(os.sched_getaffinity(0)))"
    return int(subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout)


CORES = usable_cores()
ITS_CORES = f"{CORES} core{'s' if CORES > 1 else ''}"


def start(command, launcher, threads=None, arguments=("--check", "run.folder=runs/checked"), before=()):
    """Its lines of output. `threads`: of OMP_NUM_THREADS, else it is not there."""
    variables = environment()
    del variables["OMP_NUM_THREADS"]
    if threads:
        variables["OMP_NUM_THREADS"] = str(threads)
    line = [*launcher, *before, command.program, "train", "deck.toml", *arguments]
    result = subprocess.run(line, cwd=command.folder, env=variables, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, f"{line}: {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stdout.splitlines()


def warnings(lines):
    return [line.removeprefix("# ") for line in lines if "warning" in line]


def require(said, *expected):
    assert warnings(said) == list(expected), f"{warnings(said)}\nand not\n{expected}"


def check_one_node(command):
    def ranks(count, *binding):
        return ["mpirun", "--quiet", "--oversubscribe", *binding, "-n", str(count)]
    free, bound = ("--bind-to", "none"), ("--bind-to", "core")
    require(start(command, []))
    require(start(command, ranks(1, *free)))
    require(start(command, ranks(CORES, *free)))
    require(start(command, ranks(CORES, *free), threads=1))
    require(start(command, ranks(CORES + 1, *free), threads=1),
            f"warning: ranks {'0 and 1' if CORES == 1 else f'0-{CORES}'} on {HOST} have {CORES + 1} threads on its "
            f"{ITS_CORES}: start at most {CORES} rank{'s' if CORES > 1 else ''} there")
    require(start(command, [], threads=CORES + 3),
            f"warning: rank 0 on {HOST} has {CORES + 3} threads on its {ITS_CORES}: OMP_NUM_THREADS={CORES} fits")
    if CORES == 1:
        return
    require(start(command, ranks(1, *bound)),
            f"warning: rank 0 on {HOST} is bound to 1 of its {ITS_CORES}, and the others are idle: {FREE}{CORES}` uses them")
    require(start(command, ranks(1, *bound), threads=1))
    require(start(command, ranks(1, *bound), threads=2),
            f"warning: rank 0 on {HOST} has 2 threads on 1 of its {ITS_CORES}: {FREE}2` gives them more")
    on_the_first = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    require(start(command, ranks(2, *free), threads=1, before=on_the_first),
            f"warning: ranks 0 and 1 on {HOST} have 2 threads on 1 of its {ITS_CORES}: {FREE}1` gives them more")
    require(start(command, ranks(2, *free), before=on_the_first),
            f"warning: ranks 0 and 1 on {HOST} have 2 threads on 1 of its {ITS_CORES}: {FREE}{CORES // 2}` gives them more")
    # A run says it once, before its first step.
    lines = start(command, ranks(2, *free), threads=1, before=on_the_first, arguments=("run.epochs=1",))
    assert len(warnings(lines)) == 1 and "warning: ranks 0 and 1" in lines[0], lines


def check_nodes(command):
    """Over the ranks of each node alone: two nodes have twice the cores of this machine."""
    agent = command.folder / "agent"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    if subprocess.run([agent, "node", "true"], capture_output=True).returncode != 0:
        return print("no nodes of other names here: unshare is not allowed")
    nodes = ["mpirun", "--quiet", "--bind-to", "none", "--mca", "plm_rsh_agent", str(agent),
             "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"]
    full = [*nodes, "-H", f"left:{CORES},right:{CORES},odd:1", "-n", str(2 * CORES + 1)]
    lines = start(command, full, threads=1)
    require(lines)
    table = [line.split() for line in lines[: lines.index("[run]")] if re.match(r"# +\d", line)]
    left = [["#", str(rank), "left", "1"] for rank in range(CORES)]
    found = [[row[0], row[1], row[2], row[4]] for row in table]
    assert found == (left if CORES > 1 else left[:1]) + ([["#", str(2 * CORES), "odd", "1"]] if CORES > 1 else []), lines
    assert f"# laid out so: {1 if CORES > 1 else 2} more node{'s' if CORES == 1 else ''}, the last one " \
           f"{'right' if CORES > 1 else 'odd'}" in lines, lines
    require(start(command, [*nodes, "-H", f"left:1,right:{CORES + 1}", "-n", str(CORES + 2)], threads=1),
            f"warning: ranks 1{' and ' if CORES == 1 else '-'}{CORES + 1} on right have {CORES + 1} threads on its "
            f"{ITS_CORES}: start at most {CORES} rank{'s' if CORES > 1 else ''} there")
    if CORES == 1:
        return
    program = [command.program, "train", "deck.toml", "--check", "run.folder=runs/checked"]
    # A plan has the workspace of a number of threads, so these ranks cannot share one: --check refuses as train does.
    refused = subprocess.run([*nodes, "-H", "left:1", "-n", "1", *program, ":", "-H", "right:1", "-n", "1", "env",
                              "OMP_NUM_THREADS=2", *program], cwd=command.folder, capture_output=True, text=True, timeout=600,
                             env=environment())
    require_refusal(refused, "plan-mismatch", "threads")
    print("three nodes under one launcher: each is judged by its own ranks")


run_cases(prepare, check_one_node, check_nodes)
