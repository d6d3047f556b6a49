"""The comparisons of docs/explanation/beside.md: the script of each, what it needs, and the rows of the table."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """One line: a job of Mylos beside the fastest one of the peer's jobs whose names begin with `peer`."""
    what: str
    subject: str  # of the script's record; errors: the beginning of the subjects, of which the largest counts
    ours: str = "Mylos"
    peer: str = "PyTorch"
    is_error: bool = False  # a difference instead of a time: nothing is divided


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A script that writes its results with --json, as harness/results.py does."""
    name: str
    script: str
    rows: tuple
    words: tuple = ()
    quick: tuple | None = None  # further words with --quick; None: it is left out then
    programs: tuple = ()  # of the build's bin/, of which the first is the script's --bench
    packages: tuple = ("torch",)  # of the peers' Python
    needs: tuple = ()  # of peers.NEEDS
    runs_in_peers: bool = False  # the script itself runs in the peers' Python
    own_options: bool = False  # it has none of --bench, --threads, --rounds and --patience


FEW = ("--rounds", "2", "--steps", "3")
EAGER = (*FEW, "--no-compile")
NO_FLOORS = ("--no-floors",)


def steps(what, subject):
    """Float beside float, and bfloat16 beside PyTorch's fastest type."""
    return (Row(f"float step, {what}", subject, "fp32", "PyTorch fp32"),
            Row(f"bf16 step, {what}, beside any type", subject, "bf16", "PyTorch "))


def calls(peer, networks, samples):
    rows = []
    for network, what in networks:
        rows += [Row(f"call, {what}, {count} sample{'s' if count > 1 else ''}", f"{network} {count}", "Mylos", peer) for count in samples]
        rows.append(Row(f"largest difference of outputs, {what}, of the largest", f"{network} outputs", is_error=True, peer=peer))
    return tuple(rows)


TINY, MLP, RESNET = ("tiny", "MLP 1-8-1: the call itself"), ("mlp", "MLP 64-256-256-256-32"), ("resnet", "residual network, 28 x 28")
SAMPLES = (1, 16, 256)
CONVERTED = ("mlp", "resnet", "unet", "groupnorm", "gpt2", "conv1d", "conv3d", "depthwise", "transposed")

COMPARISONS = (
    Comparison("mlp", "step_vs_pytorch.py", steps("MLP 784-2048-2048-10, batch 512", "wide"),
               ("--network", "wide", "--pairs", "0", *NO_FLOORS), None, ("step_bench",)),
    Comparison("mlp-small", "step_vs_pytorch.py", steps("MLP 784-1024-1024-10, batch 256", "fashion"),
               ("--network", "fashion", "--pairs", "0"), EAGER, ("step_bench",)),
    Comparison("gpt", "gpt_vs_pytorch.py", steps("GPT 6/6/384, context 256, batch 4", "medium"),
               ("--shape", "medium", *NO_FLOORS), None, ("gpt_bench",)),
    Comparison("gpt-small", "gpt_vs_pytorch.py", steps("GPT 4/4/128, context 64, batch 12", "small"),
               ("--shape", "small"), EAGER, ("gpt_bench",)),
    Comparison("residual", "chain_vs_pytorch.py",
               (Row("float step, residual network of 21 convolutions, 28 x 28, batch 128", "residual", "fp32", "PyTorch fp32"),),
               ("--network", "residual", "--types", "fp32"), None, ("chain_bench",)),
    Comparison("unet", "chain_vs_pytorch.py",
               (Row("float step, U-Net of 11 convolutions, 64 x 64, batch 16", "unet", "fp32", "PyTorch fp32"),),
               ("--network", "unet", "--types", "fp32"), EAGER, ("chain_bench",)),
    Comparison("pools", "pool_vs_pytorch.py",
               tuple(Row(f"float {kind} pool 3 x 3 by 2, 64 x 64, both passes", f"{kind}/fp32/64x64/32/4/3/2") for kind in ("max", "average")),
               ("--types", "fp32", "--kernels", "3", "--only", "fp32/64x64/32/4/3/2"), FEW, ("pool_bench",)),
    Comparison("ranks", "gpt_vs_pytorch.py",
               (Row("float step on two ranks, GPT 6/6/384, batch 4", "medium", "fp32", "PyTorch fp32"),
                Row("bf16 step on two ranks, the same, beside any type", "medium", "bf16", "PyTorch ")),
               ("--ranks", "2"), None, ("gpt_bench",), needs=("mpirun",)),
    Comparison("runs", "gpt_vs_pytorch.py",
               (Row("complete bf16 run of inputs/gpt_shakespeare_cpu.toml", "run", "bf16", "PyTorch "),
                Row("the same beside a float run in nanoGPT's manner", "run", "bf16", "PyTorch nanogpt")),
               ("--run", "--rounds", "3"), None, ("gpt_bench", "mylos")),
    Comparison("spectral", "spectral_vs_neuraloperator.py",
               (Row("float step, Fourier neural operator, 64 x 64, 12 modes, batch 16", "fno-64-12", "fp32", "PyTorch fp32"),
                Row("float step, one spectral layer of it", "spectral-64-12", "fp32", "PyTorch fp32")),
               ("--types", "fp32", "--network", "fno-64-12", "spectral-64-12"), EAGER, ("chain_bench",), ("torch", "neuraloperator")),
    Comparison("call", "call_vs_runtimes.py", calls("ONNX Runtime", (TINY, MLP, RESNET), SAMPLES), (), FEW, ("call_bench", "mylos"),
               ("onnxruntime",), ("onnx",)),
    Comparison("ftorch", "call_vs_runtimes.py", calls("FTorch", (TINY, MLP), SAMPLES), ("--ftorch",), FEW, ("call_bench", "mylos"),
               ("torch",), ("ftorch",)),
    Comparison("weights", "weights_from_pytorch.py",
               (Row(f"largest difference of outputs after mylos convert, {len(CONVERTED)} networks, of the largest", "", is_error=True),),
               ("--networks", *CONVERTED), (), ("mylos", "model_outputs", "gpt_logits"), ("torch", "numpy"), runs_in_peers=True, own_options=True),
    Comparison("weights-fno", "weights_from_pytorch.py",
               (Row("the same of neuraloperator's FNO", "fno", is_error=True),),
               ("--networks", "fno"), (), ("mylos", "model_outputs", "gpt_logits"), ("torch", "numpy", "neuraloperator"), runs_in_peers=True,
               own_options=True),
    Comparison("device", "device_vs_pytorch.py",
               (Row("bf16 step of GPT-2 124M on the device, time of a token", "device"),), (), None, (), needs=("device",), own_options=True),
)
