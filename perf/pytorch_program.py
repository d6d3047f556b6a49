"""What PyTorch's programs here have in common: they answer commands, as Mylos' step programs do."""

import statistics
import sys
import time


def milliseconds(step):
    start = time.perf_counter()
    step()
    return (time.perf_counter() - start) * 1e3


def serve(names, build):
    """Prints the names of the steps that this machine can do, and answers "step NAME COUNT" on standard input by the
    median time of a step in ms and an empty line. build(name) makes a step: a function without arguments."""
    steps = {}
    for name in names:
        try:
            step = build(name)
            step()
            steps[name] = step
        except Exception as error:  # torch.compile needs a compiler and Python's headers
            print(f"PyTorch cannot do {name}: {str(error).splitlines()[0]}", file=sys.stderr)
    print(*steps, flush=True)
    for line in sys.stdin:
        _, name, count = line.split()
        for _ in range(2):
            steps[name]()
        print(f"{statistics.median(milliseconds(steps[name]) for _ in range(int(count))):.3f}\n", flush=True)
