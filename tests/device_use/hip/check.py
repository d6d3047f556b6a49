"""How the command's build for AMD devices uses HIP, hipBLASLt and RCCL, on a machine without a device: as ../check.py for CUDA.

usage: check.py MYLOS FOLDER_OF_STAND_INS LIST_OF_KERNELS REPOSITORY ARCHITECTURE [--launches]

ARCHITECTURE: that of the build, as gfx90a.

The command runs by scripts/in-hip-toolchain, with the libraries that it was built with."""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import check as device_use
from check import BY_NCCL, NCCL, ODD, TWO_LAYERS, Case

# GEMMs compute attention and convolutions in more launches than NVIDIA's libraries.
CASES = [
    Case("GPT-2 124M, bf16, batch 16", "gpt2_124m", ["data.validation=0", "data.micro_batch=16", "data.batch=16"], 600),
    Case("two layers of it, fp16", "gpt2_124m", [*TWO_LAYERS, "data.batch=32", "precision.compute=fp16"], 150),
    Case("two layers of it, two micro-batches", "gpt2_124m", [*TWO_LAYERS, "data.batch=64"], 300),
    Case("MLP of Fashion-MNIST, bf16", "fashion_mlp", [], 50),
    Case("GPT of characters, algorithms measured", "gpt_shakespeare", ["kernels.gemm=measure"], 400),
    Case("GPT of characters, float", "gpt_shakespeare", ["precision.compute=fp32"], 400),
    Case("GPT of characters, odd sizes", "gpt_shakespeare", ODD, 400),
    Case("Fourier operator on 85 x 85 points, bf16", "fno-darcy", [], 1000),
    Case("two layers of GPT-2, two micro-batches, RCCL", "gpt2_124m", [*TWO_LAYERS, *NCCL, "data.batch=128"], 400, 12, ranks=2,
         sums="ncclReduceScatter float32 sum"),
    Case("MLP of Fashion-MNIST, RCCL", "fashion_mlp", BY_NCCL, 60, 12, ranks=2, steps=device_use.MORE_STEPS),
]



def refused_on(architecture):
    """Machines on which the build does not run: variables of the stand-in, and what the command says."""
    other = "gfx942" if architecture == "gfx90a" else "gfx90a"
    return [
        ({"MYLOS_DEVICE_USE_NONE": "1"}, ["needs an AMD device", "no ROCm-capable device is detected", "ROCR_VISIBLE_DEVICES"]),
        ({"MYLOS_DEVICE_USE_ARCHITECTURE": f"{other}:sramecc+:xnack-"},
         [f"architecture {other}", f"needs {architecture}", "-DMylos_HIP_ARCH"]),
    ]


def refusals(bench, architecture):
    """What is wrong with the refusals."""
    wrong = []
    for variables, texts in refused_on(architecture):
        run = subprocess.run([*bench.enter, bench.mylos, "train", "deck.toml"], cwd=bench.folder, text=True, capture_output=True,
                             env=dict(bench.environment, **variables), timeout=600, check=False)
        said = run.stdout + run.stderr
        wrong += [f"code {run.returncode} instead of 2: {said[-400:]}"] if run.returncode != 2 else []
        wrong += [f"does not say '{text}': {said[-400:]}" for text in texts if text not in said]
    print(f"  {'no device, and one of another architecture':46} {'FAILED' if wrong else 'refused'}")
    for line in wrong:
        print(f"    {line}")
    return len(wrong)


def sharing(bench):
    """What is wrong with two ranks on one device: RCCL is refused, MPI works."""
    wrong = device_use.judged_sharing(bench, ["device"])
    print(f"  {'MLP of Fashion-MNIST, ranks share a device':46} {'FAILED' if wrong else 'ok'}")
    for line in wrong:
        print(f"    {line}")
    return len(wrong)


def main():
    mylos, stand_ins, needs, repository = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
    architecture = sys.argv[5]
    with tempfile.TemporaryDirectory() as folder:
        bench = device_use.Bench(mylos, stand_ins / "libmylos_hip_use.so", needs, repository, pathlib.Path(folder),
                                 enter=[repository / "scripts/in-hip-toolchain"], mpirun="mpirun.openmpi")
        bench.environment["MYLOS_DEVICE_USE_ARCHITECTURE"] = f"{architecture}:sramecc+:xnack-"
        failed = device_use.failed_cases(bench, CASES, "--launches" in sys.argv)
        return 1 if failed + refusals(bench, architecture) + sharing(bench) else 0


if __name__ == "__main__":
    sys.exit(main())
