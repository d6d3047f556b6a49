"""PyTorch's steps of the networks of inputs/fashion_resnet.toml and inputs/fields_unet.toml on one NVIDIA device, by its best:
compiled, channels last, torch.autocast to bfloat16, cuDNN's algorithms measured, fused optimizers. The samples are in the device's
memory, always the same: unlike Mylos' step it reads and copies none. An empty line follows each answer.

  pytorch_decks.py    answers on its standard input
      parameters NETWORK          the network's number of parameters
      steps NETWORK BATCH COUNT   the median rate of COUNT steps in samples/s, launched one by one
      graph NETWORK BATCH COUNT   the same, with the step captured as one CUDA graph
      compile NETWORK BATCH       compiles the step, and answers 0: PyTorch's cache keeps it for another process
"""

import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from pytorch_program import answer

TURN = 20  # steps between two reads of the clock, which wait for the device


class Normalised(nn.Module):
    """A convolution without bias, and batch normalisation."""

    def __init__(self, inputs, outputs, kernel=3, stride=1):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.convolution(x))


class ResidualBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        stride = 1 if inputs == outputs else 2
        self.first, self.second = Normalised(inputs, outputs, stride=stride), Normalised(outputs, outputs)
        self.shortcut = nn.Identity() if inputs == outputs else Normalised(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu(self.shortcut(x) + self.second(torch.relu(self.first(x))))


class ResNet(nn.Module):
    inputs, classes = (1, 28, 28), 10

    def __init__(self, channels=(32, 64, 128)):
        super().__init__()
        self.stem = Normalised(self.inputs[0], channels[0])
        self.stages = nn.Sequential(*(ResidualBlock(*pair) for pair in zip((channels[0], *channels), channels)))
        self.head = nn.Linear(channels[-1], self.classes)

    def loss(self, x, labels):
        x = self.stages(torch.relu(self.stem(x)))
        return functional.cross_entropy(self.head(x.mean((2, 3))).float(), labels)

    def targets(self, batch):
        return torch.randint(self.classes, (batch,))

    def optimizer(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3, momentum=0.9, nesterov=True, weight_decay=5e-4, fused=True)


def two(inputs, outputs):
    layers = []
    for before in inputs, outputs:
        layers += [nn.Conv2d(before, outputs, 3, padding=1, padding_mode="circular"), nn.GroupNorm(8, outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    inputs = (1, 64, 64)

    def __init__(self, channels=(16, 32, 64), deepest=64):
        super().__init__()
        self.down = nn.ModuleList(map(two, (self.inputs[0], *channels), channels))
        self.deepest = two(channels[-1], deepest)
        above = (*channels[1:], deepest)
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(more, few, 2, 2) for more, few in zip(above, channels))
        self.up = nn.ModuleList(two(2 * few, few) for few in channels)
        self.head = nn.Conv2d(channels[0], 1, 1)

    def loss(self, x, targets):
        beside = []
        for level in self.down:
            beside.append(level(x))
            x = functional.max_pool2d(beside[-1], 2)
        x = self.deepest(x)
        for enlarge, up, left in reversed(list(zip(self.enlarge, self.up, beside))):
            x = up(torch.cat((enlarge(x), left), 1))
        with torch.autocast("cuda", enabled=False):  # the deck's rules = { head = "fp32" }
            return functional.mse_loss(self.head(x.float()), targets)

    def targets(self, batch):
        return torch.rand(batch, *self.inputs)

    def optimizer(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-6, weight_decay=0.01, fused=True, capturable=True)


NETWORKS = {"fashion_resnet": ResNet, "fields_unet": UNet}


class Step:
    """A training step on samples in the device's memory."""

    def __init__(self, network, batch):
        torch.manual_seed(1)
        self.model = network().cuda().to(memory_format=torch.channels_last)
        self.optimizer = self.model.optimizer()
        inputs = torch.rand(batch, *network.inputs).cuda().to(memory_format=torch.channels_last)
        targets = self.model.targets(batch).cuda()

        @torch.compile(dynamic=False)
        def loss_of(x, y):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return self.model.loss(x, y)

        self.loss = lambda: loss_of(inputs, targets)
        self.graph = None

    def launch(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        self.optimizer.step()

    def capture(self):
        """Returns a function that makes the step as one CUDA graph."""
        if self.graph is None:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self.launch()
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.launch()
        return self.graph.replay


def rate_of(step, batch, count):
    for _ in range(5):
        step()
    times = []
    for _ in range(max(3, count // TURN)):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(TURN):
            step()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return TURN * batch / statistics.median(times)


def main():
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    steps = {}
    for line in sys.stdin:
        what, name, *numbers = line.split()
        if what == "parameters":
            answer(sum(parameter.numel() for parameter in NETWORKS[name]().parameters()))
            continue
        batch = int(numbers[0])
        key = name, batch
        if key not in steps:
            steps[key] = Step(NETWORKS[name], batch)
        step = steps[key]
        if what == "compile":
            step.launch()
            answer(0)
        else:
            work = step.capture() if what == "graph" else step.launch
            answer(f"{rate_of(work, batch, int(numbers[1])):.1f}")


if __name__ == "__main__":
    main()
