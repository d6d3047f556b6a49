#!/usr/bin/python3
"""How training scales over ranks and threads: short runs of any deck, their plots, and a model that says what more ranks
would give (docs/how-to/scaling.md).

  perf/scaling.py run inputs/gpt_shakespeare.toml --ranks 1,2,4 --threads 8 --weak 16 --strong 64 --launcher srun
  perf/scaling.py plot scaling.csv scaling.png
  for n in 2 4; do srun -n $n mylos bench allreduce --csv allreduce-$n.csv; done
  perf/scaling.py model scaling.csv --allreduce allreduce-*.csv --hold-out 4
  perf/scaling.py divided --ranks 1,8,64,1024       # of samples that ranks divide (mesh.space)

Inside a batch job `run` starts its runs on the job's nodes; each appends a line to the table, so that jobs of several sizes
make one study.
"""
import argparse
import dataclasses
import os
import pathlib
import shlex
import shutil
import sys
import tempfile

import harness
from harness import machine
from scaling_study import collectives, divided, model, plan_bytes, plots, predictions, runs, table
from scaling_study.table import Trouble


def counts(text):
    """"1,2,4" """
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers from 1 on, such as 1,2,4")
    return sorted(set(numbers))


def numbers(text):
    """"256,128" in this order"""
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers from 1 on, such as 256,128")
    return found


