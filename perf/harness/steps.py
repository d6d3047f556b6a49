"""Compares steps of Mylos' step programs with PyTorch's best, with their own floors and with those of an older build."""

from .measurements import HEADING_OF_RATIOS, best_of, print_ratio, spread
from .options import print_machine
from .programs import on_ranks, start
from .rounds import Quiet, measured

TYPES = ("fp32", "bf16", "fp16")
# Variants of PyTorch that are slower in the first round by this factor than its best of the same type, or of all, are skipped.
HOPELESS, HOPELESS_OF_ALL = 1.5, 4


def command_of(bench, arguments, words=()):
    """The command line of one of our step programs."""
    return [*(on_ranks(arguments.ranks) if arguments.ranks > 1 else []), bench, *words]


def held(arguments):
    """The option that limits our step programs to an instruction set."""
    return ["--instructions", arguments.instructions] if arguments.instructions else []


class Peer:
    """PyTorch's program: its steps as jobs; none if PyTorch is not installed."""

    def __init__(self, command, arguments):
        self.program, self.names = None, []
        if not arguments.python.exists():
            print(f"No {arguments.python}: run scripts/peers to compare with PyTorch.")
            return
        self.program = start([arguments.python, *command, *(["--no-compile"] if arguments.no_compile else [])], arguments)
        self.names = self.program.line().split()

    def jobs(self, steps):
        return step_jobs(self.program, self.names, steps, "PyTorch ")

    def close(self):
        if self.program:
            self.program.close()


def step_jobs(program, names, steps, whose=""):
    return {whose + name: lambda name=name: program.number(f"step {name} {steps}") for name in names}


def floor_jobs(program, types):
    return {f"floor {name}": lambda name=name: program.number(f"floor {name}") for name in types}


def kind_of(job):
    """The type in which a job of PyTorch computes: fp32, bf16."""
    return job.removeprefix("PyTorch ").split("-")[0]


def without_hopeless(jobs):
    """Measures after one warm-up turn each, in which programs allocate, compile and choose."""
    first = measured(1, jobs, Quiet(0))
    peers = [name for name in jobs if name.startswith("PyTorch ")]
    hopeless = {name for name in peers if first[name][0] > min(
        HOPELESS * min(first[peer][0] for peer in peers if kind_of(peer) == kind_of(name)),
        HOPELESS_OF_ALL * min(first[peer][0] for peer in peers))}
    return {name: job for name, job in jobs.items() if name not in hopeless}


def print_times(results, rounds):
    print(f"\nms per step, median of {rounds} rounds [smallest .. largest]")
    for name in results:
        print(f"  {name:52} {spread(results[name])}")


def print_floors(program, types):
    print("\nThe floors of the last round: the fastest product of any engine and layout, bytes at the best bandwidth")
    for name in types:
        print(f" {name}\n{''.join(program.ask(f'floor-detail {name}'))}", end="")


def has_16_bit_products(arguments):
    """False if the instructions have no 16-bit multiplications; true for those of this machine, which are unknown."""
    return arguments.instructions in (None, "avx512-bf16")


def print_against_peer(results, bars):
    """`bars`: {(ours, the peer's kind; "" for all): bar}."""
    for (ours, theirs), bar in bars.items():
        names = [name for name in results if name.startswith(f"PyTorch {theirs}")]
        if names:
            best = best_of(results, names)
            of_all = "" if theirs else ", its best of all"
            print_ratio(f"{ours} / {best}{of_all}", results[ours], results[best], bar)


def print_against_ours(results, types, floor_bars, arguments):
    """Compares with the floors, the older build and the float step. `floor_bars`: {our type: bar}."""
    if arguments.floors:
        for name, bar in floor_bars.items():
            print_ratio(f"{name} / its floor", results[name], results[f"floor {name}"], bar)
    for name in types if arguments.older else ():
        print_ratio(f"{name} / {name} of the older build", results[name], results[f"older {name}"], 1.03)
    for name in types[1:]:
        if name == "fp16" or not has_16_bit_products(arguments):
            print_ratio(f"{name} / fp32", results[name], results["fp32"], 1.10)


def compare(what, words, types, peers, arguments, quiet, *, floor_bars=None, peer_bars):
    """Measures our steps, those of an older build of ours, their floors and PyTorch's steps interleaved, and prints times and
    ratios. Returns our program, which is still running, and the results.

    `words`: arguments of our program. `peers`: commands without python. `floor_bars`: {our type: bar}. `peer_bars`: as
    print_against_peer() takes them."""
    print_machine(what, arguments.threads, arguments.instructions)
    pytorch = [Peer(peer, arguments) for peer in peers]
    mylos = start(command_of(arguments.bench, arguments, [*held(arguments), *words]), arguments, arguments.ranks)
    older = arguments.older and start(command_of(arguments.older, arguments, words), arguments, arguments.ranks)
    jobs = step_jobs(mylos, types, arguments.steps)
    if older:
        jobs |= step_jobs(older, types, arguments.steps, "older ")
    if arguments.floors:
        jobs |= floor_jobs(mylos, types)
    for peer in pytorch:
        jobs |= peer.jobs(arguments.steps)
    results = measured(arguments.rounds, without_hopeless(jobs), quiet)
    for program in [*pytorch, *([older] if older else [])]:
        program.close()
    print_times(results, arguments.rounds)
    if arguments.floors:
        print_floors(mylos, types)
    print(HEADING_OF_RATIOS)
    print_against_ours(results, types, floor_bars or {}, arguments)
    print_against_peer(results, peer_bars)
    return mylos, results
