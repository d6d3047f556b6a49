"""Reproducible runs on divided samples ([mesh]): with the same boxes of sums, losses, weights and scaler events have the same bits on whole
samples and on every division, in all types, with recomputation, shards, averages, frozen layers, dropout, masks, areas, gaps and flips,
and across restarts; what would have other bits is refused.

usage: test_mesh_bits.py MYLOS
"""
from support.cases import run_cases
from support.decks import layer
from support.mesh import plane_deck, same_bits, write_plane
from support.run_folders import last_checkpoint, weights_of

LAYERS = [
    layer("conv", outputs=6, kernel=3, edges="periodic", activation="gelu", norm="layernorm", dropout=0.1, name="first"),
    layer("conv", outputs=8, kernel=[5, 3], stride=2, activation="silu", norm="groupnorm", norm_groups=2, bias=False),
    layer("conv", outputs=8, kernel=3, dilation=2, groups=2, edges="periodic", activation="relu", norm="rmsnorm"),
    layer("conv", outputs=8, kernel=3, groups=8, activation="tanh", dropout=0.2),
    layer("upsample", factor=2), layer("conv", outputs=6, kernel=4, stride=2, padding=1, transposed=True, activation="gelu"),
    layer("average_pool", kernel=2), layer("conv", outputs=6, kernel=1),
    layer("add", skip_from="first", gated=True), layer("coordinates"), layer("conv", outputs=2, kernel=3, edges="periodic")]
CHAIN = dict(model=dict(type="chain", loss="huber", channels=None, blocks=None, fields=None, edges=None, norm=None, activation=None), layers=LAYERS)
FNO = dict(type="fno", width=8, modes=[9, 6], blocks=2, channels=None, edges=None, norm=None)
SUMS = ["run.reproducible=true", "kernels.gemm=tiles", "mesh.sums=[2, 2]"]


def train(command, deck, folder, *keys, ranks=1, more=()):
    command.must("train", deck, f"run.folder={folder}", *SUMS, *keys, *more, ranks=ranks)


def check_divisions(command):
    """One group of ranks has all samples of a step, two have two micro-batches."""
    write_plane(command.folder / "plane.h5")
    for name, keys in dict(unet=dict(model=dict(channels=[8, 16], norm="groupnorm")), chain=CHAIN, fno=dict(model=FNO)).items():
        command.write(f"{name}.toml", plane_deck(**keys))
        for size, divisions in {4: ((2, "[2, 1]"), (4, "[2, 2]")), 2: ((2, "[1, 1]"), (4, "[2, 1]"), (8, "[2, 2]"))}.items():
            whole = f"{name}-{size}"
            train(command, f"{name}.toml", whole, f"data.micro_batch={size}")
            for ranks, space in divisions:
                split = f"{whole}-{ranks}"
                train(command, f"{name}.toml", split, f"data.micro_batch={size}", f"mesh.space={space}", ranks=ranks)
                same_bits(command, whole, split)


def check_types_and_memory(command):
    command.write("deck.toml", plane_deck(data=dict(micro_batch=4)))
    for compute in ("bf16", "fp16"):
        train(command, "deck.toml", compute, f"precision.compute={compute}")
        ways = ((4, "[2, 2]", ["memory.recompute=all"]), (4, "[2, 2]", ["optimizer.shard=state"]), (2, "[2, 1]", ["optimizer.shard=gradients"]))
        for index, (ranks, space, keys) in enumerate(ways):
            split = f"{compute}-{index}"
            train(command, "deck.toml", split, f"precision.compute={compute}", f"mesh.space={space}", *keys, ranks=ranks)
            same_bits(command, compute, split)


