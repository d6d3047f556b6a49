"""The plots of a study and of a model."""
from .collectives import ALGORITHMS
from .table import SHARDS, Trouble

PARTS = {"compute_ms": ("compute", "tab:blue"), "exposed_ms": ("exposed communication", "tab:red"),
         "data_ms": ("waiting for data", "tab:orange")}


def pyplot():
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot as plots
    except ImportError:
        raise Trouble("plots need matplotlib (Debian's python3-matplotlib)") from None
    return plots


def series(points):
    """{label: its points, by ranks}"""
    found = {}
    for point in points:
        found.setdefault((point.scaling, point.kept_samples, point.threads), []).append(point)
    names = names_of({key[:2] for key in found})
    return {f"{names[key[:2]]}, {key[2]} thread{'' if key[2] == 1 else 's'}": line for key, line in found.items()}


def names_of(curves):
    """{(scaling, samples): label}; labels contain the samples if two curves differ only in them."""
    scalings = [scaling for scaling, _ in curves]
    return {(scaling, samples): f"{scaling}, {samples:g} samples" if scalings.count(scaling) > 1 else scaling
            for scaling, samples in curves}


def draw_curves(axes, points, value, title):
    """`value` of a point or None. Hollow: more threads than cores."""
    for index, (label, line) in enumerate(series(points).items()):
        shown = [(point, value(point, line)) for point in line]
        shown = [(point, number) for point, number in shown if number is not None]
        color = f"C{index}"
        axes.plot([point.ranks for point, _ in shown], [number for _, number in shown], "-", color=color, linewidth=1,
                  label=label)
        for point, number in shown:
            axes.plot(point.ranks, number, "o", color=color, markerfacecolor="white" if point.threads_per_core > 1 else color)
    finish(axes, [point.ranks for point in points], title)


def finish(axes, ranks, title):
    """At most a dozen ticks."""
    shown = sorted(set(ranks))
    shown = shown[:: 1 + len(shown) // 12]
    axes.set_xscale("log", base=2)
    axes.set_xticks(shown, [str(count) for count in shown])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("ranks")
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def efficiency(point, line):
    """Efficiency: a fraction of the rate per rank at the fewest ranks."""
    return point.rate_per_rank / line[0].rate_per_rank


def draw_parts(axes, points):
    """Draws a step, from below: compute, exposed communication, waiting for data."""
    names = []
    for index, point in enumerate(points):
        names.append(f"{point.scaling[0]} {point.ranks}x{point.threads}")
        bottom = 0.0
        for part, (label, color) in PARTS.items():
            height = getattr(point, part) or 0.0
            axes.bar(index, height, bottom=bottom, color=color, width=0.7, label=label if index == 0 else None)
            bottom += height
    axes.set_xticks(range(len(names)), names, rotation=60, fontsize=7)
    axes.set_ylim(top=1.35 * axes.get_ylim()[1])  # room for the legend
    axes.set_title("a step, ms (w: weak, s: strong, ranks x threads)", fontsize=10)
    axes.legend(fontsize=7)


def draw_study(points, path):
    """Panels for the values that the runs reported."""
    plots = pyplot()
    panels = [(lambda point, line: point.rate_per_rank, "samples per second and rank"),
              (efficiency, "efficiency: rate of a rank, of that at the fewest ranks")]
    if any(point.flops_per_s is not None for point in points):
        panels += [(lambda point, line: point.flops_per_s and 1e-9 * point.flops_per_s, "GFLOP/s over all ranks"),
                   (lambda point, line: point.peak_share, "share of the peak")]
    has_parts = any(point.compute_ms is not None for point in points)
    count = len(panels) + has_parts
    figure, axes = plots.subplots(-(-count // 2), 2, figsize=(9, 3.2 * -(-count // 2)), squeeze=False)
    flat = list(axes.flat)
    for axis, (value, title) in zip(flat, panels):
        draw_curves(axis, points, value, title)
    if has_parts:
        draw_parts(flat[len(panels)], points)
    flat[0].legend(fontsize=7)
    for axis in flat[count:]:
        axis.set_axis_off()
    if any(point.threads_per_core > 1 for point in points):
        figure.text(0.01, 0.005, "hollow: more threads than cores", fontsize=7)
    save(figure, path)


def draw_model(comparisons, predictions, path):
    plots = pyplot()
    figure, (rates, exposed, memory) = plots.subplots(1, 3, figsize=(12, 3.8))
    styles = {(shard, algorithm): f"C{color}{line}" for color, shard in enumerate(SHARDS)
              for algorithm, line in zip(ALGORITHMS, ("-", "--"))}
    names = dict(sorted(names_of({one.series for one in predictions}).items(), reverse=True))
    for (shard, algorithm), style in styles.items():
        for curve, name in names.items():
            line = [one for one in predictions if (one.shard, one.algorithm, one.series) == (shard, algorithm, curve)]
            if not line:
                continue
            ranks, width = [one.ranks for one in line], 1.0 if curve[0] == "weak" else 2.0
            label = f"{name}, {'plain' if shard == 'none' else f'sharded {shard}'}, {algorithm}"
            rates.plot(ranks, [one.rate_per_rank for one in line], style, linewidth=width)
            exposed.plot(ranks, [one.exposed_ms / one.step_ms for one in line], style, linewidth=width, label=label)
            if algorithm == "ring":
                memory.plot(ranks, [one.rank_bytes / 2**20 for one in line], style, linewidth=width)
    for one in comparisons:
        hollow = "white" if one.held_out else "black"
        rates.plot(one.point.ranks, one.point.rate_per_rank, "o", color="black", markerfacecolor=hollow, markersize=4)
        rates.plot(one.point.ranks, one.predicted.rate_per_rank, "x", color="tab:red", markersize=5)
    for axes, title in ((rates, "samples per second and rank"), (exposed, "exposed communication, share of a step"),
                        (memory, "MiB of a rank (mylos plan)")):
        finish(axes, [one.ranks for one in predictions], title)
    exposed.set_ylim(top=1)
    exposed.legend(fontsize=6, loc="upper left")
    figure.text(0.01, 0.01, "points: measured (hollow: held out of the fit), crosses: model of the same; lines: model of further nodes", fontsize=7)
    save(figure, path)


def save(figure, path):
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise Trouble(f"{path}: cannot be written: {error}") from None
    print(f"plot: {path}")
