"""PyTorch's forward and backward pass of pool_bench's pools, on commands.

Answers "step NAME COUNT" as pool_bench does, by the faster one of the layouts that PyTorch has: channels second, and, of
planes and volumes, channels last.
"""

import statistics
import sys
import time

import torch
from torch import nn

from pytorch_program import answer, milliseconds, parser_of

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FORMATS = {1: [torch.contiguous_format], 2: [torch.contiguous_format, torch.channels_last],
           3: [torch.contiguous_format, torch.channels_last_3d]}
ONCE_MS = 1e3


def build(name):
    """A pass in each layout, as functions without arguments."""
    kind, type_name, grid, channels, batch, kernel, stride = name.split("/")
    extents = [int(extent) for extent in grid.split("x")]
    kernel, stride, axes = int(kernel), int(stride), len(extents)
    pool = {"max": (nn.functional.max_pool1d, nn.functional.max_pool2d, nn.functional.max_pool3d),
            "average": (nn.functional.avg_pool1d, nn.functional.avg_pool2d, nn.functional.avg_pool3d)}[kind][axes - 1]
    more = {} if kind == "max" else {"count_include_pad": False}

    def one(layout):
        torch.manual_seed(1)
        x = (torch.rand(int(batch), int(channels), *extents) * 2 - 1).to(TYPES[type_name])
        x = x.to(memory_format=layout).requires_grad_()
        gradient = torch.rand_like(pool(x, kernel, stride, kernel // 2, **more))
        return lambda: torch.autograd.grad(pool(x, kernel, stride, kernel // 2, **more), x, gradient)

    return [one(layout) for layout in FORMATS[axes]]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--cpu-time", action="store_true", help="measure the processor's time, not the clock's")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    steps = {}
    for line in sys.stdin:
        _, name, count = line.split()
        if name not in steps:
            steps[name] = build(name)
        times = []
        for step in steps[name]:
            first = milliseconds(step, clock)
            repeats = int(count) if first < ONCE_MS else 0  # the first step suffices if it takes seconds
            times.append(statistics.median(milliseconds(step, clock) for _ in range(repeats)) if repeats else first)
        answer(f"{min(times):.4f}")


if __name__ == "__main__":
    main()
