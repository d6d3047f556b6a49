"""Provokes overflows in half: a loss scale that grows every few steps until gradients overflow, with CUDA graphs and
without. Both must skip the same steps and have the same losses. Attention is cuDNN's, where it is installed: the deck has
heads of 32 values, samples of 64 tokens and no dropout."""

from harness.runs import STEPS_ONLY, rows_of

from .report import Failure
from .training import expect_same

COLUMNS = ("step", "loss", "scale", "gradient_norm")
SCALER = ["precision.compute=fp16", "precision.scaler.initial_scale=1048576", "precision.scaler.max_scale=1073741824",
          "precision.scaler.growth_interval=3", "run.log_every=1"]


def provoke(installation, training):
    histories = []
    for graphs in ("true", "false"):  # a host, which has none, makes the same steps twice
        settings = [] if installation.on_host else [f"kernels.graphs={graphs}"]
        run_folder = training.run("gpt_shakespeare_cpu", f"overflow-{graphs}", "run.steps=60", *settings, *SCALER, *STEPS_ONLY)
        histories.append([[row[name] for name in COLUMNS if name in row] for row in rows_of(run_folder)])
    scales = training.numbers(run_folder, "scale")
    skips = [step for step, (before, after) in enumerate(zip(scales, scales[1:])) if after < before]
    if not any(step > 4 for step in skips):
        raise Failure(f"no step overflowed: scales {scales[0]:g} .. {max(scales):g}")
    expect_same("losses and scales with graphs and without", *histories)
    return f"{len(skips)} overflows in 60 steps, the last in step {skips[-1]}; {attention(installation)}"


def attention(installation):
    line = next((line for line in installation.version.splitlines() if "fused attention:" in line), None)
    return line.strip() if line else "no fused attention"
