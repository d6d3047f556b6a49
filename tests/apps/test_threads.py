"""How many threads the command starts, and the numbers that it refuses: Kokkos would hang or write past its memory."""

from small_problem import prepare
from support.cases import run_cases

KOKKOS_LIMIT = 512
COMMANDS = {  # every command that starts Kokkos, and on how many ranks it can run
    ("train", "deck.toml", "run.folder=refused"): (1, 2),
    ("train", "deck.toml", "--check"): (1, 2),
    ("eval", "runs/small"): (1, 2),
    ("predict", "runs/small", "test.h5", "refused.h5"): (1, 2),
    ("plan", "deck.toml"): (1,),
}


def refuse(command, arguments, *refusal, **options):
    result = command.must_refuse(arguments, *refusal, **options)
    said = [line for line in result.stderr.splitlines() if "libgomp: " not in line]  # OpenMP has words of its own
    assert len(said) == 1, f"{arguments} {options} says {said}"


def check_refusals(command):
    with command.writes_nothing():
        for arguments, rank_counts in COMMANDS.items():
            for ranks in rank_counts:
                refuse(command, arguments, "bad-argument", f"OMP_NUM_THREADS is '{KOKKOS_LIMIT + 1}'", f"from 1 to {KOKKOS_LIMIT}",
                       "run.threads", ranks=ranks, variables={"OMP_NUM_THREADS": str(KOKKOS_LIMIT + 1)}, timeout=600)
        for threads in (KOKKOS_LIMIT + 1, 600, 65536):
            refuse(command, ["train", "deck.toml", "run.folder=refused", f"run.threads={threads}"], "bad-value",
                   "command line: 'run.threads'", f"from 0 to {KOKKOS_LIMIT}", threads, ranks=2, timeout=600)


def check_use(command):
    """The deck's number comes before the variable, of which a list's first number counts; an empty one says nothing."""
    warned = "has {} threads on its "
    for variable, key, threads in (("65536", "run.threads=400", 400), ("300,2", "run.threads=0", 300)):
        result = command.must("train", "deck.toml", key, f"run.folder=runs/{threads}", "--stop-after", "2", code=85,
                              variables={"OMP_NUM_THREADS": variable})
        assert warned.format(threads) in result.stdout, result.stdout
    command.must("eval", "runs/small", variables={"OMP_NUM_THREADS": ""})


def set_up(command):
    prepare(command)
    command.must("train", "deck.toml", "run.epochs=1")


run_cases(set_up, check_refusals, check_use)
