"""Whatever is recomputed, 10 steps with dropout, 20 with --full, end with the same weights, moments and losses, bit for bit."""
import json

from random_data import prepare_random
from support.cases import run_cases
from support.decks import deck_text, layer
from support.run_folders import last_checkpoint, weights_of

DOES_NOT_FIT = 3


def gpt(micro_batch, norm, compute):
    return deck_text(run=dict(name="gpt", steps=20, log_every=1), data=dict(train="tokens.h5", batch=6, micro_batch=micro_batch),
                     model=dict(type="gpt", layers=4, heads=4, width=64, context=48, norm=norm, dropout=0.2),
                     precision=dict(compute=compute), optimizer=dict(lr=3e-3, clip_norm=1.0))


def mlp(compute):
    return deck_text(run=dict(name="mlp", steps=20, log_every=1), data=dict(train="samples.h5", test="samples.h5", batch=64),
                     model=dict(hidden=[96] * 6, activation="gelu", norm="layernorm", dropout=0.2), precision=dict(compute=compute))


def chain(micro_batch, compute):
    """Skips over one and over several blocks, of which a group holds an end only."""
    layers = [layer("conv", name="stem", outputs=8, kernel=3, activation="gelu"),
              layer("conv", name="down", outputs=16, kernel=3, stride=2, norm="layernorm", activation="relu", dropout=0.2),
              layer("conv", outputs=16, kernel=3, edges="periodic", norm="rmsnorm"),
              layer("add", skip_from="down", activation="silu"),
              layer("conv", name="up", outputs=8, kernel=2, stride=2, padding=0, transposed=True),
              layer("concat", skip_from="stem"), layer("concat", skip_from="input"),
              layer("conv", outputs=8, kernel=3, groups=2, activation="relu"), layer("add", skip_from="stem"), layer("dense")]
    return deck_text(run=dict(name="chain", steps=20, log_every=1),
                     data=dict(train="samples.h5", test="samples.h5", batch=64, micro_batch=micro_batch, shape=[4, 4, 2]),
                     model=dict(type="chain"), layers=layers, precision=dict(compute=compute))


# Deck, the lists of groups that it can have, ranks.
CASES = {
    "gpt-bf16": (gpt(0, "layernorm", "bf16"), "[[0, 3], [4, 7]]", 1),
    "gpt-fp16-2-ranks": (gpt(1, "rmsnorm", "fp16"), "[[1, 2], [5, 8]]", 2),
    "mlp-fp32": (mlp("fp32"), "[[0, 1], [2, 5]]", 1),
    "chain-fp32": (chain(0, "fp32"), "[[0, 4], [5, 9]]", 1),
    "chain-bf16-2-ranks": (chain(16, "bf16"), "[[1, 6], [7, 8]]", 2),
    "mlp-bf16-3-ranks": (mlp("bf16"), "[[3, 4]]", 3),
}


def state_of(command, folder):
    """Bytes of every dataset that training changes, and the losses."""
    checkpoint = last_checkpoint(command, folder)
    state = {"losses": [row["loss"] for row in command.rows(f"{folder}/history.csv")]}
    for group in ("model", "optimizer"):
        state |= {f"{group}/{name}": array.tobytes() for name, array in weights_of(checkpoint, [group]).items()}
    return state


def train_within(command, arguments, ranks):
    """A budget between two variants leaves less room than the megabytes by which processes of a busy machine differ."""
    for _ in range(5):
        result = command.run(*arguments, ranks=ranks)
        if result.returncode != DOES_NOT_FIT:
            break
    assert result.returncode == 0, f"{arguments}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}"


def check_case(command, name, text, groups, ranks, full):
    deck = f"{name}.toml"
    command.write(deck, text)
    keeping_all = command.plan_json(deck, "--ranks", ranks, "memory.recompute=none")
    # A planned mixture of variants: what the least and the most bytes lie around.
    smallest = command.plan_json(deck, "--ranks", ranks, "memory.recompute=all")
    middle = keeping_all["fixed_bytes"] + (keeping_all["activation_bytes"] + smallest["activation_bytes"]) // 2
    settings = {
        "none": ["memory.recompute=none"],
        "all": ["memory.recompute=all"],
        "every-3": ["memory.recompute=every 3"],
        "groups": [f"memory.recompute={groups}"],
        "budget": [f'memory.budget="{middle} B"', "memory.times=model"],
    }
    expected = None
    operations = set()
    for key, overrides in settings.items():
        folder = f"{name}-{key}"
        train_within(command, ["train", deck, f"run.steps={20 if full else 10}", f"run.folder={folder}", *overrides], ranks)
        operations.add(json.dumps(command.document(f"{folder}/plan.json")["operations"]))
        state = state_of(command, folder)
        expected = expected or state
        different = [part for part in expected if state.get(part) != expected[part]]
        assert state.keys() == expected.keys() and not different, f"{name}, {key}: {different} differ"
    assert len(operations) >= 4, f"{name}: only {len(operations)} different lists of operations were run"
    print(f"{name}: {len(expected)} parts equal under {len(operations)} lists of operations", flush=True)


def set_up(command):
    prepare_random(command, samples=512, characters=20000)


run_cases(set_up, *((check_case, case, *values) for case, values in CASES.items()))
