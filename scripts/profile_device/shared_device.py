"""Two ranks on one device over NCCL, which supports this from 2.30.3 on. Both skip a step that overflows, the losses are
those of one rank, and sharding changes no bit."""

import re

from gpu_check.report import Failure, Skipped
from gpu_check.training import expect_same

TWO_RANKS = ["communication.backend=nccl", "run.steps=20"]


def run(subject, report):
    report.check("two ranks on one device over NCCL", lambda: agree(subject, report))


def agree(subject, report):
    installation, training = subject.installation, subject.training
    if installation.on_host:
        raise Skipped("a host build has no NCCL")
    if subject.nccl is None:
        raise Skipped("needs --nccl FOLDER with a libnccl.so.2 of 2.30.3 or newer (PyPI: nvidia-nccl-cu13)")
    environment = installation.environment
    path = ":".join(filter(None, [str(subject.nccl.resolve()), environment.get("LD_LIBRARY_PATH")]))
    cuda = ":".join(filter(None, [str(subject.nccl.resolve()), environment.get("MYLOS_CUDA_LIBRARIES")]))
    installation.environment = environment | {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "LD_LIBRARY_PATH": path,
                                              "MYLOS_CUDA_LIBRARIES": cuda}
    try:
        return compare(training)
    finally:
        installation.environment = environment


def compare(training):
    deck = "gpt_shakespeare_cpu"
    alone = training.run(deck, "nccl-alone", "run.steps=20", "precision.compute=fp32")
    plain = training.run(deck, "nccl-plain", *TWO_RANKS, "precision.compute=fp32", ranks=2)
    if not re.search(r"nccl", training.output, re.IGNORECASE):
        raise Failure(f"the run does not name NCCL:\n{training.output[-600:]}")
    differences = [abs(float(one) - float(two)) / abs(float(one))
                   for one, two in zip(training.losses(alone), training.losses(plain))]
    if max(differences) > 1e-5:
        raise Failure(f"losses of two ranks differ from one rank's by {max(differences):.2e}")
    for compute in ("fp32", "bf16", "fp16"):
        runs = [training.run(deck, f"nccl-{compute}-{shard}", *TWO_RANKS, f"precision.compute={compute}",
                             f"optimizer.shard={shard}", ranks=2) for shard in ("none", "state", "gradients")]
        for shard, run_folder in zip(("state", "gradients"), runs[1:]):
            expect_same(f"weights of {compute}, plain and shard = {shard},", training.weights(runs[0]),
                        training.weights(run_folder))
    overflow = training.run(deck, "nccl-overflow", *TWO_RANKS, "precision.compute=fp16",
                            "precision.scaler.initial_scale=1073741824", "precision.scaler.max_scale=1073741824", ranks=2)
    scales = [float(row["scale"]) for row in training.history(overflow)]
    if scales[-1] >= scales[0]:
        raise Failure(f"the scale did not fall from {scales[0]:g}")
    return (f"losses within {max(differences):.1e} of one rank's; plain = sharded, bit for bit, in three types; scale "
            f"{scales[0]:g} -> {scales[-1]:g} on both")
