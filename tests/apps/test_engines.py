"""What computes a run: the instructions of the deck, engines by the table or measured, the same at a restart, and a word
where it cannot be the same."""
import json
import re


from random_data import prepare_random
from support.cases import run_cases
from support.data_files import read_data
from support.decks import deck_text
from support.run_folders import compare_runs, last_checkpoint, losses_of

GPT = deck_text(run=dict(name="gpt", steps=8, log_every=1), data=dict(train="tokens.h5", batch=6, micro_batch=3),
                model=dict(type="gpt", layers=2, heads=4, width=64, context=48, dropout=0.1), optimizer=dict(lr=3e-3))

# Of the first step's loss, from equal weights, relative. Every activation passes some ten roundings to its type, whose
# errors are as often up as down; the sums behind them are float. The loss is a mean over hundreds of tokens.
ROUNDING = {"fp32": 2e-6, "bf16": 8e-3, "fp16": 1e-3}
AS_BEFORE = "sums may be rounded differently"


def plan_of(command, folder):
    return command.document(f"{folder}/plan.json")


def engines_of(plan):
    return {tuple(product[key] for key in ("form", "m", "n", "k", "type", "stored")): product["engine"]
            for product in plan["products"]}


def check_each_target(command):
    """Restarted and recomputed bitwise under each target; two targets within rounding."""
    here = command.instructions()
    for compute in ("fp32", "bf16"):
        first = {}
        for target in here:
            train = ["train", "gpt.toml", f"precision.compute={compute}", f"kernels.instructions={target}"]
            whole, parts, lean = (f"{kind}-{compute}-{target}" for kind in ("whole", "parts", "lean"))
            command.must(*train, f"run.folder={whole}")
            output = command.must(*train, f"run.folder={parts}", "--stop-after", 3, code=85).stdout
            output += command.must(*train, f"run.folder={parts}", "--restart", "latest").stdout
            command.must(*train, f"run.folder={lean}", "memory.recompute=all")
            assert AS_BEFORE not in output and f"{target}," in output, output
            for folder in (parts, lean):
                compare_runs(command, whole, folder)
            assert plan_of(command, whole)["instructions"].split(",")[0] == target
            stored = json.loads(read_data(last_checkpoint(command, whole), "/plan/list"))
            assert engines_of(stored) == engines_of(plan_of(command, whole))
            first[target] = losses_of(command, whole)[0]
        spread = (max(first.values()) - min(first.values())) / max(first.values())
        print(f"{compute}: first losses {first}, relative spread {spread:.1e}", flush=True)
        assert spread <= ROUNDING[compute], first
    if len(here) > 1:
        weights = [last_checkpoint(command, f"whole-fp32-{target}").read_bytes() for target in (here[0], here[-1])]
        assert weights[0] != weights[1], "the targets are not used"


def check_other_target(command):
    """A restart by other instructions goes on, and says so; so does an evaluation."""
    here = command.instructions()
    train = ["train", "gpt.toml", "run.folder=moved"]
    command.must(*train, f"kernels.instructions={here[-1]}", "--stop-after", 3, code=85)
    output = command.must(*train, f"kernels.instructions={here[0]}", "--restart", "latest").stdout
    assert output.count(AS_BEFORE) == (1 if len(here) > 1 else 0), output
    output = command.must(*train, f"kernels.instructions={here[0]}", "run.steps=9", "--restart", "latest").stdout
    assert AS_BEFORE not in output, "the last checkpoint was written by these"
    output = command.must(*train, f"kernels.instructions={here[0]}", "kernels.gemm=kokkos", "run.steps=10", "--restart",
                          "latest").stdout
    assert output.count(AS_BEFORE) == 1 and "by kokkos here" in output, output
    held = {"ONEDNN_MAX_CPU_ISA": "SSE41"}
    result = command.must("eval", "whole-bf16-" + here[-1], "--data", "tokens.h5", variables=held)
    assert (AS_BEFORE in result.stderr) == (len(here) > 1), result.stderr
    result = command.must("eval", "whole-bf16-" + here[-1], "--data", "tokens.h5")
    assert AS_BEFORE not in result.stderr, result.stderr