def count(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 on")
    return int(text)


def wire(text):
    """"2,12.5": microseconds, GB/s"""
    try:
        latency_us, gigabytes_per_s = (float(word) for word in text.split(","))
        if latency_us <= 0 or gigabytes_per_s <= 0:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no latency in microseconds and rate in GB/s, such as 2,12.5") from None
    return 1e-6 * latency_us, 1e9 * gigabytes_per_s


def run_command(arguments):
    harness.print_machine(f"{arguments.deck}, {machine.processor()}", ",".join(map(str, arguments.threads)))
    runs.Study(arguments).measure()


def plot_command(arguments):
    plots.draw_study(table.points(table.read(arguments.table), arguments.fastest), arguments.plot)


def of_one_study(rows, threads, fastest):
    """The points with one number of threads, of one deck."""
    decks = {(row.deck_sha256, row.overrides) for row in rows}
    if len(decks) > 1:
        raise Trouble("the table has runs of several decks or overrides; a model is of one")
    chosen = threads or rows[0].threads
    found = [point for point in table.points(rows, fastest) if point.threads == chosen]
    if not found:
        raise Trouble(f"the table has no runs of {chosen} threads; it has {sorted({row.threads for row in rows})}")
    return found


def require_held_out(points, held_out):
    """Checks that the study has each of these rank counts."""
    measured = {point.ranks for point in points}
    if held_out - measured:
        raise Trouble(f"--hold-out {min(held_out - measured)}: the table has no runs on so many ranks; it has {sorted(measured)}")


def max_ranks_of_node(points):
    """The largest number of ranks of a node in the study, without oversubscription."""
    return max((int(point.ranks_on_node) for point in points if point.threads_per_core == 1), default=1)


def model_command(arguments):
    rows = table.read(arguments.table)
    points = of_one_study(rows, arguments.threads, arguments.fastest)
    held_out = set(arguments.hold_out or [])
    require_held_out(points, held_out)
    fitted = [point for point in points if point.ranks not in held_out]
    measurements = [one for one in collectives.read(arguments.allreduce, arguments.fastest) if one.ranks not in held_out]
    if not fitted or not measurements:
        raise Trouble("nothing is left to fit: --hold-out takes every rank count away")
    between = arguments.wire and collectives.Network.of_wire(*arguments.wire, "ring")
    networks = model.Networks(measurements, between)
    planner = plan_bytes.Planner(arguments.mylos, arguments.deck or rows[0].deck, shlex.split(rows[0].overrides),
                                 deck_shards=rows[0].shard != "none")
    fit = model.Model(fitted, networks, planner)
    print(fit.described())
    print(networks.described())
    comparisons = model.compare(fit, points, held_out)
    predictions.print_comparison(comparisons)
    on_node = arguments.ranks_per_node or max_ranks_of_node(points)
    predicted, left_out = predictions.predict(fit, points, arguments.up_to, on_node)
    if arguments.up_to > on_node and not networks.knows(2 * on_node, on_node):
        print(f"\nBeyond a node of {on_node} ranks nothing was measured: the figures of ranks in a node stand for the network's. "
              "--wire states one.")
    predictions.print_predictions(predicted)
    print("\n".join(left_out))
    if arguments.out:
        predictions.write(arguments.out, predicted)
    if arguments.plot:
        plots.draw_model(comparisons, predicted, arguments.plot)
    missed = predictions.misses(comparisons, arguments.within)
    print("\n" + ("\n".join(missed) or predictions.success(comparisons, arguments.within)))
    return 1 if missed else 0


def check_here(arguments, network):
    """Runs on this machine. Its times are judged only if it was idle."""
    quiet = harness.Quiet(arguments.patience)
    quiet.wait()
    with tempfile.TemporaryDirectory() as folder:
        found = divided.checks(arguments.mylos, pathlib.Path(folder), dataclasses.replace(network, batch=1), arguments.steps, arguments.ranks,
                               machine.cores())
    divided.print_checks(found, arguments.within)
    if quiet.disturbed:
        print("other programs were computing: the times say nothing")
    late = any(abs(one.error) > arguments.within for one in found)
    return 0 if all(one.is_exact for one in found) and (quiet.disturbed or not late) else 1


def divided_command(arguments):
    arguments.mylos = shutil.which(arguments.mylos) or arguments.mylos
    on = divided.MACHINES[arguments.machine]
    network = divided.FieldNetwork(tuple(arguments.extents), tuple(arguments.channels), arguments.batch, arguments.type)
    boxes = dataclasses.replace(network, extents=tuple(arguments.box))
    divided.print_assumptions(on)
    if not on.device:
        return check_here(arguments, network)
    for scaling, of in divided.SCALINGS.items():
        steps, left_out = divided.predicted(arguments.mylos, on, scaling, [of(boxes if scaling == "grown" else network, ranks) + (ranks,)
                                                                         for ranks in arguments.ranks])
        divided.print_steps(scaling, steps)
        print("\n".join(left_out))
    return 0


def parser():
    whole = harness.parser_of(__doc__)
    commands = whole.add_subparsers(required=True)
    fastest = "take the fastest round of each in place of the median: for a machine that others use"
    mylos = str(harness.MYLOS)

    run = commands.add_parser("run", help="measure, and append to a table")
    run.add_argument("deck", type=pathlib.Path)
    run.add_argument("overrides", nargs="*", help="section.key=value, for every run")
    run.add_argument("--ranks", type=counts, default=[1, 2], help="such as 1,2,4 (default: 1,2)")
    run.add_argument("--threads", type=counts, default=[1], help="threads of a rank, such as 1,8 (default: 1)")
    run.add_argument("--weak", type=count, metavar="SAMPLES", help="samples of a rank: the batch grows with the ranks")
    run.add_argument("--strong", type=count, metavar="SAMPLES",
                     help="samples of all ranks (default, without --weak: the deck's data.batch)")
    run.add_argument("--steps", type=count, default=30, help="timed steps (default: 30)")
    run.add_argument("--warm-up", type=count, default=5, help="steps before them (default: 5)")
    run.add_argument("--rounds", type=count, default=3, help="rounds of all combinations, interleaved (default: 3)")
    run.add_argument("--launcher", default="mpirun",
                     help=f"{', '.join(runs.LAUNCHERS)}, or a command line with {{ranks}}, {{threads}}, {{nodes}}, "
                          "{ranks_on_node} in it (default: mpirun)")
    run.add_argument("--ranks-per-node", type=count, help="for {nodes} and {ranks_on_node} (default: all ranks)")
    run.add_argument("--cores", type=count, default=machine.cores(), help="cores of a node (default: those of this process)")
    run.add_argument("--machine", default="", help="name of the machine in the table")
    run.add_argument("--mylos", default=mylos)
    run.add_argument("--folder", default=".", help="folder for run folders, which all ranks see (default: the current one)")
    run.add_argument("--out", type=pathlib.Path, default=pathlib.Path("scaling.csv"), help="the table (default: scaling.csv)")
    run.add_argument("--patience", type=float, default=1, help="seconds that a run waits for an idle machine")
    run.set_defaults(command=run_command)

    plot = commands.add_parser("plot", help="draw a table")
    plot.add_argument("table", type=pathlib.Path)
    plot.add_argument("plot", type=pathlib.Path, help="FILE.png or FILE.svg")
    plot.add_argument("--fastest", action="store_true", help=fastest)
    plot.set_defaults(command=plot_command)

    predict = commands.add_parser("model", help="fit a table and predict")
    predict.add_argument("table", type=pathlib.Path)
    predict.add_argument("--allreduce", type=pathlib.Path, nargs="+", required=True,
                         help="files of `mylos bench allreduce --csv`, for several rank counts")
    predict.add_argument("--threads", type=count, help="one of the study's numbers of threads (default: the first)")
    predict.add_argument("--hold-out", type=counts, help="rank counts that are excluded from the fit")
    predict.add_argument("--within", type=float, default=0.15, help="allowed error of held-out rates (default: 0.15)")
    predict.add_argument("--up-to", type=count, default=4096, help="ranks (default: 4096)")
    predict.add_argument("--ranks-per-node", type=count, help="for the predictions (default: the study's maximum without oversubscription)")
    predict.add_argument("--wire", type=wire, metavar="US,GB/s",
                         help="latency and rate of a node's network, if it was not measured")
    predict.add_argument("--fastest", action="store_true", help=fastest)
    predict.add_argument("--deck", type=pathlib.Path, help="current path of the table's deck")
    predict.add_argument("--mylos", default=mylos)
    predict.add_argument("--out", type=pathlib.Path, help="predictions, as CSV")
    predict.add_argument("--plot", type=pathlib.Path, help="FILE.png or FILE.svg")
    predict.set_defaults(command=model_command)

    boxes = commands.add_parser("divided", help="predict how the division of samples over ranks scales, by a U-Net; or check it here")
    boxes.add_argument("--machine", choices=divided.MACHINES, default="h100", help="\"here\": runs on this machine (default: h100)")
    boxes.add_argument("--ranks", type=counts, default=[1, 8, 64, 1024], help="such as 1,2,4 (default: 1,8,64,1024)")
    boxes.add_argument("--extents", type=numbers, default=[256, 256, 256], help="points of a sample (default: 256,256,256)")
    boxes.add_argument("--box", type=numbers, default=[64, 64, 32], help="points of a rank of fields that grow (default: 64,64,32)")
    boxes.add_argument("--channels", type=numbers, default=[32, 64, 128], help="of the levels of the U-Net (default: 32,64,128)")
    boxes.add_argument("--batch", type=count, default=1, help="samples of strong scaling (default: 1)")
    boxes.add_argument("--type", default="bf16", choices=harness.TYPES)
    boxes.add_argument("--steps", type=count, default=8, help="steps of a run here (default: 8)")
    boxes.add_argument("--within", type=float, default=0.25, help="allowed error of times here (default: 0.25)")
    boxes.add_argument("--patience", type=float, default=1, help="seconds that runs here wait for an idle machine")
    boxes.add_argument("--mylos", default=mylos)
    boxes.set_defaults(command=divided_command)
    return whole


def parsed():
    """Overrides may be mixed with options, as on mylos' command line; argparse accepts them in one place only."""
    whole = parser()
    arguments, others = whole.parse_known_args()
    unknown = [word for word in others if word.startswith("-") or "overrides" not in arguments]
    if unknown:
        whole.error(f"unrecognized arguments: {' '.join(unknown)}")
    if others:
        arguments.overrides += others
    return arguments


def main():
    arguments = parsed()
    try:
        return arguments.command(arguments) or 0
    except Trouble as trouble:
        print(f"scaling.py: {trouble}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
