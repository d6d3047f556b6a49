"""run.reproducible: the same weights, losses and evaluations bit for bit on every number of ranks that it allows, and
across restarts on others, with masters cut over ranks or not."""
import re

from random_data import prepare_random
from small_problem import DECK, prepare
from support.cases import run_cases
from support.decks import deck_text
from support.run_folders import compare_runs, history_without_times

REPRODUCIBLE = "[run]\nreproducible = true\nevaluate_every = 4\n"
MLP = DECK.replace("[run]\n", REPRODUCIBLE).replace("batch = 48\n", "batch = 48\nmicro_batch = 3\n")
GPT = deck_text(run=dict(reproducible=True, name="gpt", epochs=1, log_every=1),
                data=dict(train="tokens.h5", batch=8, micro_batch=1, validation=0.2),
                model=dict(type="gpt", layers=1, heads=2, width=32, context=16, dropout=0.1),
                optimizer=dict(lr=3e-3, clip_norm=0.5))
TYPES = ["fp32", "bf16", "fp16"]
SHARD = ["optimizer.shard=state"]


def evaluations(output):
    return re.findall(r"(?:validation|test)[^\n]* loss [^\n]*", output)


def check_ranks(command, deck, steps, types, counts):
    """Every count beside one rank, 2 and 8 with masters cut over ranks; then by restarts 4 -> 1 -> 8, or 2 where 8 is none of the
    counts, 4 with cut ones."""
    last = 8 if 8 in counts else 2
    for compute in types:
        train = ["train", deck, f"precision.compute={compute}", f"run.steps={steps}"]
        results = {}
        for ranks in counts:
            folder = f"{deck}-{compute}-{ranks}"
            results[ranks] = evaluations(command.must(*train, *SHARD * (ranks in (2, 8)), f"run.folder={folder}", ranks=ranks).stdout)
        one = f"{deck}-{compute}-{counts[0]}"
        assert len(results[counts[0]]) >= 2, results
        for ranks in counts[1:]:
            folder = f"{deck}-{compute}-{ranks}"
            compare_runs(command, one, folder)
            assert history_without_times(command, one) == history_without_times(command, folder), folder
            assert results[ranks] == results[counts[0]], f"{folder}: {results[ranks]} after {results[counts[0]]}"
        moved = f"{deck}-{compute}-moved"
        third = steps // 3
        command.must(*train, *SHARD, f"run.folder={moved}", "--stop-after", third, ranks=4, code=85)
        command.must(*train, f"run.folder={moved}", "--stop-after", third, "--restart", "latest", ranks=1, code=85)
        command.must(*train, f"run.folder={moved}", "--restart", "latest", ranks=last)
        compare_runs(command, one, moved)
        print(f"{deck}, {compute}: {steps} steps on {', '.join(map(str, counts))} ranks, and on 4, 1 and {last} by restarts, equal")


def check_without(command):
    """Without the key the same deck gives other bits on other ranks: the comparison sees them."""
    for ranks in (1, 4):
        command.must("train", "deck.toml", "run.reproducible=false", "run.steps=8", f"run.folder=plain-{ranks}", ranks=ranks)
    try:
        compare_runs(command, "plain-1", "plain-4", "plain")
    except AssertionError:
        return
    raise AssertionError("a plain run has the same bits on 1 and 4 ranks: this test sees nothing")


def check_changes(command):
    """A restart says what may part its bits from those of other runs."""
    train = ["train", "deck.toml", "run.steps=8", "run.folder=changed"]
    command.must(*train, "--stop-after", 2, code=85)
    plain = command.must(*train, "run.reproducible=false", "run.threads=2", "kernels.gemm=auto", "--restart", "latest").stdout
    assert "changed at the restart: run.reproducible = false (was true)" in plain, plain
    assert "before, and run on 2 here" not in plain, plain


def check_threads(command):
    """Threads are the bits of oneDNN's products, whoever sets them; tiles give the same on any number."""
    note = "GEMMs by oneDNN ran on 1 thread of each rank before, and run on 2 here: sums may be rounded differently"
    advice = "warning: run.reproducible holds for as many threads per rank as here, "
    engines = re.search("GEMM engines: (.*)", command.must("--version").stdout)[1].split(", ")
    for engine in ("onednn", "tiles"):
        if engine not in engines:
            print(f"{engine} is not in this build")
            continue
        train = ["train", "deck.toml", "precision.compute=fp32", "run.steps=6", f"kernels.gemm={engine}",
                 f"run.folder=on-{engine}"]
        assert (advice in command.must(*train, "--check", variables={"OMP_NUM_THREADS": ""}).stdout) == (engine == "onednn")
        command.must(*train, "--stop-after", 2, code=85, variables={"OMP_NUM_THREADS": "1"})
        other = command.must(*train, "--restart", "latest", "--stop-after", 2, code=85,
                             variables={"OMP_NUM_THREADS": "2"}).stdout
        assert other.count(note) == (engine == "onednn"), other
        same = command.must(*train, "run.threads=2", "--restart", "latest", variables={"OMP_NUM_THREADS": "1"}).stdout
        assert "ran on" not in same and "run.threads" not in same, same


def check_refusals(command):
    command.must_refuse(["train", "deck.toml", "run.steps=4", "run.folder=refused"], "not-reproducible", "run.reproducible: 3 ranks",
                        "16 micro-batches", "1, 2, 4, 8, 16 can", ranks=3)
    for arguments, ranks, words in [
            (["data.micro_batch=0"], 1, "'run.reproducible' needs a 'data.micro_batch' that divides 'data.batch' = 48, not 0"),
            (["data.micro_batch=5"], 1, "that divides 'data.batch' = 48, not 5"),
            (["precision.gradient=compute"], 1, "needs 'precision.gradient' = \"auto\" or \"fp32\""),
            (["communication.reduce_type=compute"], 1, "needs 'communication.reduce_type'"),
            (["kernels.gemm=measure"], 1, "engines that are not chosen by timing")]:
        command.must_refuse(["train", "deck.toml", "run.steps=4", "run.folder=refused", *arguments], "keys-conflict", words, ranks=ranks)


def set_up(command):
    mlp = MLP.replace("epochs = 3\n", "")
    prepare(command, mlp)
    command.write("lamb.toml", mlp.replace("[optimizer]\n", '[optimizer]\ntype = "lamb"\n'))
    command.write("gpt.toml", GPT.replace("epochs = 1\n", ""))
    prepare_random(command, 8, 6000)


def check_rank_counts(command, full):
    if full:
        check_ranks(command, "deck.toml", 50, TYPES, (1, 2, 4, 8))
    else:
        check_ranks(command, "deck.toml", 9, ["bf16"], (1, 2, 4, 8))
        check_ranks(command, "deck.toml", 9, ["fp32", "fp16"], (1, 4))
    check_ranks(command, "lamb.toml", 50 if full else 9, TYPES if full else ["bf16"], (1, 2, 4, 8) if full else (1, 4))
    check_ranks(command, "gpt.toml", 50 if full else 6, TYPES if full else ["bf16"], (1, 2, 4, 8) if full else (1, 4))


run_cases(set_up, check_refusals, check_without, check_changes, check_threads, check_rank_counts)
