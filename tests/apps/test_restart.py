"""A run that is stopped and restarted ends with the same bits as one that is not.

usage: test_restart.py MYLOS RANKS
"""
import sys
import tempfile

from checkpoints import compare, last_checkpoint
from small_problem import Command, prepare


def history_without_times(command, folder):
    lines = (command.folder / folder / "history.csv").read_text().splitlines()
    return [",".join(line.split(",")[:8]) for line in lines]


def main():
    program, ranks = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        command = Command(program, folder)
        prepare(command)
        for compute in ("fp32", "bf16", "fp16"):
            common = ["train", "deck.toml", f"precision.compute={compute}"]
            command.must(*common, "run.folder=whole-" + compute, ranks=ranks)
            parts = "run.folder=parts-" + compute
            # In mid-epoch, in mid-growth of the scale, between two checkpoints of the deck; and once more.
            command.must(*common, parts, "--stop-after", 5, ranks=ranks, code=85)
            command.must(*common, parts, "--restart", "latest", "--stop-after", 11, ranks=ranks, code=85)
            command.must(*common, parts, "--restart", "latest", ranks=ranks)
            whole, resumed = (last_checkpoint(command, f"{kind}-{compute}") for kind in ("whole", "parts"))
            count = compare(whole, resumed, f"{compute} on {ranks} ranks")
            assert history_without_times(command, "whole-" + compute) == \
                history_without_times(command, "parts-" + compute), "history.csv"
            assert not (command.folder / ("parts-" + compute) / "requeue").exists()
            print(f"{compute}, {ranks} ranks: {count} datasets bitwise equal after two restarts")


main()
