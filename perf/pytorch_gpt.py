"""PyTorch's programs for the GPT comparison: a plain script that trains the network of Mylos' decks.

Pre-norm blocks, GELU by tanh, learned positions, GPT-2's initialisation, the head tied to the token embedding.
NAME is type-attention[-ddp][-compiled], everything with the fused AdamW:
  fp32           floats
  bf16-products  floats, which oneDNN rounds to bfloat16 inside its matrix products
  bf16-autocast  float weights, torch.autocast
  bf16-pure      weights, gradients and moments in bfloat16: less accurate than Mylos, which keeps float masters
  fused          torch's scaled_dot_product_attention
  plain          softmax(q kᵀ) v, written out
  ddp            --ranks processes, which part threads and samples: DistributedDataParallel over gloo

  pytorch_gpt.py steps SHAPE    steps on one batch, on commands: "step NAME COUNT" as gpt_bench answers it; SHAPE is
                                medium (6 layers, 6 heads, 384 wide, context 256, batch 4) or small (4, 4, 128, 64, 12)
  pytorch_gpt.py run NAME TEXT  trains what inputs/gpt_shakespeare_cpu.toml trains and prints what it took
  pytorch_gpt.py run nanogpt TEXT
                                the same in floats in nanoGPT's manner: eager, AdamW not fused, windows cut one by
                                one, the loss read in every step, 20 + 20 batches evaluated every 250 steps
"""

import contextlib
import dataclasses
import math
import time

import torch
from torch import nn
from torch.nn import functional

from pytorch_program import add_step_options, parser_of, serve

TYPES = ("fp32", "bf16-products", "bf16-autocast", "bf16-pure")
NAMES = [f"{of_type}-{attention}" for of_type in TYPES for attention in ("fused", "plain")]


@dataclasses.dataclass
class Shape:
    layers: int
    heads: int
    width: int
    context: int
    batch: int
    vocabulary: int = 65


SHAPES = {"medium": Shape(6, 6, 384, 256, 4), "small": Shape(4, 4, 128, 64, 12)}


class Attention(nn.Module):
    def __init__(self, shape, fused, bias):
        super().__init__()
        self.heads, self.fused = shape.heads, fused
        self.norm = nn.LayerNorm(shape.width, bias=bias)
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=bias)
        self.output = nn.Linear(shape.width, shape.width, bias=bias)
        if not fused:
            above_diagonal = torch.full((shape.context, shape.context), float("-inf")).triu(1)
            self.register_buffer("mask", above_diagonal, persistent=False)

    def forward(self, x):
        samples, length, width = x.shape
        qkv = self.qkv(self.norm(x)).view(samples, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
            y = torch.softmax(scores + self.mask.to(scores.dtype), -1).to(v.dtype) @ v
        return x + self.output(y.transpose(1, 2).reshape(samples, length, width))


class FeedForward(nn.Module):
    def __init__(self, shape, bias):
        super().__init__()
        self.norm = nn.LayerNorm(shape.width, bias=bias)
        self.up = nn.Linear(shape.width, 4 * shape.width, bias=bias)
        self.down = nn.Linear(4 * shape.width, shape.width, bias=bias)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, shape, fused, bias):
        super().__init__()
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.context, shape.width)
        self.layers = nn.Sequential(*(layer for _ in range(shape.layers)
                                      for layer in (Attention(shape, fused, bias), FeedForward(shape, bias))))
        self.norm = nn.LayerNorm(shape.width, bias=bias)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                residual = name.endswith(("output.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * shape.layers) if residual else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens):
        x = self.token(tokens) + self.position.weight[:tokens.shape[1]]
        return functional.linear(self.norm(self.layers(x)), self.token.weight)


class Training:
    """The model, its optimizer and one step of variant NAME."""

    def __init__(self, name, shape, seed=1, bias=True, optimizer_fused=True, ranks=1, **optimizer):
        torch.manual_seed(seed)
        self.autocast = name.startswith("bf16-autocast")
        self.products = "bf16" if name.startswith("bf16-products") else "ieee"
        self.model = Gpt(shape, "-fused" in name, bias)
        if name.startswith("bf16-pure"):
            self.model.bfloat16()
        if ranks > 1:
            self.model = nn.parallel.DistributedDataParallel(self.model)
        matrices = [parameter for parameter in self.model.parameters() if parameter.dim() == 2]
        vectors = [parameter for parameter in self.model.parameters() if parameter.dim() != 2]
        decay = optimizer.pop("weight_decay", 0.01)
        self.optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": decay},
                                            {"params": vectors, "weight_decay": 0.0}],
                                           fused=optimizer_fused, **optimizer)
        self.loss_of = torch.compile(self.eager_loss) if name.endswith("-compiled") else self.eager_loss

    def eager_loss(self, tokens, labels):
        with torch.autocast("cpu", dtype=torch.bfloat16) if self.autocast else contextlib.nullcontext():
            logits = self.model(tokens)
        return functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten())

    def step(self, tokens, labels, clip_norm=0.0):
        torch.backends.mkldnn.matmul.fp32_precision = self.products
        loss = self.loss_of(tokens, labels)
        loss.backward()
        if clip_norm > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def step_on_one_batch(name, arguments):
    """A training step on this process' samples, as a function without arguments."""
    shape = SHAPES[arguments.shape]
    samples = (arguments.batch or shape.batch) // arguments.ranks
    tokens = torch.arange(samples * (shape.context + 1)).view(samples, -1) * 7 % shape.vocabulary
    # The same low learning rate as for Mylos: thousands of steps on one batch must not overfit.
    training = Training(name, shape, ranks=arguments.ranks, lr=1e-7)
    return lambda: training.step(tokens[:, :-1], tokens[:, 1:])


