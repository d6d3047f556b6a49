"""What `mylos plan` says before a run is what the run takes, and recomputation changes no bit of its losses."""
import json
import re

import h5py

from random_data import prepare_random
from support.cases import run_cases
from support.command import MODELLED
from support.decks import deck_text
from support.refusal import require_refusal

MEBIBYTE = 1 << 20
HIDDEN_SLACK = 32 * MEBIBYTE  # by how much a process may pass its prediction


def mlp(layers, width, batch, compute):
    return deck_text(run=dict(peak_flops=None, name="mlp", steps=2, log_every=1),
                     data=dict(train="samples.h5", test="samples.h5", batch=batch),
                     model=dict(hidden=[width] * layers, activation="gelu", norm="layernorm", dropout=0.1),
                     precision=dict(compute=compute))


def gpt(layers, width, context, batch, compute, micro_batch=0, **run):
    return deck_text(run=dict(peak_flops=None, name="gpt", steps=2, log_every=1) | run,
                     data=dict(train="tokens.h5", batch=batch, micro_batch=micro_batch),
                     model=dict(type="gpt", layers=layers, heads=4, width=width, context=context, dropout=0.1),
                     precision=dict(compute=compute))


# Name -> deck, ranks. All are so large that what is set aside for libraries is less than a tenth.
SAMPLE = {
    "mlp-bf16": (mlp(10, 1024, 512, "bf16"), 1),
    "gpt-fp16-2-ranks": (gpt(4, 384, 64, 16, "fp16", micro_batch=4), 2),
    "deep-gpt-bf16": (gpt(64, 128, 64, 4, "bf16"), 1),  # a checkpoint of 2300 datasets
}
FULL = {
    **SAMPLE,
    "mlp-fp32-2-ranks": (mlp(8, 1024, 768, "fp32"), 2),
    "gpt-bf16": (gpt(6, 384, 64, 12, "bf16"), 1),
    "mlp-fp16": (mlp(16, 1024, 2048, "fp16"), 1),
    "mlp-bf16-2-ranks": (mlp(10, 1024, 4096, "bf16"), 2),
    "gpt-fp32": (gpt(4, 384, 128, 8, "fp32"), 1),
    "gpt-bf16-2-ranks": (gpt(6, 384, 128, 16, "bf16"), 2),
    "deep-gpt-fp32-2-ranks": (gpt(64, 64, 64, 8, "fp32"), 2),
    # With an arena of at least 1 GiB:
    "large-mlp-bf16": (mlp(40, 1024, 8192, "bf16"), 1),
    "large-mlp-fp32-2-ranks": (mlp(24, 512, 16384, "fp32"), 2),
    "large-gpt-bf16": (gpt(12, 256, 256, 48, "bf16"), 1),
    "large-gpt-fp32": (gpt(8, 256, 256, 32, "fp32"), 1),
}
SQUARE = deck_text(run=dict(peak_flops=None, name="square", steps=1), data=dict(train="elsewhere.h5", batch=8192),
                   model=dict(hidden=[4096, 4096], inputs=4096, outputs=4096), precision=dict(compute="{compute}"))
SMALL = gpt(6, 128, 64, 12, "bf16", steps=3, peak_flops=1e12)  # where its memory is not compared with the process's
SHARES = (1.0, 0.6, 0.35, 0.2)  # of the activations of keeping all
SAMPLE_SHARES = (1.0, 0.4)
# Of a deck whose plans and runs need not measure this machine's rates; they take no memory of a run's peak.
KNOWN_RATES = ["run.peak_flops=1e12", MODELLED]
MEASURING = "mlp-bf16"  # of the sample


def plan_of(command, deck, ranks, budget=None, keys=()):
    """None where nothing fits; the refusal must then name a budget that is larger."""
    arguments = ["plan", deck, *keys, "--json", "--ranks", ranks]
    if budget is not None:
        arguments.append(f'memory.budget="{budget} B"')
    result = command.run(*arguments)
    if result.returncode == 0:
        return json.loads(result.stdout)
    require_refusal(result, "does-not-fit", code=3)
    smallest = int(re.search(r'would do is memory\.budget = "(\d+) MiB"', result.stderr).group(1))
    assert smallest * MEBIBYTE > budget, result.stderr
    return None


def losses_of(folder):
    return [line.split(",")[2] for line in (folder / "history.csv").read_text().splitlines()[1:]]


