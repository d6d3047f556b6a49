"""Analyses a trace of kernels (perf/kernel_trace.cpp, or PyTorch's profiler)."""

import collections
import dataclasses
import re


@dataclasses.dataclass
class Kernel:
    begin: int  # nanoseconds
    end: int
    name: str


def read(path):
    """Reads the kernels, sorted by begin."""
    kernels = []
    with path.open(errors="replace") as file:
        for line in file:
            cells = line.rstrip("\n").split("\t", 7)
            if len(cells) == 8 and cells[0].isdigit() and cells[1].isdigit():
                kernels.append(Kernel(int(cells[0]), int(cells[1]), cells[7]))
    return sorted(kernels, key=lambda kernel: kernel.begin)


def last_steps(kernels, steps, count):
    """(the kernels of the last `count` of `steps` steps without the very last one, their nanoseconds). Steps are separated by
    the launches of a kernel that every step has once. Empty if there is no such kernel."""
    times = collections.Counter(kernel.name for kernel in kernels)
    once = {name for name, number in times.items() if number == steps}
    for anchor in sorted(once):
        begins = [kernel.begin for kernel in kernels if kernel.name == anchor]
        first, last = begins[-count - 1], begins[-1]
        found = [kernel for kernel in kernels if first <= kernel.begin < last]
        return found, last - first
    return [], 0


def busy(kernels):
    """Nanoseconds in which at least one of the kernels ran."""
    total, until = 0, 0
    for kernel in kernels:
        total += max(0, kernel.end - max(kernel.begin, until))
        until = max(until, kernel.end)
    return total


LAUNCHERS = re.compile(r"for_each_\w+|launch|norm_rows|cross_entropy|math|cuda_parallel_\w+|floating_point_wrapper")


def short_name(name):
    """The name without template arguments and namespaces. For our kernels, the functor of the launcher; for names too long to
    be demangled, the words after their lengths."""
    if "Kokkos" in name and "mylos" in name:
        words = re.findall(r"mylos::(?:\(anonymous namespace\)::|\w+::)*(\w+)", name)
        if name.startswith("_Z"):
            words = re.findall(r"\d([a-z][a-z_]{5,}?)(?=[A-Z\d]|$)", name)
        words = [word for word in words if not LAUNCHERS.fullmatch(word)]
        return "mylos " + " ".join(dict.fromkeys(words[:2]))
    return re.sub(r"<.*", "", re.sub(r"^void ", "", name))[:90]


def table(kernels, count, name_of=short_name):
    """Rows (milliseconds per step, launches per step, name), the longest first."""
    total, launches = collections.Counter(), collections.Counter()
    for kernel in kernels:
        name = name_of(kernel.name)
        total[name] += kernel.end - kernel.begin
        launches[name] += 1
    return [(nanoseconds * 1e-6 / count, launches[name] / count, name) for name, nanoseconds in total.most_common()]


def write_table(path, kernels, count):
    """The same by full names, for details."""
    with path.open("w") as file:
        print("ms_per_step", "launches_per_step", "kernel", sep="\t", file=file)
        for milliseconds, launches, name in table(kernels, count, name_of=str):
            print(f"{milliseconds:.4f}", f"{launches:g}", name, sep="\t", file=file)
