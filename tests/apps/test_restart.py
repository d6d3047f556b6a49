"""A run that is stopped and restarted ends with the same bits as one that is not."""
import re

import numpy

from small_problem import prepare
from support.cases import run_cases
from support.run_folders import compare, compare_runs, history_without_times, last_checkpoint, weights_of


def evaluations(result):
    return re.findall(r"^epoch \S+ step \d+: .*", result.stdout, re.M)


def check_hysteresis(command, ranks):
    """Stopped between overflows that are tolerated, and between the last of them and the one that lowers the scale."""
    common = ["train", "deck.toml", "precision.compute=fp16", "precision.scaler.initial_scale=16777216",
              "precision.scaler.hysteresis=4", "precision.scaler.hysteresis_refill=growth"]
    output = command.must(*common, "run.folder=whole-hysteresis", ranks=ranks).stdout
    first = [step for step in range(1, 6) if f"step {step}: overflow" in output and "skipped, tolerated" in output]
    assert first[:4] == [1, 2, 3, 4], output
    parts = "run.folder=parts-hysteresis"
    command.must(*common, parts, "--stop-after", 2, ranks=ranks, code=85)
    command.must(*common, parts, "--restart", "latest", "--stop-after", 1, ranks=ranks, code=85)
    command.must(*common, parts, "--restart", "latest", ranks=ranks)
    compare_runs(command, "whole-hysteresis", "parts-hysteresis", "hysteresis")
    assert history_without_times(command, "whole-hysteresis") == history_without_times(command, "parts-hysteresis")
    print(f"restarts between tolerated overflows, {ranks} ranks: bitwise equal")


def check_optimizer(command, ranks):
    """Moments of Adam are not those of sgd; AdamW goes on with Adam's, and Lamb with these."""
    for before, after in (("adamw", "sgd"), ("sgd", "adam")):
        folder = f"run.folder=optimizer-{before}"
        command.must("train", "deck.toml", folder, f"optimizer.type={before}", "--stop-after", 5, ranks=ranks, code=85)
        refused = command.must_refuse(["train", "deck.toml", folder, f"optimizer.type={after}", "--restart", "latest"],
                                      "restart-mismatch", f'optimizer.type was "{before}"', f'the deck says "{after}"', ranks=ranks)
        assert "changed" not in refused.stdout, refused.stdout
    on = command.must("train", "deck.toml", "run.folder=optimizer-adamw", "optimizer.type=adam", "--restart", "latest",
                      ranks=ranks)
    assert 'changed at the restart: optimizer.type = "adam" (was "adamw")' in on.stdout, on.stdout
    on = command.must("train", "deck.toml", "run.folder=optimizer-adamw", "optimizer.type=lamb", "run.epochs=4", "--restart",
                      "latest", ranks=ranks)
    assert 'changed at the restart: optimizer.type = "lamb"' in on.stdout, on.stdout


def check_average(command, ranks):
    """A restart with an average that the run before had not: it begins with the checkpoint's weights, to the last bit."""
    decay = 0.75
    common = ["train", "deck.toml", "precision.compute=fp32", "run.folder=average"]
    command.must(*common, "--stop-after", 5, ranks=ranks, code=85)
    before = weights_of(last_checkpoint(command, "average"), ["model"])
    said = command.must(*common, f"optimizer.average={decay}", "--restart", "latest", "--stop-after", 1, ranks=ranks,
                        code=85).stdout
    assert "optimizer.average: begins with the weights of this checkpoint, which has none" in said, said
    after, average = (weights_of(last_checkpoint(command, "average"), [group]) for group in ("model", "average"))
    assert len(before) == 6 and before.keys() == after.keys() == average.keys(), average.keys()
    for name in before:
        expected = decay * before[name].astype(float) + (1 - decay) * after[name]
        error = numpy.abs(average[name] - expected).max()
        assert error <= 1e-6 * max(1, numpy.abs(expected).max()), (name, error)


def learning_rates(command, folder):
    return [float(row.split(",")[3]) for row in command.text(f"{folder}/history.csv").splitlines()[1:]]


def check_length(command, ranks):
    """A cosine that ends with the run moves with its end, which is said with the learning rate before and after; with
    schedule.steps it stays."""
    base = ["train", "deck.toml", "optimizer.lr=1e-3"]
    command.must(*base, "run.folder=length-whole", ranks=ranks)
    whole = learning_rates(command, "length-whole")
    for epochs, steps in ((30, 313), (2, 21)):
        folder = f"run.folder=length-{epochs}"
        command.must(*base, folder, "--stop-after", 18, ranks=ranks, code=85)
        stretched = [*base, folder, f"run.epochs={epochs}", "--restart", "latest", "--stop-after", 2]
        output = command.must(*stretched, ranks=ranks, code=85).stdout
        line, = re.findall(r"^changed at the restart: the schedule .*", output, re.M)
        rates = re.fullmatch(rf"changed at the restart: the schedule takes {steps} updates \(was 32\): the next learning "
                             r"rate is (\S+) \(was to be (\S+)\); schedule\.steps = 32 keeps it as it was", line)
        assert rates, line
        now, before = map(float, rates.groups())
        assert abs(now / learning_rates(command, f"length-{epochs}")[18] - 1) < 0.01, line
        assert abs(before / whole[18] - 1) < 0.01 and abs(now / before - 1) > 0.2, line
        again = command.must(*stretched[:-1], 1, ranks=ranks, code=0 if epochs == 2 else 85).stdout
        assert "the schedule" not in again, again
    command.must(*base, "run.folder=length-kept", "--stop-after", 18, ranks=ranks, code=85)
    kept = command.must(*base, "run.folder=length-kept", "run.epochs=30", "schedule.steps=32", "--restart", "latest",
                        "--stop-after", 14, ranks=ranks, code=85).stdout
    assert "the schedule takes" not in kept and learning_rates(command, "length-kept") == whole, kept


def check_two_restarts(command, ranks, compute):
    common = ["train", "deck.toml", f"precision.compute={compute}"]
    undisturbed = command.must(*common, "run.folder=whole-" + compute, ranks=ranks)
    parts = "run.folder=parts-" + compute
    # In mid-epoch, in mid-growth of the scale, between two checkpoints of the deck; and once more.
    command.must(*common, parts, "--stop-after", 5, ranks=ranks, code=85)
    command.must(*common, parts, "--restart", "latest", "--stop-after", 11, ranks=ranks, code=85)
    last = command.must(*common, parts, "--restart", "latest", ranks=ranks)
    assert "history.csv" not in last.stdout, last.stdout  # its rows are those of the checkpoint
    assert 0 < len(evaluations(last)) and evaluations(last) == evaluations(undisturbed)[-len(evaluations(last)):], \
        (evaluations(last), evaluations(undisturbed))
    whole, resumed = (last_checkpoint(command, f"{kind}-{compute}") for kind in ("whole", "parts"))
    count = compare(whole, resumed, f"{compute} on {ranks} ranks")
    assert history_without_times(command, "whole-" + compute) == history_without_times(command, "parts-" + compute), "history.csv"
    assert not (command.folder / ("parts-" + compute) / "requeue").exists()
    print(f"{compute}, {ranks} ranks: {count} datasets bitwise equal after two restarts")


def check_all(command, ranks):
    for compute in ("fp32", "bf16", "fp16"):
        check_two_restarts(command, ranks, compute)
    for check in (check_hysteresis, check_optimizer, check_length, check_average) if ranks == 2 else ():
        check(command, ranks)


run_cases(prepare, check_all, arguments=["ranks"])