def check_run(command, deck, ranks, plan, folder, keys):
    """Trains by the plan; returns the losses."""
    command.write("plan.json", json.dumps(plan))
    budget = plan["budget_bytes"]
    result = command.must("train", deck, *keys, "--plan", "plan.json", f"run.folder={folder}",
                          f'memory.budget="{budget} B"', ranks=ranks, timeout=900)
    checkpoint = sorted((command.folder / folder / "checkpoints").glob("*.h5"))[-1]
    with h5py.File(checkpoint) as file:
        arena = int(file["plan/arena_bytes"][()])
        predicted = int(file["plan/rank_bytes"][()])
    assert arena == plan["activation_bytes"], (arena, plan["activation_bytes"])
    reached = peak_of(result.stdout)
    print(f"    {folder}: arena {arena / MEBIBYTE:.1f} MiB, plan {plan['rank_bytes'] / MEBIBYTE:.1f}, "
          f"run {predicted / MEBIBYTE:.1f}, peak {reached / MEBIBYTE:.1f}, overhead {plan['overhead']:.3f}")
    assert reached <= plan["rank_bytes"] + HIDDEN_SLACK, "the process passes its prediction"
    assert reached >= 0.9 * plan["rank_bytes"], "the prediction is too large"
    assert reached <= budget, "the process passes its budget"
    return losses_of(command.folder / folder)


def peak_of(output):
    number, unit = re.search(r"peak memory per rank.*, ([\d.]+) (MiB|GiB) at most reached", output).groups()
    return float(number) * MEBIBYTE * (1024 if unit == "GiB" else 1)


def check_deck(command, name, text, ranks, shares, keys):
    deck = f"{name}.toml"
    command.write(deck, text)
    keeping_all = plan_of(command, deck, ranks, keys=keys)
    fixed, activations = keeping_all["fixed_bytes"], keeping_all["activation_bytes"]
    expected = None
    ran = 0
    for share in shares:
        budget = fixed + int(share * activations)
        plan = plan_of(command, deck, ranks, budget, keys)
        if plan is None:
            print(f"    {name}: {share:.0%} of its activations is refused")
            continue
        losses = check_run(command, deck, ranks, plan, f"{name}-{share}", keys)
        assert expected is None or losses == expected, f"{name}: losses differ at {share}"
        expected = losses
        ran += 1
    assert ran >= 2, f"{name}: only {ran} budgets fit"


def check_refusals(command):
    deck, ranks = SAMPLE["mlp-bf16"]
    command.write("refused.toml", deck)
    for arguments in (["plan", "refused.toml"], ["train", "refused.toml", "run.folder=refused"]):
        command.must_refuse([*arguments, "memory.budget=20 MiB"], "does-not-fit", "20 MiB", "memory.budget = ", code=3)
        result = command.run(*arguments, "memory.recompute=[[0, 99]]", MODELLED)
        assert result.returncode == 2 and "0-99" in result.stderr, result.stderr
    assert not (command.folder / "refused").exists()
    command.write("plan.json", "{}")
    command.must_refuse(["train", "refused.toml", "run.folder=refused", "--plan", "plan.json"], "plan-mismatch", "plan.json: format")


def check_restart(command):
    """A restart goes on with the plan of its checkpoint, or says why not."""
    command.write("restart.toml", SMALL)
    train = ["train", "restart.toml", "run.folder=restarted"]
    command.must(*train, "--stop-after", "1", "memory.recompute=every 3", code=85)
    before = command.document("restarted/plan.json")
    output = command.must(*train, "--stop-after", "1", "--restart", "latest", "memory.recompute=every 3", code=85)
    after = command.document("restarted/plan.json")
    assert "made anew" not in output.stdout and before["operations"] == after["operations"], output.stdout
    output = command.must(*train, "--restart", "latest", "memory.recompute=none")
    assert re.search(r"made anew: .*\[memory\] has changed", output.stdout), output.stdout
    command.must("train", "restart.toml", "run.folder=undisturbed")
    assert losses_of(command.folder / "restarted") == losses_of(command.folder / "undisturbed")


def check_place(command):
    command.write("place.toml", FULL["gpt-bf16"][0])
    for arguments, on_node in ([], 4), (["--ranks-per-node", 2], 2), (["--ranks-per-node", 8], 4):
        plan = command.json("plan", "place.toml", "--json", "--ranks", 4, *arguments, MODELLED)
        assert plan["ranks"] == 4 and plan["ranks_on_node"] == on_node, plan["ranks_on_node"]
        assert plan["node_bytes"] == on_node * plan["rank_bytes"]


def times_of(command, folder):
    cost = command.document(f"{folder}/plan.json")["cost"]
    return cost["times"], [block["forward_time_ms"] for block in cost["blocks"]]


