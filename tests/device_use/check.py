"""How the command's build for NVIDIA devices uses CUDA, cuBLASLt and NCCL, on a machine without a device: some steps of some
decks with stand-ins for these libraries, which write down what they are asked and compute nothing.

usage: check.py MYLOS FOLDER_OF_STAND_INS PTXAS_LOG REPOSITORY [--launches]

Bars: no fault (a pointer less aligned than promised, memory that is not the device's or goes beyond its allocation, a launch
beyond the device's limits, device memory touched by the host); in a steady step no wait of its thread and no call that a capture
forbids; once it was recorded, few launches by the host; every product by the library, which refuses some of what it advised;
never more device memory than the run's plan states, and no library's first memory after the plan was made; the same
collectives on all ranks, without a sum that rounds to 16 bits at each hop, and of these the same in graphs: NCCL demands that
all ranks capture a collective, or none.
--launches prints each case's launches by kernel.
"""
import dataclasses
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import h5py
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
import ptxas_log

STEPS = 6  # batches lie in two places by turns: the steps of each are recorded the second time, then launched as graphs
STEADY = 4  # from here on steps were recorded
EARLY = 1  # in the first step products are refused, and ranks gather no weights
GPT2 = ["data.validation=0", "data.micro_batch=32"]
TWO_LAYERS = [*GPT2, "model.layers=2"]  # as large, and sooner done
ODD = ["model.width=390", "model.context=99"]  # heads of 65, whose matrices lie at no multiple of 256 bytes
NCCL = ["communication.backend=nccl"]
# Ranks that also talk by MPI between steps. After an evaluation the next step has no weights to gather, which is a step of
# another kind: it takes more steps until all kinds were recorded.
BY_NCCL = [*NCCL, "run.log_every=2", "run.evaluate_every=3", "checkpoint.every_minutes=60"]
MORE_STEPS = 12


@dataclasses.dataclass
class Case:
    name: str
    deck: str
    settings: list
    most_launches: int  # kernels and products of a step
    most_of_host: int = 6  # launches of a step that was recorded
    ranks: int = 1
    steps: int = STEPS
    sums: str = "ncclSend bfloat16"  # the collective by which ranks sum gradients


CASES = [
    Case("GPT-2 124M, bf16, batch 32", "gpt2_124m", [*GPT2, "data.batch=32"], 530),
    Case("two layers of it, fp16", "gpt2_124m", [*TWO_LAYERS, "data.batch=32", "precision.compute=fp16"], 135),
    Case("two layers of it, two micro-batches", "gpt2_124m", [*TWO_LAYERS, "data.batch=64"], 260),
    Case("two layers of it, not recorded", "gpt2_124m", [*TWO_LAYERS, "data.batch=32", "kernels.graphs=false"], 135, 135),
    Case("MLP of Fashion-MNIST, bf16", "fashion_mlp", [], 50),
    Case("MLP of Fashion-MNIST, fp16, looks at health", "fashion_mlp_fp16", ["health.every=1"], 50),
    Case("GPT of characters, algorithms measured", "gpt_shakespeare", ["kernels.gemm=measure"], 340),
    Case("GPT of characters, float", "gpt_shakespeare", ["precision.compute=fp32"], 310),
    Case("GPT of characters, odd sizes", "gpt_shakespeare", ODD, 350),
    Case("Fourier operator on 85 x 85 points, bf16", "fno-darcy", [], 1000),
    Case("Fourier operator on 85 x 85 points, fp16", "fno-darcy", ["precision.compute=fp16"], 1000),
    Case("GPT-2 124M, bf16, batch 2 x 32, NCCL", "gpt2_124m", [*GPT2, *NCCL, "data.batch=64"], 600, 12, ranks=2, steps=MORE_STEPS),
    Case("two layers of it, two micro-batches, NCCL", "gpt2_124m", [*TWO_LAYERS, *NCCL, "data.batch=128"], 300, 12, ranks=2,
         sums="ncclReduceScatter float32 sum"),
    Case("two layers of it, NCCL, not recorded", "gpt2_124m", [*TWO_LAYERS, *NCCL, "data.batch=64", "kernels.graphs=false"],
         180, 180, ranks=2),
    Case("MLP of Fashion-MNIST, NCCL", "fashion_mlp", BY_NCCL, 64, 12, ranks=2, steps=MORE_STEPS),
    Case("U-Net of 64 x 64 points in two boxes, NCCL", "fields_unet", [*BY_NCCL, "mesh.space=[2, 1]", "data.batch=4"], 750, 12,
         ranks=2, steps=MORE_STEPS),
    Case("GPT of characters, NCCL, cut gradients", "gpt_shakespeare", [*BY_NCCL, "optimizer.shard=gradients"], 350, 12, ranks=2,
         steps=MORE_STEPS),
]


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in array.shape)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header + array.tobytes())


