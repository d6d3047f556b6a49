"""Common parts of the PyTorch programs, which execute commands like Mylos' step programs."""

import argparse
import statistics
import sys
import tempfile
import time

import torch
from torch import distributed, multiprocessing, nn


# A variant is skipped if its first step takes this multiple of the shortest first step, and at least this time: without
# instructions for bfloat16 PyTorch multiplies it by reference code, on one thread.
HOPELESS, HOPELESS_MS = 20, 5e3


def parser_of(description):
    """The options of every program: its threads."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="total threads of all processes")
    return parser


def add_step_options(parser):
    """The options of serve()."""
    parser.add_argument("--no-compile", action="store_true")
    parser.set_defaults(ranks=1)


def training_step(name, model, loss_of_outputs, inputs, optimizers, clip_norm=0.0):
    """One training step of a variant on the CPU, as a function without arguments. NAME: bf16-autocast... computes by
    torch.autocast, ...-compiled by torch.compile."""
    def loss_of(x):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=name.startswith("bf16-autocast")):
            return loss_of_outputs(model(x))

    if name.endswith("-compiled"):
        loss_of = torch.compile(loss_of)

    def step():
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss_of(inputs).backward()
        if clip_norm:
            nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        for optimizer in optimizers:
            optimizer.step()

    return step


def gentle_adamw(parameters, **form):
    """The same low learning rate as for Mylos: thousands of steps on one batch must not overfit."""
    return torch.optim.AdamW(parameters, lr=1e-7, weight_decay=0.01, **form)


def milliseconds(step, clock=time.perf_counter):
    start = clock()
    step()
    return (clock() - start) * 1e3


def answer(text):
    """Answers a command: a line, and an empty one."""
    print(f"{text}\n", flush=True)


def of_first_process(value):
    """Broadcasts the first process' value to all processes."""
    if not distributed.is_initialized():
        return value
    values = [value]
    distributed.broadcast_object_list(values)
    return values[0]


def can_do(names, build):
    """{name: step} of the variants that are fast enough on this machine. Compiled variants use the GEMMs of the plain ones."""
    steps, first, hopeless = {}, {}, set()
    for name in names:
        if name.removesuffix("-compiled") in hopeless:
            continue
        try:
            step = build(name)
            first[name] = of_first_process(milliseconds(step))
        except Exception as error:  # torch.compile needs a compiler and Python's headers
            print(f"PyTorch cannot do {name}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        if first[name] > max(HOPELESS_MS, HOPELESS * min(first.values())) and not name.endswith("-compiled"):
            print(f"PyTorch takes {first[name] / 1e3:.0f} s for a step of {name}: left out", file=sys.stderr)
            hopeless.add(name)
        else:
            steps[name] = step
    return steps


def lines_of_first_process(rank, ranks):
    """The lines of standard input, in all processes."""
    if ranks == 1:
        yield from sys.stdin
        return
    while True:
        line = [sys.stdin.readline() if rank == 0 else None]
        distributed.broadcast_object_list(line)
        if not line[0]:
            return
        yield line[0]


def serve_lines(rank, names, build, arguments):
    """The work of each process: all get the same lines, the first one answers."""
    torch.set_num_threads(max(1, arguments.threads // arguments.ranks))
    steps = can_do(names, lambda name: build(name, arguments))
    if rank == 0:
        print(*steps, flush=True)
    for line in lines_of_first_process(rank, arguments.ranks):
        _, name, count = line.split()
        for _ in range(2):
            steps[name]()
        median = statistics.median(milliseconds(steps[name]) for _ in range(int(count)))
        if rank == 0:
            answer(f"{median:.3f}")


def serve_as_rank(rank, meeting, names, build, arguments):
    distributed.init_process_group("gloo", init_method=f"file://{meeting}/file", rank=rank, world_size=arguments.ranks)
    serve_lines(rank, names, build, arguments)
    distributed.destroy_process_group()


def serve(names, build, arguments):
    """Prints the names of the steps that this machine can do, and answers "step NAME COUNT" on standard input by the median time
    of a step in ms and an empty line. build(name, arguments) makes a step: a function without arguments.

    Unless --no-compile says otherwise, each of the variants `names` is there compiled too. More than one of --ranks: processes
    that part threads and samples, of which this one is the first; the names then have "-ddp"."""
    names = [f"{name}-ddp" for name in names] if arguments.ranks > 1 else list(names)
    names += [] if arguments.no_compile else [f"{name}-compiled" for name in names]
    if arguments.ranks == 1:
        serve_lines(0, names, build, arguments)
        return
    with tempfile.TemporaryDirectory() as meeting:
        others = [multiprocessing.get_context("spawn").Process(target=serve_as_rank, args=(rank, meeting, names, build, arguments))
                  for rank in range(1, arguments.ranks)]
        for other in others:
            other.start()
        serve_as_rank(0, meeting, names, build, arguments)
        for other in others:
            other.join()