def check_losses(command):
    cases = dict(areas=dict(data__weights=dict(file="plane.h5", array="/area")), mask=dict(data__arrays=dict(mask="/sea")),
                 together=dict(optimizer=dict(average=0.9, groups=[dict(match="*/bias", frozen=True)]), precision=dict(compute="fp16")),
                 l1=dict(model=dict(loss="l1", norm="layernorm")),
                 gaussian=dict(model=dict(loss="gaussian"), data__arrays=dict(mask="/sea")),
                 gaps=dict(data__arrays=dict(inputs=["/w", "/v"], targets=["/w", "/v"], missing=["/w"]), data__augment=dict(flip_horizontal=True)))
    for name, keys in cases.items():
        command.write(f"{name}.toml", plane_deck(**keys | dict(data=dict(micro_batch=4))))
        train(command, f"{name}.toml", name)
        more = ["optimizer.shard=state", "memory.recompute=all"] if name == "together" else []
        space, ranks = ("[2, 1]", 2) if name == "gaps" else ("[2, 2]", 4)  # flips move points along the last axis
        train(command, f"{name}.toml", f"{name}-split", f"mesh.space={space}", *more, ranks=ranks)
        same_bits(command, name, f"{name}-split")


def check_restarts(command):
    """A run that is stopped and goes on with another division ends with the bits of one that went on."""
    command.write("deck.toml", plane_deck(data=dict(micro_batch=4)))
    train(command, "deck.toml", "went-on")
    checkpoint = "went-on/checkpoints/step-0000000003.h5"
    for ranks, space in ((2, "[2, 1]"), (4, "[2, 2]")):
        train(command, "deck.toml", f"resumed-{ranks}", f"mesh.space={space}", ranks=ranks, more=["--restart", checkpoint])
        a, b = (weights_of(last_checkpoint(command, folder)) for folder in ("went-on", f"resumed-{ranks}"))
        for name in a:
            assert a[name].tobytes() == b[name].tobytes(), name


def check_refusals(command):
    def refuse(error, *parts, ranks=1, sums=None, keys=(), run=(), **sections):
        mesh = {} if sums is None else dict(mesh=dict(sums=sums))
        sections = dict(data=dict(micro_batch=4), run=dict(reproducible=True) | dict(run), kernels=dict(gemm="tiles")) | mesh | sections
        command.write("wrong.toml", plane_deck(**sections))
        command.must_refuse(["train", "wrong.toml", *keys], error, *parts, ranks=ranks)

    refuse("key-without-effect", "mesh.sums", run=dict(reproducible=False), sums=[2, 2])
    refuse("keys-conflict", "mesh.sums", "run.reproducible", ranks=2, sums=None, keys=["mesh.space=[2, 1]"])
    refuse("keys-conflict", "mesh.sums", "mesh.space", ranks=2, sums=[2, 2], keys=["mesh.space=[1, 2]"])
    refuse("keys-conflict", "mesh.sums", "mesh.space", ranks=4, sums=[2, 2], keys=["mesh.space=[4, 1]"])
    refuse("keys-conflict", "mesh.sums", sums=[3, 1])
    refuse("keys-conflict", "mesh.sums", sums=[2])
    refuse("keys-conflict", "kernels.gemm", "mesh.sums", sums=[2, 2], kernels=dict(gemm="auto"))
    refuse("keys-conflict", "rollout.steps", "mesh.sums", sums=[2, 2], rollout=dict(steps=2))
    gate = [layer("conv", outputs=2, kernel=3), layer("global_pool"), layer("dense")]
    refuse("not-reproducible", "mesh.sums", "global_pool", sums=[2, 2], **CHAIN | dict(layers=gate))
    refuse("not-reproducible", "mesh.space", "data.micro_batch", ranks=2, sums=[2, 2], keys=["mesh.space=[2, 1]"], data=dict(micro_batch=2))
    refuse("keys-conflict", "mesh.sums", "24", sums=[16, 1])
    refuse("bad-layer", "mesh.sums", "height", sums=[8, 1])  # of 3 points, which a pool halves


run_cases(check_divisions, check_types_and_memory, check_losses, check_restarts, check_refusals)
