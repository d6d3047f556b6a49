#!/usr/bin/python3
"""Do 16 bits pay on this machine? Writes the tables of docs/explanation/precision.md: memory, time and losses of float and mixed precision
with and without recomputation; steps by type, network and batch, also of convolutional networks; errors and rates of products; rates of conversions; costs
of the loss scaler and of monitoring every parameter.

Steps are interleaved, and ratios are formed within a round. Needs a build with benchmarks, and an idle machine for 15 to 25 minutes (two cores).

  perf/precision_study.py [--bin build/host/bin] [--tables configurations steps ...] [--write docs/explanation/precision.md]
"""

import pathlib

import harness
from precision_tables import configurations, numbers, page, steps

TABLES = {
    "configurations": configurations.table,
    "steps": steps.by_batch,
    "convolutions": steps.convolutions,
    "products": lambda arguments, quiet: numbers.products(arguments),
    "conversions": lambda arguments, quiet: numbers.conversions(arguments),
    "costs": steps.costs,
}
PROGRAMS = {  # that a table needs
    "configurations": ("mylos", "gpt_bench"),
    "steps": ("step_bench", "gpt_bench"),
    "convolutions": ("chain_bench",),
    "products": ("product_error",),
    "conversions": ("conversion_bench",),
    "costs": ("step_bench", "gpt_bench"),
}


def main():
    parser = harness.parser_of(__doc__)
    parser.add_argument("--bin", type=pathlib.Path, default=harness.ROOT / "build/host/bin", help="folder of the programs")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--write", type=pathlib.Path, help="a page in which the tables are replaced")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5, help="steps of one turn; their median counts")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds for each configuration")
    parser.add_argument("--training-steps", type=int, default=300, help="steps of each of these runs")
    harness.add_turn_options(parser)
    parser.add_argument("--instructions", choices=harness.INSTRUCTIONS, help="limit the programs to these instructions; default: the machine's")
    arguments = parser.parse_args()
    for program in (program for table in arguments.tables for program in PROGRAMS[table]):
        harness.require_program(parser, arguments.bin / program, "build with benchmarks, or say --bin")

    harness.print_machine("Mixed precision", arguments.threads, arguments.instructions)
    machine = page.machine(arguments.instructions, arguments.threads)
    quiet = harness.Quiet(arguments.patience)
    tables = []
    for name in arguments.tables:
        table = TABLES[name](arguments, quiet)
        print(f"\n{table.markdown(machine)}\n", flush=True)
        tables.append(table)
        if arguments.write:
            page.write(arguments.write, tables, machine)
    quiet.report()


if __name__ == "__main__":
    main()