class Bench:
    """The command with stand-ins, from `library`. `needs`: what the compiler gave each kernel, for the stand-in's kernels.cpp.
    `enter`: a command that runs the command."""

    def __init__(self, mylos, library, needs, repository, folder, enter=(), mpirun="mpirun"):
        self.mylos, self.repository, self.folder, self.enter, self.mpirun = mylos, repository, folder, enter, mpirun
        stand_ins = library.parent
        self.environment = dict(
            os.environ, LD_LIBRARY_PATH=str(stand_ins), KOKKOS_TOOLS_LIBS=str(library), OMP_NUM_THREADS="2",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MYLOS_DEVICE_USE_KERNELS=str(needs))

    def run(self, arguments, ledger=os.devnull, ranks=1, **variables):
        launcher = [self.mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
        return subprocess.run([*self.enter, *launcher, self.mylos, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, timeout=600, check=False,
                              env=dict(self.environment, MYLOS_DEVICE_USE=str(ledger), **variables))

    def prepare(self):
        random = numpy.random.default_rng(1)
        data = self.folder / "data"
        data.mkdir()
        random.integers(0, 50257, 300_000, dtype=numpy.uint16).tofile(data / "train.bin")
        (data / "text").write_bytes(bytes(random.integers(97, 122, 200_000, dtype=numpy.uint8)))
        for name, count in (("train", 2048), ("test", 512)):
            write_idx(data / "images.gz", random.integers(0, 255, (count, 28, 28), dtype=numpy.uint8))
            write_idx(data / "labels.gz", random.integers(0, 10, count, dtype=numpy.uint8))
            self.must(["prepare", "idx", "data/images.gz", "data/labels.gz", "--out", f"data/fashion_{name}.h5"])
        self.must(["prepare", "tokens", "data/train.bin", "--vocabulary", "50257", "--out", "data/train_tokens.h5"])
        self.must(["prepare", "text", "data/text", "--out", "data/shakespeare.h5"])
        (data / "darcy").mkdir()
        for name in ("train", "test"):
            with h5py.File(data / f"darcy/{name}.h5", "w") as file:
                file["a"], file["u"] = random.random((2, 40, 85, 85), dtype=numpy.float32)
            self.must(["prepare", "fields", "--samples", "64", "--out", f"data/fields_{name}.h5"])

    def must(self, arguments):
        result = self.run(arguments)
        if result.returncode != 0:
            sys.exit(f"{' '.join(map(str, arguments))}: code {result.returncode}\n{result.stdout}{result.stderr}")

    def write_deck(self, name, steps):
        text = (self.repository / "inputs" / f"{name}.toml").read_text(encoding="utf-8")
        text = re.sub(r"^(steps|epochs) = .*", f"steps = {steps}", text, count=1, flags=re.MULTILINE)
        (self.folder / "deck.toml").write_text(re.sub(r"^warmup = .*", "warmup = 0", text, flags=re.MULTILINE))

    def ledgers_of(self, number, case):
        """Those of all ranks, and what the run said."""
        path = self.folder / f"ledger-{number}.json"
        paths = [path] if case.ranks == 1 else [pathlib.Path(f"{path}.{rank}") for rank in range(case.ranks)]
        self.write_deck(case.deck, case.steps)
        result = self.run(["train", "deck.toml", *case.settings, f"run.folder=runs/{number}", "memory.recompute=none"], path,
                          case.ranks)
        try:
            return [json.loads(each.read_text()) for each in paths], result
        except (OSError, ValueError):
            sys.exit(f"{case.deck}: code {result.returncode}, and no ledger\n{result.stdout}{result.stderr}")

    def planned_bytes(self, number):
        plan = json.loads((self.folder / f"runs/{number}/plan.json").read_text())
        return plan["fixed_bytes"] + plan["activation_bytes"]


def work_of(step):
    """Launches by kernel, those of graphs among them."""
    names = {*step["launches"], *step["recorded"]} - {"cudaGraphLaunch", "hipGraphLaunch"}
    return {name: step["launches"].get(name, 0) + step["recorded"].get(name, 0) for name in names}


def of_nccl(counts):
    return {name: times for name, times in counts.items() if name.startswith("nccl")}


def collectives(ledger):
    """Of each step, and those of them that lie in graphs."""
    return [(of_nccl(work_of(step)), of_nccl(step["recorded"])) for step in ledger["steps"]]


def judged_exchange(case, ledgers, output):
    """What is wrong with the collectives of a run."""
    wrong = []
    of_steps = [made for made, _ in collectives(ledgers[0])]
    if not all(of_steps):
        wrong.append("a step without collectives")
    if not all(any(name.startswith(case.sums) for name in made) for made in of_steps):
        wrong.append(f"a step without {case.sums}")
    if not re.search(r"NCCL has \S+ MiB for its connections", output):
        wrong.append("the run does not state the memory of NCCL")
    return wrong + [f"rank {rank} has other collectives than rank 0" for rank, ledger in enumerate(ledgers)
                    if collectives(ledger) != collectives(ledgers[0])]


def steady_step(ledger):
    """The last step that does what an early one did, if there is one: ranks that waited for all weights outside a step, at a
    progress line for example, do not gather them in the next one."""
    early = sum(work_of(ledger["steps"][EARLY]).values())
    same = [step for step in ledger["steps"][STEADY:] if sum(work_of(step).values()) == early]
    return same[-1] if same else ledger["steps"][-1]


def judged(case, ledger, planned):
    """What is wrong on a rank."""
    wrong = list(ledger["faults"])
    step = steady_step(ledger)
    for kind, what in (("waits", "the host waits in a step"), ("not_in_capture", "a call that no capture may have")):
        wrong += [f"{what}: {call}, {times} times" for call, times in step[kind].items()]
    if sum(step["launches"].values()) > case.most_of_host:
        wrong.append(f"the host launches {step['launches']}, more than {case.most_of_host}")
    launches, before = sum(work_of(step).values()), sum(work_of(ledger["steps"][EARLY]).values())
    if launches == 0 or launches != before:
        wrong.append(f"{launches} launches, but {before} before they were recorded")
    if launches > case.most_launches:
        wrong.append(f"{launches} launches, more than {case.most_launches}")
    wrong += [f"a product by {name}, {times} times" for name, times in work_of(step).items() if name.startswith("KokkosBlas::gemm")]
    if (held := sum(ledger["max_allocated"].values())) > planned:
        wrong.append(f"{held} bytes of device memory, planned: {planned}: {ledger['max_allocated']}")
    return wrong


def tried(bench, number, case):
    """What is wrong, and the last step of rank 0."""
    ledgers, result = bench.ledgers_of(number, case)
    made = min(len(ledger["steps"]) for ledger in ledgers)
    if made < case.steps or result.returncode != 0:
        faults = sorted({fault for ledger in ledgers for fault in ledger["faults"]})
        return [*faults, f"{made} steps, code {result.returncode}: {(result.stdout + result.stderr)[-800:]}"], None
    planned = bench.planned_bytes(number)
    wrong = [f"rank {rank}: {line}" if case.ranks > 1 else line
             for rank, ledger in enumerate(ledgers) for line in judged(case, ledger, planned)]
    if case.ranks > 1:
        wrong += judged_exchange(case, ledgers, result.stdout)
    return wrong, steady_step(ledgers[0])


def judged_failure(bench):
    """What is wrong with a run in which another rank is gone in the third step or later: NCCL reports it, and is aborted once."""
    path = bench.folder / "ledger-failure.json"
    bench.write_deck("fashion_mlp", 50)
    settings = [*BY_NCCL, "run.folder=runs/failure", "communication.timeout=20"]
    result = bench.run(["train", "deck.toml", *settings], path, 2, MYLOS_DEVICE_USE_NCCL_FAILS_AFTER="60")
    output = result.stdout + result.stderr
    wrong = [] if result.returncode == 1 else [f"code {result.returncode}, not 1: {output[-800:]}"]
    if not re.search(r"NCCL [\w -]+: rank \d of 2: another rank of the stand-in for NCCL is gone", output):
        wrong.append(f"the cause is not reported: {output[-800:]}")
    for rank in range(2):
        try:
            wrong += json.loads(pathlib.Path(f"{path}.{rank}").read_text())["faults"]
        except (OSError, ValueError):
            pass  # MPI ended it before it wrote
    return wrong


SHARED = {"device": "ranks 0 and 1 share a device", "gpu": "instances (MIG) of one GPU"}


def judged_sharing(bench, ways=tuple(SHARED)):
    """What is wrong with two ranks on one device, or on MIG instances of one GPU: NCCL is refused, MPI works."""
    bench.write_deck("fashion_mlp", 2)
    wrong = []
    for shared in ways:
        words = SHARED[shared]
        for backend, code in (("auto", 2), ("mpi", 0)):
            settings = [f"communication.backend={backend}", f"run.folder=runs/{shared}-{backend}"]
            result = bench.run(["train", "deck.toml", *settings], ranks=2, MYLOS_DEVICE_USE_SHARED=shared)
            output = result.stdout + result.stderr
            if result.returncode != code or (code == 2 and words not in output):
                wrong.append(f"{shared} shared, {backend}: code {result.returncode}, not {code}: {output[-600:]}")
    return wrong


def failed_cases(bench, cases, with_launches):
    """Tries all, prints a line for each, and returns how many failed."""
    failed = 0
    bench.prepare()
    for number, case in enumerate(cases):
        wrong, step = tried(bench, number, case)
        failed += bool(wrong)
        launches = sum(work_of(step).values()) if step else 0
        of_host = sum(step["launches"].values()) if step else 0
        print(f"  {case.name:46} {launches:5} launches, {of_host:3} of them by the host  "
              f"{'FAILED' if wrong else 'ok'}", flush=True)
        for line in wrong:
            print(f"    {line}")
        if with_launches and step:
            for name, times in sorted(work_of(step).items(), key=lambda item: -item[1]):
                print(f"    {times:6} {name}")
    return failed


def main():
    mylos, stand_ins, log, repository = map(pathlib.Path, sys.argv[1:5])
    found = ptxas_log.kernels_of(log)
    if not found:
        sys.exit(f"{log} says nothing of kernels")
    with tempfile.TemporaryDirectory() as folder:
        needs = pathlib.Path(folder) / "kernels.txt"
        needs.write_text("".join(f"{name} {kernel.registers} {kernel.shared}\n" for name, kernel in found.items()))
        bench = Bench(mylos.resolve(), stand_ins.resolve() / "libmylos_device_use.so", needs, repository.resolve(),
                      pathlib.Path(folder))
        failed = failed_cases(bench, CASES, "--launches" in sys.argv)
        for name, judge in (("NCCL, a rank is gone", judged_failure), ("ranks share a device", judged_sharing)):
            wrong = judge(bench)
            failed += bool(wrong)
            print(f"  {'MLP of Fashion-MNIST, ' + name:46} {'FAILED' if wrong else 'ok'}", flush=True)
            for line in wrong:
                print(f"    {line}")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
