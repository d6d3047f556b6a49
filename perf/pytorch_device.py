"""PyTorch's programs for device_vs_pytorch.py: steps of a GPT on one NVIDIA device, by its best: compiled, torch.autocast to
bfloat16, its fused attention and its fused AdamW, gradients clipped by their norm. An empty line follows each answer.

  pytorch_device.py LAYERS HEADS WIDTH CONTEXT VOCABULARY    answers on its standard input
      steps BATCH COUNT    by the median rate of COUNT steps in tokens/s, or 0 where memory does not suffice
      product              by the rate of a square product of 8192 in bfloat16, in TFLOP/s
      profile BATCH COUNT FILE   by the seconds of a step among COUNT under its profiler; FILE has its kernels as
                                 kernel_trace.cpp writes ours
"""

import argparse
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from pytorch_gpt import Gpt, Shape
from pytorch_program import answer

TURN = 4  # steps between two reads of the clock, which wait for the device


def seconds(work):
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def step_of(shape):
    """A training step as a function without arguments, with new tokens in each call."""
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = Gpt(shape, fused=True, bias=True).cuda()
    matrices = [parameter for parameter in model.parameters() if parameter.dim() == 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() != 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=6e-4, betas=(0.9, 0.95), fused=True)

    @torch.compile(dynamic=False)
    def loss_of(tokens, labels):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(tokens)
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def step():
        windows = torch.randint(shape.vocabulary, (shape.batch, shape.context + 1), device="cuda")
        loss_of(windows[:, :-1].contiguous(), windows[:, 1:].contiguous()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def rate_of(step, shape, count):
    for _ in range(3):
        step()
    times = [seconds(lambda: [step() for _ in range(TURN)]) for _ in range(max(1, count // TURN))]
    return TURN * shape.batch * shape.context / statistics.median(times)


def write_profile(step, count, path):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        taken = seconds(lambda: [step() for _ in range(count)])
    with open(path, "w") as file:
        for event in profile.events():
            if event.device_type == torch.autograd.DeviceType.CUDA:
                begin, end = (round(1000 * time) for time in (event.time_range.start, event.time_range.end))
                print(begin, end, 0, 0, 0, 0, 0, event.name, sep="\t", file=file)
    return taken / count


def measure_product(size=8192, times=10):
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    taken = [seconds(lambda: a @ b) for _ in range(times)]
    return 2 * size**3 / statistics.median(taken) * 1e-12


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("layers", "heads", "width", "context", "vocabulary"):
        parser.add_argument(name, type=int)
    sizes = vars(parser.parse_args())
    steps = {}  # by batch, each compiled once
    for line in sys.stdin:
        what, *numbers = line.split()
        if what == "product":
            answer(f"{measure_product():.1f}")
            continue
        batch, count = map(int, numbers[:2])
        shape = Shape(**sizes, batch=batch)
        try:
            steps[batch] = steps.get(batch) or step_of(shape)
            if what == "profile":
                answer(f"{write_profile(steps[batch], count, numbers[2]):.6f}")
            else:
                answer(f"{rate_of(steps[batch], shape, count):.0f}")
        except torch.OutOfMemoryError:
            answer(0)
        torch.cuda.empty_cache()  # frees the device's memory for the other program


if __name__ == "__main__":
    main()
