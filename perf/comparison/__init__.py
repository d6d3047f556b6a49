"""What perf/compare.py compares, with what, and its table."""
