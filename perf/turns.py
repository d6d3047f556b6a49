"""Interleaves programs: one computes while the others wait, and every ratio is formed within a round."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The threads of a process that has finished its turn wait actively for some milliseconds before they sleep.
REST_S = 0.05
# Of the processors: if others use more, a turn waits, or counts as disturbed.
BUSY_SHARE = 0.15
# Variants of PyTorch that are slower in the first round by this factor than its best of the same type, or of all, are skipped.
HOPELESS, HOPELESS_OF_ALL = 1.5, 4


def limits(pytorch, compiled, onednn, mkl):
    """Environment variables that limit libraries to instructions: PyTorch's own kernels, the code of torch.compile, oneDNN (ours
    and PyTorch's) and MKL."""
    return {"ATEN_CPU_CAPABILITY": pytorch, "TORCHINDUCTOR_CPP_MARCH": compiled, "ONEDNN_MAX_CPU_ISA": onednn,
            "MKL_ENABLE_INSTRUCTIONS": mkl}


# Keys are the names of kernels.instructions. avx512-bf16 excludes the matrix unit (AMX).
INSTRUCTIONS = {
    "baseline": limits("default", "x86-64", "SSE41", "SSE4_2"),
    "avx2": limits("avx2", "x86-64-v3", "AVX2", "AVX2"),
    "avx512": limits("avx512", "x86-64-v4", "AVX512_CORE", "AVX512"),
    "avx512-bf16": limits("avx512", "x86-64-v4", "AVX512_CORE_BF16", "AVX512"),
}


def environment(threads, instructions=None):
    """The environment of interleaved programs and of complete runs."""
    result = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="false",
                  OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    result.pop("OMP_WAIT_POLICY", None)  # "active" threads would disturb the other program
    return result | INSTRUCTIONS.get(instructions, {})


def command_of(bench, arguments, words=()):
    """The command line of one of our step programs."""
    ranks = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(arguments.ranks)] if arguments.ranks > 1 else []
    return [*ranks, bench, *words]


def held(arguments):
    """The option that limits our step programs to an instruction set."""
    return ["--instructions", arguments.instructions] if arguments.instructions else []


