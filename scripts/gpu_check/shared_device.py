"""Two ranks on one device over NCCL, which supports this from 2.30.3 on: the library of PyPI's nvidia-nccl-cu13, or of a given
folder. Overflow on one rank skips the step on both, the losses are those of one rank, and sharding changes no bit."""

import pathlib
import re
import site
import sys

from harness.programs import last_lines, output_if_any

from .report import Failure, Skipped
from .training import expect_same
from .unit_tests import passed_tests

OLDEST = 23003  # NCCL's encoding of 2.30.3
HOW = "pip install nvidia-nccl-cu13, or --nccl FOLDER with a libnccl.so.2 of 2.30.3 or newer"
TWO_RANKS = ["communication.backend=nccl", "run.steps=20"]
# Programs of unit tests that run on two ranks, and the filter of their tests.
PROGRAMS = [("test_comm_ranks", "*"), ("test_optim_ranks", "*"), ("test_precision_ranks", "*"),
            ("test_train", "*OneRankOverflows*:*InOneRanksGradient*:*InputsOfOneRank*")]
PROGRAM_SECONDS = 120


def version_of(library):
    """The version in NCCL's encoding, read by another process, because the library stays loaded; 0 if it has none."""
    program = ("import ctypes, sys; number = ctypes.c_int(); "
               "print(number.value if ctypes.CDLL(sys.argv[1]).ncclGetVersion(ctypes.byref(number)) else number.value)")
    number = output_if_any(sys.executable, "-c", program, library).strip()
    return int(number) if number.isdigit() else 0


def find_nccl(given=None):
    """The folder of a libnccl.so.2 with which ranks may share a device: `given`, or that of PyPI's package for this Python.
    Raises Skipped if there is none."""
    packages = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    folders = [given] if given else [pathlib.Path(path) / "nvidia/nccl/lib" for path in dict.fromkeys(packages)]
    found = [folder for folder in folders if (folder / "libnccl.so.2").exists()]
    for folder in found:
        if version_of(folder / "libnccl.so.2") >= OLDEST:
            return folder.resolve()
    older = ", ".join(f"{folder} has version {version_of(folder / 'libnccl.so.2')}" for folder in found)
    raise Skipped(f"needs {HOW}" + (f"; {older}" if older else ""))


def using(installation, folder):
    """Programs that start in this context load the folder's NCCL, and their ranks may share a device."""
    lists = {variable: installation.folders_before(variable, folder) for variable in ("LD_LIBRARY_PATH", "MYLOS_CUDA_LIBRARIES")}
    return installation.variables(NCCL_MULTI_RANK_GPU_ENABLE="1", **lists)


def run(installation, report, training, given=None):
    """All checks of two ranks on one device, one line each."""
    folder = None

    def find():
        nonlocal folder
        if installation.on_host:
            raise Skipped("a host build has no NCCL")
        folder = find_nccl(given)
        return str(folder)

    report.check("NCCL for ranks that share a device", find)
    if folder is None:
        return
    with using(installation, folder):
        report.check("two ranks on one device over NCCL", lambda: agree(training))
        for program, tests in PROGRAMS:
            if installation.has(program):
                report.check(f"{program}, two ranks over NCCL", lambda: unit_tests(installation, program, tests))


def unit_tests(installation, program, tests):
    process = installation.run(program, f"--gtest_filter={tests}", ranks=2, timeout=PROGRAM_SECONDS, OMP_NUM_THREADS=2)
    failed = sorted(set(re.findall(r"FAILED +\] (?:\x1b\[m)?([\w/.]+)", process.stdout)))
    if process.returncode != 0:
        raise Failure(f"code {process.returncode}; failed: {', '.join(failed) or 'none'}\n{last_lines(process.stdout, 8)}")
    return f"{passed_tests(process) or 0} tests"


def agree(training):
    deck = "gpt_shakespeare_cpu"
    alone = training.run(deck, "nccl-alone", "run.steps=20", "precision.compute=fp32")
    plain = training.run(deck, "nccl-plain", *TWO_RANKS, "precision.compute=fp32", ranks=2)
    if not re.search(r"NCCL has [\d.]+ \w+ for its connections", training.output):
        raise Failure(f"the run does not state the memory of NCCL:\n{training.output[-600:]}")
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
        over_mpi = training.run(deck, f"mpi-{compute}", "communication.backend=mpi", "run.steps=20",
                                f"precision.compute={compute}", ranks=2)
        # Of two ranks, floats have only one sum, whatever the order; 16 bits are summed in float and rounded once.
        expect_same(f"weights of {compute} over NCCL and over MPI", training.weights(runs[0]), training.weights(over_mpi))
    overflow = training.run(deck, "nccl-overflow", *TWO_RANKS, "precision.compute=fp16",
                            "precision.scaler.initial_scale=1073741824", "precision.scaler.max_scale=1073741824", ranks=2)
    scales = training.numbers(overflow, "scale")
    if scales[-1] >= scales[0]:
        raise Failure(f"the scale did not fall from {scales[0]:g}")
    return (f"losses within {max(differences):.1e} of one rank's; plain = sharded, bit for bit, in three types, and "
            f"= MPI; scale {scales[0]:g} -> {scales[-1]:g} on both")
