"""Medians, spreads and ratios of measurements, and whether they meet a bar."""

import statistics

HEADING_OF_RATIOS = "\nRatios, each within a round: median [smallest .. largest]"


def ratios(above, below):
    """Of each round."""
    return [a / b for a, b in zip(above, below)]


def median_ratio(above, below):
    return statistics.median(ratios(above, below))


def spread(values, unit=""):
    return f"{statistics.median(values):8.3f}{unit}   [{min(values):.3f} .. {max(values):.3f}]"


def met(is_met):
    return "met" if is_met else "MISSED"


def print_ratio(what, above, below, bar):
    values = ratios(above, below)
    print(f"  {what:48} {spread(values)}   of the smallest {min(above) / min(below):.3f}   "
          f"bar {bar:.3f}: {met(statistics.median(values) <= bar)}")


def best_of(results, names):
    """The name with the smallest median."""
    return min(names, key=lambda name: statistics.median(results[name]))
