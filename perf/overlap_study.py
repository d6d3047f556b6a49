#!/usr/bin/python3
"""Measures the time that the exchange between two ranks adds to a step, compared with an older build.

Steps of a GPT (6 layers, 6 heads, width 384) on two ranks of one thread each take turns with the same steps of an older
build, and with steps in which each rank trains its samples alone. What a step is longer than that is exposed communication.
Networks: shared memory, and TCP between two network namespaces whose link `tc` holds to a rate (Linux, as root).

usage: perf/overlap_study.py --older OLDER_GPT_BENCH [--network shared|tcp] [--rate 1gbit] [--batches 4 16] [--buckets 2048]
"""
import contextlib
import pathlib
import statistics
import subprocess
import tempfile

import harness

RANKS = 2
NAMESPACES = "mylos-rank-0", "mylos-rank-1"
SUBNET = "10.213.77"
# The second rank moves to its namespace. mpirun and the ranks find each other by the link's addresses.
IN_OWN_NAMESPACE = f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && exec ip netns exec {NAMESPACES[1]} "$@"
exec "$@"
"""


def system(*words):
    subprocess.run(words, check=True)


@contextlib.contextmanager
def limited_link(rate):
    """Two network namespaces, connected by a link that limits the rate in each direction."""
    for namespace in NAMESPACES:
        subprocess.run(["ip", "netns", "delete", namespace], stderr=subprocess.DEVNULL, check=False)
        system("ip", "netns", "add", namespace)
    try:
        system("ip", "link", "add", "link0", "netns", NAMESPACES[0], "type", "veth",
               "peer", "name", "link1", "netns", NAMESPACES[1])
        for number, namespace in enumerate(NAMESPACES):
            link = f"link{number}"
            system("ip", "-n", namespace, "address", "add", f"{SUBNET}.{number + 1}/24", "dev", link)
            system("ip", "-n", namespace, "link", "set", link, "up")
            system("ip", "-n", namespace, "link", "set", "lo", "up")
            system("tc", "-n", namespace, "qdisc", "add", "dev", link, "root", "tbf", "rate", rate,
                   "burst", "256kb", "latency", "50ms")
        yield
    finally:
        for namespace in NAMESPACES:
            subprocess.run(["ip", "netns", "delete", namespace], check=False)


def two_ranks(bench, network, folder):
    """The command that starts the ranks in them."""
    if network == "shared":
        return [*harness.on_ranks(RANKS), bench, "medium"]
    wrapper = pathlib.Path(folder, "in_own_namespace")
    wrapper.write_text(IN_OWN_NAMESPACE, encoding="utf-8")
    wrapper.chmod(0o755)
    over_link = ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", f"{SUBNET}.0/24",
                 "--mca", "oob_tcp_if_include", f"{SUBNET}.0/24"]
    found_by = ["env", "PMIX_MCA_ptl_tcp_if_include=link0", "PMIX_MCA_ptl_tcp_remote_connections=1"]
    return ["ip", "netns", "exec", NAMESPACES[0], *found_by, *harness.on_ranks(RANKS), *over_link, wrapper, bench, "medium"]


def measure(arguments, folder, quiet):
    newer, older = (harness.start(two_ranks(bench, arguments.network, folder), arguments, RANKS) for bench in (arguments.bench, arguments.older))
    one = harness.start([arguments.bench, "medium"], arguments)
    for batch in arguments.batches:
        for bucket in arguments.buckets:
            name = f"{arguments.type}-batch-{batch}-bucket-{bucket}"
            steps = f" {arguments.steps}"
            jobs = {"older": lambda: older.number(f"step {name}{steps}"),
                    "newer": lambda: newer.number(f"step {name}{steps}"),
                    "alone": lambda: newer.number(f"step {name}-alone{steps}"),
                    "one rank": lambda: one.number(f"step {arguments.type}-batch-{batch}{steps}")}
            for job in jobs.values():
                job()  # what is made at the first step
            print(f"\n{batch} samples, buckets of {bucket} KiB")
            report(harness.measured(arguments.rounds, jobs, quiet))
    for program in newer, older, one:
        program.close()


def report(times):
    for name, values in times.items():
        print(f"  {name:48} {harness.spread(values, ' ms')}")
    exposed = {name: [step - alone for step, alone in zip(times[name], times["alone"])] for name in ("older", "newer")}
    for name, values in exposed.items():
        print(f"  {'exposed, ' + name:48} {harness.spread(values, ' ms')}")
    medians = {name: statistics.median(values) for name, values in exposed.items()}
    print(f"  {'exposed, newer / older, of the medians':48} {medians['newer'] / medians['older']:8.3f}")
    print(f"  {'rate of 2 ranks x 1 thread / 1 rank x 2 threads':48} {harness.spread(harness.ratios(times['one rank'], times['newer']))}")


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "gpt_bench", steps=5)
    parser.add_argument("--older", type=pathlib.Path, required=True, help="the same program of an older build")
    parser.add_argument("--network", choices=("shared", "tcp"), default="shared")
    parser.add_argument("--rate", default="1gbit", help="rate of the link in each direction, in tc's units")
    parser.add_argument("--type", choices=harness.TYPES, default="bf16")
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16], help="samples of a step over both ranks")
    parser.add_argument("--buckets", type=int, nargs="+", default=[2048], help="KiB of gradients per bucket")
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    quiet = harness.Quiet(arguments.patience)
    harness.print_machine(f"Two ranks, {arguments.network}" + (f" at {arguments.rate}" if arguments.network == "tcp" else ""),
                          arguments.threads, arguments.instructions)
    with tempfile.TemporaryDirectory() as folder:
        with limited_link(arguments.rate) if arguments.network == "tcp" else contextlib.nullcontext():
            measure(arguments, folder, quiet)
    quiet.report()


if __name__ == "__main__":
    main()