# The settings of inputs/gpt_shakespeare_cpu.toml.
LR, FINAL_LR, WARM_UP, CLIP_NORM, EVALUATE_EVERY = 1e-3, 1e-4, 100, 1.0, 500


def learning_rate(step, steps):
    if step < WARM_UP:
        return LR * (step + 1) / (WARM_UP + 1)
    progress = (step - WARM_UP) / max(1, steps - WARM_UP)
    return FINAL_LR + (LR - FINAL_LR) * 0.5 * (1 + math.cos(math.pi * progress))


class Text:
    """The characters of a text as numbers; the last tenth is for validation."""

    def __init__(self, path, context):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        number_of = {character: number for number, character in enumerate(sorted(set(text)))}
        numbers = torch.tensor([number_of[character] for character in text])
        self.vocabulary, self.context = len(number_of), context
        split = int(0.9 * len(numbers))
        self.train, self.validation = numbers[:split], numbers[split:]

    def random_batch(self, part, batch):
        first = torch.randint(len(part) - self.context, (batch, 1))
        windows = part[first + torch.arange(self.context + 1)]
        return windows[:, :-1], windows[:, 1:]

    def random_batch_one_by_one(self, part, batch):
        first = torch.randint(len(part) - self.context, (batch,))
        tokens = torch.stack([part[i:i + self.context] for i in first])
        return tokens, torch.stack([part[i + 1:i + 1 + self.context] for i in first])

    def windows_in_order(self):
        count = (len(self.validation) - 1) // self.context
        return (self.validation[:count * self.context].view(count, -1),
                self.validation[1:count * self.context + 1].view(count, -1))


@torch.no_grad()
def validation_loss(training, text):
    """The loss over all windows without overlap."""
    tokens, labels = text.windows_in_order()
    losses = [training.eager_loss(*batch) * len(batch[0]) for batch in zip(tokens.split(128), labels.split(128))]
    return (sum(losses) / len(tokens)).item()


@torch.no_grad()
def sampled_losses(training, text, batch, count=20):
    for part in (text.train, text.validation):
        batches = (text.random_batch_one_by_one(part, batch) for _ in range(count))
        print(sum(training.eager_loss(*one).item() for one in batches) / count)


def run(name, path, seed, steps):
    start = time.perf_counter()
    shape = SHAPES["small"]
    text = Text(path, shape.context)
    shape.vocabulary = text.vocabulary
    like_nanogpt = name == "nanogpt"
    training = Training("fp32-fused" if like_nanogpt else name, shape, seed, bias=False,
                        optimizer_fused=not like_nanogpt, lr=LR, betas=(0.9, 0.99), weight_decay=0.1)
    next_batch = text.random_batch_one_by_one if like_nanogpt else text.random_batch
    for step in range(steps):
        for group in training.optimizer.param_groups:
            group["lr"] = learning_rate(step, steps)
        if like_nanogpt and step % 250 == 0:
            sampled_losses(training, text, shape.batch)
        loss = training.step(*next_batch(text.train, shape.batch), CLIP_NORM)
        if like_nanogpt or step % 50 == 0:
            print(f"step {step}  loss {loss.item():.4f}")
        if step == 0:
            first_done = time.perf_counter()  # it compiles
        if step + 1 == steps or not like_nanogpt and (step + 1) % EVALUATE_EVERY == 0:
            print(f"validation loss {validation_loss(training, text):.4f}")
    end = time.perf_counter()
    print(f"{end - start:.2f} s, to the end of the first step {first_done - start:.2f} s; "
          f"then {(end - first_done) * 1e3 / max(1, steps - 1):.3f} ms per step, with evaluations")


def main():
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    steps = commands.add_parser("steps")
    add_step_options(steps)
    steps.add_argument("shape", choices=SHAPES)
    steps.add_argument("--ranks", type=int, default=1)
    steps.add_argument("--batch", type=int, help="samples of a step, over all processes")
    training = commands.add_parser("run")
    training.add_argument("name")
    training.add_argument("text")
    training.add_argument("--seed", type=int, default=1)
    training.add_argument("--steps", type=int, default=2000)
    arguments = parser.parse_args()
    if arguments.command == "run":
        torch.set_num_threads(arguments.threads)
        run(arguments.name, arguments.text, arguments.seed, arguments.steps)
    else:
        serve(NAMES, step_on_one_batch, arguments)


if __name__ == "__main__":
    main()
