#!/usr/bin/python3
"""How much longer a step takes when its activations get fewer bytes: our plans beside "recompute every block" and "keep
the input of every k-th block", for a GPT of 24 layers (6 heads, 384 wide, context 256, batch 4).

Every plan's step takes turns with the step that keeps all; the ratio is formed within a pair. Prints a table with the
overhead that was predicted, and draws a plot. Needs a build with benchmarks, and Debian's python3-matplotlib for the
plot.

  perf/memory_study.py [--bench build/host/bin/gpt_bench] [--pairs 7] [--type bf16] [--plot memory_study.png]
"""

import dataclasses
import pathlib
import statistics

import harness
from harness import steps

# Percent of the activations' bytes that are saved: at most this much longer may a step take (None: no bar).
SAVED = {15: None, 25: None, 35: 1.05, 50: 1.14, 60: None, 75: 1.26, 85: None, 90: 1.36}
EVERY = (1, 2, 3, 4, 6, 8)


@dataclasses.dataclass
class Point:
    name: str
    saved: float  # share of the bytes of keeping all
    predicted: float
    ratios: list

    @property
    def overhead(self):
        return statistics.median(self.ratios) - 1


def measure(name, arguments, quiet):
    """Measures in a separate process, which has the weights of only two runs."""
    all_kept, planned = arguments.type, f"{arguments.type}-{name}"
    program = harness.start([arguments.bench, *steps.held(arguments), arguments.shape], arguments)
    size_of_all = program.number(f"memory {all_kept}")
    size, predicted = (float(word) for word in program.ask(f"memory {planned}")[0].split()[:2])
    times = harness.measured(arguments.pairs, steps.step_jobs(program, (all_kept, planned), arguments.steps), quiet)
    program.close()
    return Point(name, 1 - size / size_of_all, predicted, harness.ratios(times[planned], times[all_kept]))


def print_table(points):
    print(f"\n{'plan':12} {'saved':>7}   {'step / keeping all':32} {'predicted':>9}")
    for point in points:
        bar = SAVED.get(int(point.name.removeprefix("save-"))) if point.name.startswith("save-") else None
        verdict = "" if bar is None else f"   bar {bar:.2f}: {harness.met(point.overhead + 1 <= bar)}"
        print(f"{point.name:12} {point.saved:7.1%}   {harness.spread(point.ratios):32} {1 + point.predicted:9.3f}"
              f"{verdict}")


def name_points(axes, points, left):
    """The points are close together, so their names are in a column to their right, in the order of their heights, each
    with a line to its point."""
    column = max(left) + 6
    middle = statistics.mean(100 * point.overhead for point in points)
    row_points = 12  # of 1/72 inch, for names of 8
    by_height = sorted(zip(points, left), key=lambda pair: pair[0].overhead)
    for row, (point, x) in enumerate(by_height):
        name = "every block" if point.name == "every-1" else f"k = {point.name.removeprefix('every-')}"
        shift = row_points * (row - (len(points) - 1) / 2)
        text = axes.annotate(name, (column, middle), xytext=(0, shift), textcoords="offset points", fontsize=8, va="center")
        axes.annotate("", (x, 100 * point.overhead), xytext=(0, 0.5), textcoords=text, zorder=1,
                      arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "gray", "shrinkA": 2, "shrinkB": 0})


def draw(points, what, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for label, prefix, style in (("planned for a budget", "save-", "o-"), ("every k-th block kept", "every-", "s")):
        line = sorted((point for point in points if point.name.startswith(prefix)), key=lambda point: point.saved)
        if not line:
            continue
        left = [100 * (1 - point.saved) for point in line]
        drawn = axes.errorbar(left, [100 * point.overhead for point in line], fmt=style, capsize=2, label=label,
                              yerr=[[100 * (point.overhead + 1 - min(point.ratios)) for point in line],
                                    [100 * (max(point.ratios) - 1 - point.overhead) for point in line]])
        axes.plot(left, [100 * point.predicted for point in line], "--" if "-" in style else "x", linewidth=1,
                  color=drawn[0].get_color(), label=f"{label}, predicted")
        if prefix == "every-":
            name_points(axes, line, left)
    axes.set_xlabel("activations, % of the bytes of keeping all")
    axes.set_ylabel("longer step, %")
    axes.set_title(what, fontsize=10)
    axes.set_xlim(0, 102)
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    print(f"\nplot: {path}")


def main():
    parser = harness.parser_of(__doc__)
    harness.add_options(parser, "gpt_bench", steps=1)
    parser.add_argument("--pairs", type=int, default=7, help="pairs of a plan's step and the step that stores all activations")
    parser.add_argument("--type", choices=steps.TYPES, default="bf16")
    parser.add_argument("--shape", choices=("deep", "medium", "small"), default="deep", help="shape of the GPT")
    parser.add_argument("--plans", nargs="+", help="only these plans: save-50 every-2 ...")
    parser.add_argument("--plot", type=pathlib.Path, default=pathlib.Path("memory_study.png"))
    arguments = harness.read_options(parser)

    what = f"GPT ({arguments.shape}), {arguments.type}, AdamW"
    harness.print_machine(what, arguments.threads, arguments.instructions)
    quiet = harness.Quiet(arguments.patience)
    names = arguments.plans or [f"save-{share}" for share in SAVED] + [f"every-{k}" for k in EVERY]
    points = []
    for name in names:
        print(name)
        points.append(measure(name, arguments, quiet))
    print_table(points)
    quiet.report()
    try:
        draw(points, what, arguments.plot)
    except ImportError as missing:
        print(f"no plot: {missing}")


if __name__ == "__main__":
    main()
