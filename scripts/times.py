#!/usr/bin/env python3
"""Where the time of builds and tests goes: the slowest compilations and tests of this tree, beside those of the last table
that this machine's user kept; and whether it stays within tests/time_budgets.json. .ci/run prints it.

usage: times.py [--keep] [--judge] [ROWS]     ROWS: of each list (default 20); --keep: this table is the next one's comparison;
                                              --judge: ends with 1 if a budget is exceeded

Reads build/*/.ninja_log (seconds of each compiler, which say little where ccache had the result) and build/test*.xml (what
ctest measured); keeps the table in MYLOS_CACHE/times.json (default ~/.cache/mylos).

Budgets hold on any machine: they are multiples of the time in which the same build precompiled its headers. Nothing is judged
where those came from ccache, or where other programs took the processors (MYLOS_LOAD, which scripts/test sets as it starts).
"""
import json
import os
import pathlib
import re
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cache_folder():
    home = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return pathlib.Path(os.environ.get("MYLOS_CACHE") or home / "mylos")


def compilations(log):
    """What ninja built last by each command -> seconds."""
    found = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            start, end, _, output, _ = line.split("\t")
            if output.endswith((".o", ".gch")):
                found[re.sub(r"CMakeFiles/[^/]*[.]dir/", "", output)] = (int(end) - int(start)) / 1000
    return found


def tests(report):
    return {case.get("name"): float(case.get("time")) for case in xml.etree.ElementTree.parse(report).iter("testcase")
            if case.get("status") in ("run", "fail")}


def seconds_of_suite(report):
    return float(xml.etree.ElementTree.parse(report).getroot().get("time"))


def measured():
    """Title -> {what: seconds}."""
    found = {}
    for log in sorted((ROOT / "build").glob("*/.ninja_log")):
        found[f"compilers, build/{log.parent.name}"] = compilations(log)
    for report in sorted((ROOT / "build").glob("test*.xml")):
        found[f"tests, build/{report.name}"] = tests(report)
        found.setdefault("suites, side by side", {})[f"build/{report.name}"] = seconds_of_suite(report)
    return {title: times for title, times in found.items() if times}


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return f"{os.cpu_count()} x {line.split(': ', 1)[1]}"
    return f"{os.cpu_count()} cores"


def beside(seconds, before):
    return f"{seconds:9.1f}" + (f"  ({before:.1f})" if before is not None else "")


def print_table(title, times, before, rows):
    known = sum(before.values()) if before else None
    print(f"{title}: {len(times)}, {beside(sum(times.values()), known).strip()} s in all")
    for what, seconds in sorted(times.items(), key=lambda item: -item[1])[:rows]:
        print(f"  {beside(seconds, before.get(what))}  {what}")


def sum_of(times, prefixes):
    return sum(seconds for what, seconds in times.items() if what.startswith(tuple(prefixes)))


def judge(now):
    """Prints what each budget allows and what was taken; returns whether all hold."""
    budgets = json.loads((ROOT / "tests/time_budgets.json").read_text(encoding="utf-8"))
    compilers = now.get("compilers, build/host", {})
    headers = [seconds for what, seconds in compilers.items() if what.endswith(".gch")]
    unit = sum(headers) / len(headers) if headers else 0
    if unit < 1:
        print("Budgets: not judged, the compilations came from ccache")
        return True
    load = float(os.environ.get("MYLOS_LOAD") or 0) / os.cpu_count()
    taken = {name: sum_of(now.get(budget["of"], {}), budget["begins"]) / unit for name, budget in budgets["budgets"].items()}
    good = True
    for name, multiple in taken.items():
        allowed = budgets["budgets"][name]["allowed"]
        exceeded = multiple > allowed
        good = good and not exceeded
        print(f"Budget: {name}: {multiple:.0f} of {allowed}, in times of {unit:.1f} s{': EXCEEDED' if exceeded else ''}")
    if load > 0.5:
        print(f"Budgets: not judged, other programs took the processors (load {load:.1f} per core at the start)")
        return True
    if not good:
        print("Make it smaller, or raise the number in tests/time_budgets.json and say why in the commit.")
    return good


def main():
    arguments = [word for word in sys.argv[1:] if word not in ("--keep", "--judge")]
    if any(not word.isdigit() for word in arguments):
        sys.exit(__doc__)
    rows = int(arguments[0]) if arguments else 20
    file = cache_folder() / "times.json"
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    last = kept.get(processor(), {})
    now = measured()
    print(f"Seconds on {processor()}; in brackets: the last table's")
    for title, times in now.items():
        print_table(title, times, last.get(title, {}), rows)
    if "--keep" in sys.argv:
        file.parent.mkdir(parents=True, exist_ok=True)
        kept[processor()] = {**last, **now}
        pending = file.with_suffix(f".{os.getpid()}")
        pending.write_text(json.dumps(kept), encoding="utf-8")
        pending.replace(file)
    if "--judge" in sys.argv and not judge(now):
        sys.exit(1)


if __name__ == "__main__":
    main()