def check_times(command):
    """Times are measured once, where something is recomputed or the deck says so, and go with the run."""
    command.write("times.toml", SMALL)
    modelled = plan_of(command, "times.toml", 1)
    assert modelled["cost"]["times"] == "model", modelled["cost"]["times"]
    measured = command.json("plan", "times.toml", "--json", "memory.times=measure")
    assert measured["cost"]["times"] == "measured"
    blocks = measured["cost"]["blocks"]
    assert all(block["forward_time_ms"] > 0 and block["backward_time_ms"] > 0 for block in blocks)
    assert blocks[1] == blocks[3] and blocks[1] != blocks[2] and blocks != modelled["cost"]["blocks"]
    table = command.must("plan", "times.toml", "memory.times=measure").stdout
    assert "measured in" in table and "step, from measured times" in table, table

    budget = modelled["fixed_bytes"] + modelled["activation_bytes"] // 2
    train = ["train", "times.toml", f'memory.budget="{budget} B"']
    for ranks in (1, 2):
        folder = f"times-{ranks}"
        start = [*train, f"run.folder={folder}", "--stop-after", "1"]
        output = command.must(*start, code=85, ranks=ranks).stdout
        assert output.count("measured in") == 1, output
        first = times_of(command, folder)
        assert first[0] == "measured", first
        output = command.must(*start, "--restart", "latest", code=85, ranks=ranks).stdout
        assert "measured in" not in output and times_of(command, folder) == first, output
    output = command.must(*train, "run.folder=times-model", "memory.times=model").stdout
    assert "measured in" not in output and times_of(command, "times-model")[0] == "model", output
    output = command.must("train", "times.toml", "run.folder=times-all").stdout
    assert "measured in" not in output, output


def check_device(command):
    """On a named device a step takes what its FLOPs and bytes take at the data sheet's rates."""
    command.write("square.toml", SQUARE.format(compute="bf16"))
    command.write("float.toml", SQUARE.format(compute="fp32"))

    def plan_on(device, deck="square.toml", *overrides):
        return command.json("plan", deck, *overrides, "--device", device, "--json")

    # A product has these FLOPs. A step has 8: three forward, five backward, as the first layer passes no gradient on.
    # Then it reads and writes each logit once, for the loss, and 28 bytes for each parameter, in 16 bits and in float.
    flops = 2 * 8192 * 4096**2
    logits = 8192 * 4096
    parameters = 3 * (4096**2 + 4096)
    on_h100 = plan_on("h100-sxm")
    assert on_h100["rates"] == {"measured": False, "flops_per_s": {"bf16": 989.5e12}, "bytes_per_s": 3350e9,
                                "device": "h100-sxm"}, on_h100["rates"]
    assert on_h100["budget_bytes"] == 72 * 10**9, on_h100["budget_bytes"]
    for plan, peak, bandwidth, width in ((on_h100, 989.5e12, 3350e9, 2),
                                         (plan_on("a100-40gb"), 312e12, 1555e9, 2),
                                         (plan_on("h100-sxm", "float.toml"), 67e12, 3350e9, 4)):
        expected = 1e3 * (8 * flops / peak + (2 * width * logits + 28 * parameters) / bandwidth)
        assert abs(plan["step_time_ms"] - expected) < 1e-3 * expected, (plan["step_time_ms"], expected)
    assert plan_on("h100-sxm", "square.toml", 'memory.budget="8 GiB"')["budget_bytes"] == 8 << 30

    table = command.must("plan", "square.toml", "--device", "h100-sxm").stdout
    assert "989.5 TFLOP/s in bf16, memory at 3350 GB/s, the peaks of h100-sxm" in table, table
    assert "no step is expected to be faster" in table and "0.9 of the 80 GB" in table, table
    table = command.must("plan", "square.toml", "--device", "h100-sxm", 'memory.budget="8 GiB"').stdout
    assert "0.9 of" not in table, table

    for arguments, refusal in ((["--device", "h1000"], ("bad-argument", "'h1000'", "v100-16gb", "h100-sxm", "mi300x")),
                               (["--device", "h200", "memory.times=measure"], ("arguments-conflict", "--device h200", "memory.times")),
                               (["--device", "h200", "--products"], ("arguments-conflict", "--products"))):
        command.must_refuse(["plan", "square.toml", *arguments], *refusal)
    command.must_refuse(["plan", "square.toml", "data.batch=4000000", "--device", "v100-16gb"], "does-not-fit", "13.41 GiB", code=3)


def set_up(command, full):
    prepare_random(command, samples=16384 if full else 1024, characters=200000)


def check_decks(command, full):
    decks, budgets = (FULL, SHARES) if full else (SAMPLE, SAMPLE_SHARES)
    for key, (content, count) in decks.items():
        check_deck(command, key, content, count, budgets, [] if full or key == MEASURING else KNOWN_RATES)
        print(key, "passed", flush=True)


run_cases(set_up, check_refusals, check_restart, check_place, check_times, check_device, check_decks)