class Program:
    """A program that executes commands from its standard input. What it prints as errors and warnings is shown only if it fails."""

    def __init__(self, command, arguments, ranks=1):
        threads = max(1, arguments.threads // ranks)
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment(threads, arguments.instructions))

    def ended(self):
        """What says that the program is no longer there, after its own messages."""
        code = self.process.wait()
        self.errors.seek(0)
        return SystemExit(f"{self.errors.read()}{self.process.args[0]} ended with code {code}")

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            raise self.ended()
        return line

    def ask(self, command):
        """The lines of the answer."""
        try:
            print(command, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            raise self.ended() from None
        return list(iter(self.line, "\n"))

    def number(self, command):
        return float(self.ask(command)[0].split()[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()


class Quiet:
    """Waits before each turn until no other program computes, at most `patience_s` seconds."""

    def __init__(self, patience_s):
        self.patience_s = patience_s
        self.turns = 0
        self.disturbed = 0
        self.shares = []  # the busy fraction when each turn began: other programs', because ours wait

    @staticmethod
    def busy_share():
        """The busy fraction of the processors while we are idle."""
        def ticks():
            counts = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
            return sum(counts), counts[3] + counts[4]  # all; idle and waiting for a disk
        before = ticks()
        time.sleep(2 * REST_S)
        after = ticks()
        return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])

    def wait(self):
        time.sleep(REST_S)
        self.turns += 1
        end = time.monotonic() + self.patience_s
        while (share := self.busy_share()) > BUSY_SHARE:
            if time.monotonic() > end:
                self.disturbed += 1
                break
        self.shares.append(share)

    def report(self):
        print(f"\nLoad at the end {os.getloadavg()[0]:.1f}; "
              f"{self.disturbed} of {self.turns} turns began while others computed.")


def store(path, subjects, quiet, unit="ms"):
    """Writes what was measured for perf/compare.py, if `path` is not None. `subjects`: {subject: {job: [result of each round]}}."""
    if path is not None:
        record = {"unit": unit, "subjects": subjects, "turns": quiet.turns, "disturbed": quiet.disturbed,
                  "others_percent": round(100 * statistics.mean(quiet.shares), 1) if quiet.shares else 0.0}
        path.write_text(json.dumps(record, indent=1), encoding="utf-8")


def in_turns(rounds, jobs, quiet, unit="ms"):
    """Runs every job in every round, in reversed order in every second round: {job: [result of each round]}."""
    results = {name: [] for name in jobs}
    for index in range(rounds):
        for name in list(jobs)[:: 1 if index % 2 == 0 else -1]:
            quiet.wait()
            results[name].append(jobs[name]())
        last = "  ".join(f"{name} {times[-1]:.4g}" for name, times in results.items())
        print(f"round {index + 1}, {unit}: {last}", flush=True)
    return results


def spread(values, unit=""):
    return f"{statistics.median(values):8.3f}{unit}   [{min(values):.3f} .. {max(values):.3f}]"


def ratios(above, below):
    return [a / b for a, b in zip(above, below)]


def print_ratio(what, above, below, bar):
    values = ratios(above, below)
    met = "met" if statistics.median(values) <= bar else "MISSED"
    print(f"  {what:48} {spread(values)}   of the smallest {min(above) / min(below):.3f}   bar {bar:.3f}: {met}")


def best_of(results, names):
    return min(names, key=lambda name: statistics.median(results[name]))


class Peer:
    """PyTorch's program: its steps as jobs; none if PyTorch is not installed."""

    def __init__(self, command, arguments):
        self.program, self.names = None, []
        if not arguments.python.exists():
            print(f"No {arguments.python}: run scripts/peers to compare with PyTorch.")
            return
        command = [arguments.python, *command] + (["--no-compile"] if arguments.no_compile else [])
        self.program = Program(command, arguments)
        self.names = self.program.line().split()

    def jobs(self, steps):
        return {f"PyTorch {name}": lambda name=name: self.program.number(f"step {name} {steps}")
                for name in self.names}

    def close(self):
        if self.program:
            self.program.close()


def step_jobs(program, types, steps, whose=""):
    return {whose + name: lambda name=name: program.number(f"step {name} {steps}") for name in types}


def floor_jobs(program, types):
    return {f"floor {name}": lambda name=name: program.number(f"floor {name}") for name in types}


def kind_of(job):
    """The type in which a job of PyTorch computes: fp32, bf16."""
    return job.removeprefix("PyTorch ").split("-")[0]


def without_hopeless(jobs):
    """Measures after one warm-up turn each, in which programs allocate, compile and choose."""
    first = in_turns(1, jobs, Quiet(0))
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


def print_against_peer(results, bars):
    """`bars`: {(ours, the peer's kind; "" for all): bar}."""
    for (ours, theirs), bar in bars.items():
        names = [name for name in results if name.startswith(f"PyTorch {theirs}")]
        if names:
            best = best_of(results, names)
            of_all = "" if theirs else ", its best of all"
            print_ratio(f"{ours} / {best}{of_all}", results[ours], results[best], bar)


def compare_steps(words, types, peers, arguments, quiet):
    """Measures our steps, those of an older build of ours, their floors and PyTorch's steps interleaved, and prints
    the times. Returns our program and the results. `words`: arguments of our program; `peers`: commands without python."""
    pytorch = [Peer(peer, arguments) for peer in peers]
    mylos = Program(command_of(arguments.bench, arguments, [*held(arguments), *words]), arguments, arguments.ranks)
    older = arguments.older and Program(command_of(arguments.older, arguments, words), arguments, arguments.ranks)
    jobs = step_jobs(mylos, types, arguments.steps)
    if older:
        jobs |= step_jobs(older, types, arguments.steps, "older ")
    if arguments.floors:
        jobs |= floor_jobs(mylos, types)
    for peer in pytorch:
        jobs |= peer.jobs(arguments.steps)
    results = in_turns(arguments.rounds, without_hopeless(jobs), quiet)
    for program in [*pytorch, *([older] if older else [])]:
        program.close()
    print_times(results, arguments.rounds)
    if arguments.floors:
        print_floors(mylos, types)
    print("\nRatios, each within a round: median [smallest .. largest]")
    return mylos, results


def has_16_bit_products(arguments):
    """False if the instructions have no 16-bit multiplications; true for those of this machine, which are unknown."""
    return arguments.instructions in (None, "avx512-bf16")


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


def add_json_option(parser):
    parser.add_argument("--json", type=pathlib.Path, help="a file for the results of all rounds, as perf/compare.py reads them")


def add_options(parser, bench, steps=10):
    """Adds the options that all comparisons share; `bench` is the name of our program."""
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/host/bin" / bench)
    parser.add_argument("--steps", type=int, default=steps, help="steps of one turn; their median counts")
    parser.add_argument("--threads", type=int, default=2, help="total threads of all ranks of a program")
    parser.add_argument("--patience", type=float, default=5, help="seconds that a turn waits for an idle machine")
    parser.add_argument("--instructions", choices=INSTRUCTIONS, help="limit both sides to these instructions; default: the machine's")
    add_json_option(parser)
    parser.set_defaults(ranks=1)


def add_python_option(parser):
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "mylos"
    cache = pathlib.Path(os.environ.get("MYLOS_CACHE", cache))
    parser.add_argument("--python", type=pathlib.Path, default=cache / "peers/bin/python", help="of the peers; default: scripts/peers' own")


def add_peer_options(parser):
    add_python_option(parser)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-compile", action="store_true", help="omit torch.compile")
    parser.add_argument("--no-floors", dest="floors", action="store_false", help="omit the floors")
    parser.add_argument("--older", type=pathlib.Path, help="the same program of an older build, interleaved; "
                        "--instructions sets only the variables of its libraries")


def read_options(parser):
    arguments = parser.parse_args()
    for bench in filter(None, (arguments.bench, getattr(arguments, "older", None))):
        if not bench.exists():
            parser.error(f"{bench} does not exist: build the target {bench.name}, or name another one")
    return arguments


def print_machine(what, arguments):
    print(f"{what}, {arguments.threads} threads, instructions: {arguments.instructions or 'all'}; "
          f"load at the start {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
