"""Networks whose layers keep the sums of fields: rollouts against NumPy's sums in the data's units, on any ranks and in 16 bits, over
restarts and with recomputation; what cannot keep them is refused."""
import h5py
import numpy

from support.cases import run_cases
from support.decks import deck_text, layer
from support.run_folders import compare_runs, last_checkpoint

GRID = (12, 10)
LEVELS = 24
AREAS = [round(float(each), 6) for each in numpy.cos(numpy.linspace(-1.2, 1.2, GRID[0]))]


def conv(**keys):
    return layer("conv", kernel=3, edges="periodic", **keys)


LAYERS = [conv(outputs=6, activation="tanh"), conv(outputs=2)]
# Name: (layers, [model], weight of each row)
CASES = {
    "kept": ([*LAYERS, layer("conserve", skip_from="input", row_weights=AREAS)], {}, AREAS),
    "changes": ([*LAYERS, layer("zero_sum")], dict(residual=True), [1.0] * GRID[0]),
    "one": ([*LAYERS, layer("conserve", skip_from="input", channels=[1], from_channels=[1])], {}, [1.0] * GRID[0]),
    "free": (LAYERS, {}, AREAS),
}
KEPT = {"kept": [0, 1], "changes": [0, 1], "one": [1], "free": []}


def write_problem(command):
    """Two fields that move and spread: their sums stay."""
    source = numpy.random.default_rng(3)
    levels = [source.normal(size=(2, *GRID)) + [[[4.0]], [[-1.0]]]]
    for _ in range(LEVELS - 1):
        u = levels[-1]
        levels.append(0.6 * numpy.roll(u, 1, 2) + 0.2 * u + 0.1 * numpy.roll(u, 1, 1) + 0.1 * numpy.roll(u, -1, 1))
    with h5py.File(command.folder / "flow.h5", "w") as file:
        for number, name in enumerate("uv"):
            file[name] = (numpy.array(levels)[:, number] * [1, 20][number]).astype("f4")


def write_deck(command, case, compute="fp32", **changes):
    layers, model, _ = CASES[case]
    command.write("deck.toml", deck_text(
        run=dict(name="conserve", steps=20), data=dict(train="flow.h5", batch=8, normalize="channel"),
        data__arrays=dict(inputs=["/u", "/v"], targets=["/u", "/v"], axes="time y x"),
        model=dict(type="chain", loss="mse", **model), layers=layers, precision=dict(compute=compute), optimizer=dict(lr=5e-3),
        checkpoint=dict(every=10, keep_last=0), **changes))


def drifts(command, case, steps):
    """Of each field: the largest change of the weighted mean over all levels, of its standard deviation."""
    command.must("rollout", case, "flow.h5", "--steps", steps, "--out", "rolled.h5")
    with h5py.File(command.folder / "rolled.h5") as file:
        fields = numpy.stack([file[name][:].reshape(-1, *GRID).astype("f8") for name in "uv"], 1)
    assert len(fields) == steps + 1 and numpy.isfinite(fields).all()
    row_weights = numpy.array(CASES[case.split("-")[0]][2], "f4").astype("f8")
    means = (fields * row_weights[:, None]).sum((2, 3)) / (row_weights.sum() * GRID[1])
    return numpy.abs(means - means[0]).max(0) / fields[0].std((1, 2)), fields


def check_sums(command):
    for case in CASES:
        for compute in ("fp32", "bf16") if case == "kept" else ("bf16",):
            folder = f"{case}-{compute}"
            write_deck(command, case, compute)
            command.must("train", "deck.toml", f"run.folder={folder}")
            found, fields = drifts(command, folder, 200)
            print(f"{folder}: means drift by {found[0]:.1e} and {found[1]:.1e} deviations over 200 steps", flush=True)
            assert numpy.abs(fields[3] - fields[0]).max() > 0.1
            for number in (0, 1):
                assert (found[number] < 1e-5) == (number in KEPT[case]), (folder, found)
    with h5py.File(last_checkpoint(command, "kept-fp32")) as file:
        scaling = file["data/normalization"]
        assert (scaling["inputs/shift"][:] == scaling["targets/shift"][:]).all() and (scaling["inputs/scale"][:] == scaling["targets/scale"][:]).all()


def check_ranks_and_restarts(command):
    write_deck(command, "kept", "bf16", rollout=dict(steps=2))
    for ranks in (1, 4):
        command.must("train", "deck.toml", f"run.folder=ranks-{ranks}", "data.micro_batch=2", "run.reproducible=true",
                     "optimizer.shard=state", ranks=ranks)
        compare_runs(command, "ranks-1", f"ranks-{ranks}")
    command.must("train", "deck.toml", "run.folder=parts", "--stop-after", 10, ranks=2, code=85)
    command.must("train", "deck.toml", "run.folder=parts", "--restart", "latest", ranks=2)
    command.must("train", "deck.toml", "run.folder=whole", "memory.recompute=all", ranks=2)
    compare_runs(command, "whole", "parts")


def check_refused(command):
    write_deck(command, "kept")
    expect = lambda error_id, parts, *arguments: command.must_refuse(["train", "deck.toml", "run.folder=refused", *arguments], error_id, *parts)
    expect("keys-conflict", ["layer 'conserve3'", "'data.arrays.targets_are'", "'data.arrays.differences'"], "data.arrays.targets_are=difference")
    expect("bad-layer", ["layer 'conserve3'", "2 channels", "has 6", "'from_channels'"], "data.arrays.history=3")
    with h5py.File(command.folder / "samples.h5", "w") as file:
        file["inputs"] = file["targets"] = numpy.zeros((12, 240), "f4")
        file.attrs["shape"] = "12 10 2"
    text = command.text("deck.toml")
    start = text.index("[data.arrays]")
    command.write("deck.toml", (text[:start] + text[text.index("[model]"):]).replace("flow.h5", "samples.h5"))
    expect("keys-conflict", ["layer 'conserve3'", "'data.normalize'"])
    command.must("train", "deck.toml", "run.folder=plain", "data.normalize=none")


run_cases(write_problem, check_sums, check_ranks_and_restarts, check_refused)
