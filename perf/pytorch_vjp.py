"""PyTorch's product of a network's transposed Jacobian with a vector, on commands: that of the U-Net of pytorch_chain.py, for
fields of one channel.

Gradients of weights are not asked for, as Model::vjp() computes none. Answers "vjp SAMPLES[-compiled] COUNT" by the median time in ms of
COUNT measurements, each of as many calls as take 20 ms, and of 4 at least; and "memory SAMPLES 1" by the MB that the process has
taken at most.
"""

import resource
import statistics
import sys
import time

import torch

from pytorch_chain import UNet, two
from pytorch_program import answer, parser_of


def products(network, samples):
    """A call as a function without arguments, in float, channels last."""
    x = (torch.rand(samples, 1, 64, 64) * 2 - 1).to(memory_format=torch.channels_last).requires_grad_()
    dy = torch.ones(samples, 1, 64, 64).to(memory_format=torch.channels_last)
    return lambda: torch.autograd.grad(network(x), x, dy)


def median_milliseconds(call, count):
    for _ in range(2):
        call()
    times = []
    for _ in range(count):
        start, calls = time.perf_counter(), 0
        while calls < 4 or time.perf_counter() - start < 0.02:
            call()
            calls += 1
        times.append((time.perf_counter() - start) * 1e3 / calls)
    return statistics.median(times)


def main():
    arguments = parser_of(__doc__).parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    network = UNet()
    network.left32 = two(1, 32)
    network = network.to(memory_format=torch.channels_last).requires_grad_(False)
    networks = {"": network, "-compiled": torch.compile(network)}
    for line in sys.stdin:
        command, what, count = line.split()
        if command == "memory":
            answer(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f}")
            continue
        samples, dash, form = what.partition("-")
        answer(f"{median_milliseconds(products(networks[dash + form], int(samples)), int(count)):.6f}")


if __name__ == "__main__":
    main()
