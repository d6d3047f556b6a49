"""The tables of a model: its errors, and its predictions for other numbers of ranks."""
import csv
import dataclasses
import pathlib

from .collectives import ALGORITHMS
from .table import SHARDS, Trouble

COLUMNS = ["scaling", "ranks", "nodes", "batch", "algorithm", "shard", "compute_ms", "exchange_ms", "exposed_ms", "step_ms",
           "samples_per_s", "rate_per_rank", "efficiency", "rank_bytes"]


def mebibytes(count):
    return "-" if count is None else f"{count / 2**20:.1f}"


def print_comparison(comparisons):
    print(f"\n  {'':9}{'ranks':>6}{'batch':>8}  {'samples/s':>10}{'model':>10}{'error':>8}   {'exposed':>8}{'model':>8} ms   "
          "bytes of a rank")
    for one in comparisons:
        point = one.point
        exposed = "-" if point.exposed_ms is None else f"{point.exposed_ms:.2f}"
        off = one.bytes_off
        exact = "not known" if off is None else "exact" if off == 0 else f"{off:+d}"
        print(f"  {'held out' if one.held_out else 'fitted':9}{point.ranks:>6}{point.batch:>8.0f}  "
              f"{point.samples_per_s:>10.1f}{one.predicted.samples_per_s:>10.1f}{one.error:>+8.1%}   "
              f"{exposed:>8}{one.predicted.exposed_ms:>8.2f}      {exact}  ({point.scaling})")


def misses(comparisons, within):
    """Describes the errors beyond the bar."""
    found = []
    for one in comparisons:
        where = f"{one.point.scaling}, {one.point.ranks} ranks"
        if one.held_out and abs(one.error) > within:
            found.append(f"{where}: the rate is {one.error:+.1%} off")
        if one.bytes_off:
            found.append(f"{where}: bytes of a rank are {one.bytes_off:+d} off")
    return found


def success(comparisons, within):
    """The summary if no bar was missed; "" if no rank count was held out."""
    if not any(one.held_out for one in comparisons):
        return ""
    silent = sum(one.bytes_off is None for one in comparisons)
    exact = f"bytes of {silent} of {len(comparisons)} places not known" if silent else "bytes exact"
    return f"held-out rates within {within:.0%}, {exact}"


def rank_counts(most):
    """1, 2, 4, ..."""
    return [1 << power for power in range(most.bit_length()) if 1 << power <= most]


def predict(model, points, max_ranks, ranks_per_node):
    """Predicts for the scalings and samples of these points, from one rank on, with every sharding, ring and tree. Also returns
    the skipped configurations, with the first reason of `mylos plan`."""
    found, left_out, series = [], [], {}
    for point in points:
        series.setdefault((point.scaling, point.kept_samples), point)
    for (scaling, samples), point in sorted(series.items()):
        refused = {shard: {} for shard in SHARDS}  # of them {ranks: what was said}
        for ranks in rank_counts(max_ranks):
            batch = round(samples * ranks) if scaling == "weak" else round(samples)
            on_node = min(ranks, ranks_per_node)
            for shard in SHARDS:
                for algorithm in ALGORITHMS:
                    one = model.step(ranks, on_node, point.threads, int(point.cores), batch, shard, algorithm, scaling)
                    if one is not None:
                        found.append(one)
                    else:
                        said = model.planner.refusals
                        refused[shard][ranks] = said.get((ranks, batch, shard)) or said[ranks, batch, "none"]
        for shard, reasons in refused.items():
            left_out += [f"left out: {scaling}, {gap}{'' if shard == 'none' else f' with sharded {shard}'}: {reason}"
                         for gap, reason in gaps(reasons, max_ranks)]
    return found, left_out


def gaps(reasons, max_ranks):
    """Merges consecutive entries of {ranks: reason} into ("2 to 8 ranks", the first reason)."""
    found, counts = [], rank_counts(max_ranks)
    for begin, ranks in enumerate(counts):
        if ranks not in reasons or (begin > 0 and counts[begin - 1] in reasons):
            continue
        last = ranks
        while 2 * last in reasons:
            last *= 2
        name = f"{ranks} ranks and more" if last == counts[-1] else f"{ranks} to {last} ranks" if last > ranks else f"{ranks} ranks"
        found.append((name, reasons[ranks]))
    return found


def efficiency(prediction, predictions):
    """Efficiency: a fraction of the rate on one rank."""
    first = next((one for one in predictions if one.series == prediction.series and one.ranks == 1), None)
    return prediction.rate_per_rank / first.rate_per_rank if first else None


def print_predictions(predictions):
    print(f"\n  {'':7}{'ranks':>6}{'nodes':>6}{'batch':>9}  {'shard':11}{'collectives':12}{'step ms':>9}{'exposed':>9}"
          f"{'samples/s':>12}{'a rank':>9}{'eff.':>7}{'MiB a rank':>12}")
    for one in predictions:
        print(f"  {one.scaling:7}{one.ranks:>6}{one.nodes:>6}{one.batch:>9}  {one.shard:11}"
              f"{one.algorithm:12}{one.step_ms:>9.2f}{one.exposed_ms:>9.2f}{one.samples_per_s:>12.0f}"
              f"{one.rate_per_rank:>9.1f}{efficiency(one, predictions) or 0:>7.2f}{mebibytes(one.rank_bytes):>12}")


def write(path, predictions):
    if not pathlib.Path(path).absolute().parent.is_dir():
        raise Trouble(f"{path}: there is no such folder")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for one in predictions:
            writer.writerow({**dataclasses.asdict(one), "samples_per_s": one.samples_per_s, "rate_per_rank": one.rate_per_rank,
                             "efficiency": efficiency(one, predictions)})