def check_measured(command):
    """Measured once; a restart takes the choice, on any number of ranks."""
    train = ["train", "gpt.toml", "kernels.gemm=measure", "precision.compute=fp32"]
    command.must(*train, "run.folder=measured-whole")
    plan = plan_of(command, "measured-whole")
    measures = len(engines_of(plan)) > 0 and {"onednn", "tiles"} <= set(
        re.search(r"GEMM engines: (.*)", command.must("--version").stdout)[1].split(", "))
    if not measures:
        return print("no choice to measure in this build")
    # The choice of another machine: every product by the engine that is not this one's choice.
    for product in plan["products"]:
        product["engine"] = "tiles" if product["engine"] == "onednn" else "onednn"
    command.write("turned.json", json.dumps(plan))
    for ranks in (1, 2):
        whole, parts = f"turned-whole-{ranks}", f"turned-parts-{ranks}"
        for folder, stop in ((whole, []), (parts, ["--stop-after", 3])):
            output = command.must(*train, f"run.folder={folder}", "--plan", "turned.json", *stop, ranks=ranks,
                                  code=85 if stop else 0).stdout
            assert "measured in" not in output, output
        output = command.must(*train, f"run.folder={parts}", "--restart", "latest", ranks=ranks).stdout
        assert "measured in" not in output and AS_BEFORE not in output, output
        for folder in (whole, parts):
            assert engines_of(plan_of(command, folder)) == engines_of(plan), folder
        compare_runs(command, whole, parts)

    # On another number of ranks, whose plan is made anew, equal products keep their engines; of another micro-batch
    # only those are measured that were not there.
    output = command.must(*train, "run.folder=turned-whole-1", "run.steps=9", "--restart", "latest", ranks=2).stdout
    assert "measured in" not in output and "made anew" in output, output
    assert engines_of(plan_of(command, "turned-whole-1")) == engines_of(plan)
    output = command.must(*train, "run.folder=turned-whole-1", "run.steps=10", "data.micro_batch=2", "--restart",
                          "latest").stdout
    assert "measured in" in output, output
    output = command.must("train", "gpt.toml", "precision.compute=fp32", "run.folder=turned-whole-2", "run.steps=9",
                          "--restart", "latest", ranks=2).stdout
    assert "measured in" not in output and output.count(AS_BEFORE) == 1, output


def check_hostile_plan(command):
    plan = plan_of(command, "measured-whole")
    for key, value in {"engine": "fastest", "m": -1, "k": 1e300, "n": 0, "form": "w", "stored": "int32"}.items():
        hostile = json.loads(json.dumps(plan))
        hostile["products"][1][key] = value
        command.write("hostile.json", json.dumps(hostile))
        command.must_refuse(["train", "gpt.toml", "run.folder=hostile", "--plan", "hostile.json"], "plan-mismatch",
                            f"hostile.json: products[1].{key}")
    assert not (command.folder / "hostile").exists()


def check_bad_input(command):
    here = command.instructions()
    lacking = next(name for name in ("neon", "sve", "avx512-bf16", "avx2") if name not in here)
    command.write("lacking.toml", GPT + f'[kernels]\ninstructions = "{lacking}"\n')
    line = GPT.count("\n") + 2
    for arguments in (["train", "lacking.toml"], ["train", "lacking.toml", "--check"], ["plan", "lacking.toml"]):
        result = command.run(*arguments)
        assert result.returncode == 2, result
        assert f"lacking.toml:{line}: 'kernels.instructions' is \"{lacking}\"" in result.stderr, result.stderr
        assert all(f'"{name}"' in result.stderr for name in here), result.stderr
    result = command.run("train", "gpt.toml", "kernels.instructions=avx3")
    assert result.returncode == 2 and '"avx512"' in result.stderr, result.stderr
    command.must("train", "lacking.toml", "kernels.instructions=auto", "run.folder=not-lacking")


def check_products(command):
    """The table of a plan names the engine of each product, as plan.json does."""
    table = command.must("plan", "gpt.toml", "--products").stdout
    plan = command.json("plan", "gpt.toml", "--json")
    rows = re.findall(r"^  (\S+(?: and \d+ more)?) +(y|dW|dx) *(\S*) +(\d+) +(\d+) +(\d+) +(\S+)(?: to (\S+))? +(\S+) +(\d+) "
                      r"+([\d.]+)$", table, re.M)
    shown = {(form, int(m), int(n), int(k), of, to or of): engine
             for _, form, _, m, n, k, of, to, engine, _, _ in rows}
    assert shown == engines_of(plan), (shown, engines_of(plan))
    total = float(re.search(r"all, without what is computed again +([\d.]+)", table)[1])
    tokens, width, vocabulary = 6 * 48, 64, max(int(row[4]) for row in rows if row[0] == "head" and row[1] == "y")
    expected = 6e-9 * tokens * (2 * 12 * width * width + width * vocabulary)  # 12 width^2 weights in a layer
    assert abs(total - expected) <= 0.01 * expected, (total, expected)


def set_up(command):
    prepare_random(command, samples=64, characters=20000)
    command.write("gpt.toml", GPT)


run_cases(set_up, check_bad_input, check_products, check_each_target, check_other_target, check_measured, check_hostile_plan)
