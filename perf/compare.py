#!/usr/bin/env python3
"""Runs the comparisons of docs/explanation/beside.md on this machine, and prints one table of ratios.

  scripts/peers                    once: PyTorch, ONNX Runtime and neuraloperator, beside the build
  perf/compare.py --quick          a part of the comparisons, with few rounds and without torch.compile
  perf/compare.py                  all of them, complete trainings included; leave the machine alone meanwhile
  perf/compare.py --only call weights [--json FILE]

A ratio is Mylos' time by that of the peer's fastest variant, the median of the rounds and the smallest and largest one: below 1
Mylos is faster. Each comparison is a script of this folder, which can be run alone and has more options (perf/README.md); programs
are interleaved, and both sides have the same batch, type and number of threads. What is not here is skipped, with a line that says
how to get it. Results of a busy machine are marked, in the table and in FILE.

Ends with 0 if all that is here was measured, with 1 if nothing could be or a comparison ended with an error.
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from comparison import peers, subjects, table
import harness
from harness import machine

PERF = harness.ROOT / "perf"


def command_of(comparison, record, here, arguments):
    """The script's command line. Later options of the same name win."""
    command = [here.python if comparison.runs_in_peers else sys.executable, PERF / comparison.script]
    if comparison.name == "device":
        command += ["--mylos", here.device_build / "bin/mylos", "--python", here.python]
    elif comparison.own_options:
        command += ["--build", here.build]
    else:
        threads = 1 if comparison.name in ("call", "ftorch") else arguments.threads
        command += ["--bench", here.build / "bin" / comparison.programs[0], "--python", here.python, "--threads", threads,
                    "--patience", arguments.patience]
    if "mylos" in comparison.programs and not comparison.own_options:
        command += ["--mylos", here.build / "bin/mylos"]
    command += comparison.words
    if "ftorch" in comparison.needs:
        command.append(here.ftorch)
    if arguments.quick:
        command += comparison.quick
    if arguments.rounds and not comparison.own_options:
        command += ["--rounds", arguments.rounds]
    return [str(word) for word in [*command, "--json", record]]


def reason_of(output):
    """What ended a script: its last line that names an error, or else its last two lines."""
    lines = [line.strip() for line in output.splitlines() if line.strip()] or ["it printed nothing"]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b.*:", line)]
    return named[-1] if named else "; ".join(lines[-2:])


def run(command, verbose):
    """Runs a script. Returns its exit code and what it printed, which is on the screen already if `verbose`."""
    with subprocess.Popen(command, cwd=harness.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as script:
        lines = []
        for line in script.stdout:
            lines.append(line)
            if verbose:
                print(f"    {line}", end="", flush=True)
    return script.returncode, "".join(lines)


def measure(comparison, here, arguments):
    """The stored result of one comparison."""
    result = {"name": comparison.name, "skipped": None, "failed": False, "rows": []}
    if arguments.quick and comparison.quick is None:
        return result | {"skipped": "not a part of --quick"}
    if reason := here.missing(comparison):
        return result | {"skipped": reason}
    print(f"{comparison.name} ...", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder) / "record.json"
        command = command_of(comparison, record, here, arguments)
        code, output = run(command, arguments.verbose)
        if not record.exists():
            return result | {"skipped": f"{comparison.script} ended with code {code}: {reason_of(output)}", "failed": True}
        found = json.loads(record.read_text(encoding="utf-8"))
    print(f"{comparison.name}: {time.monotonic() - start:.0f} s", flush=True)
    kept = {key: found[key] for key in ("turns", "disturbed", "others_percent")}
    return result | kept | {"command": command[1:-2], "rows": table.rows_of(comparison, found)}


def document_of(results, here, arguments):
    """All that is stored of a call."""
    return {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
            "commit": machine.commit("describe", "--always", "--dirty"),
            "machine": {"processor": machine.processor(), "instruction_sets": machine.instruction_sets(), "cores": machine.cores()},
            "versions": here.versions(), "mylos": here.mylos_version, "threads": arguments.threads, "quick": arguments.quick,
            "reliable": not any(table.disturbance(result) for result in results), "comparisons": results}


def read_arguments():
    names = [comparison.name for comparison in subjects.COMPARISONS]
    parser = harness.parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the comparisons, with few rounds")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"some of: {', '.join(names)}")
    parser.add_argument("--build", type=pathlib.Path, default=harness.ROOT / "build/host", help="a build with benchmarks and tests")
    parser.add_argument("--device-build", type=pathlib.Path, default=harness.ROOT / "build/cuda", help="a build for the device, for `device`")
    parser.add_argument("--ftorch", type=pathlib.Path, metavar="PREFIX", help="where FTorch is installed; default: FTORCH_PREFIX, or "
                        "the first of CMAKE_PREFIX_PATH that has it")
    parser.add_argument("--threads", type=int, default=machine.cores(), help="of each program, but those of calls, which have one")
    parser.add_argument("--rounds", type=int, help="instead of each script's own number")
    parser.add_argument("--patience", type=float, default=5, help="seconds that a turn waits for an idle machine")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="store the results, with the machine and all versions")
    parser.add_argument("--verbose", action="store_true", help="show what the scripts print")
    harness.add_python_option(parser)
    arguments = parser.parse_args()
    if arguments.ftorch and not peers.ftorch_prefix(arguments.ftorch):
        parser.error(f"{arguments.ftorch} has no lib/cmake/FTorch/FTorchConfig.cmake: --ftorch names the prefix of an installation")
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error(f"{arguments.json.parent} is not a folder")
    arguments.build, arguments.device_build = arguments.build.absolute(), arguments.device_build.absolute()
    arguments.python = arguments.python.absolute()
    return arguments


def main():
    arguments = read_arguments()
    here = peers.Machine(arguments.build, arguments.python, arguments.ftorch, arguments.device_build)
    if (busy := harness.Quiet.busy_share()) > harness.BUSY_SHARE:
        print(f"Another process uses {100 * busy:.0f} % of the CPU. Results will be marked; better wait for an idle machine.", flush=True)
    results = []
    try:
        for comparison in subjects.COMPARISONS:
            if not arguments.only or comparison.name in arguments.only:
                results.append(measure(comparison, here, arguments))
    except KeyboardInterrupt:
        print("\nInterrupted: this is what was measured.", file=sys.stderr)
    document = document_of(results, here, arguments)
    print(f"\n{table.table(results)}\n\n{table.machine_lines(document)}")
    print("Mylos / peer: times, median [smallest .. largest] of the rounds; below 1 Mylos is faster.")
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(f"stored in {arguments.json}")
    return 0 if any(result["rows"] for result in results) and not any(result["failed"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
