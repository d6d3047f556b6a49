"""Interleaves jobs: one computes while the others wait, so that a machine whose speed changes changes it for all."""

import os
import time

# The threads of a process that has finished its turn wait actively for some milliseconds before they sleep.
REST_S = 0.05
# Of the processors: if others use more, a turn waits, or counts as disturbed.
BUSY_SHARE = 0.15


class Quiet:
    """Waits before each turn until no other program computes, at most `patience_s` seconds."""

    def __init__(self, patience_s):
        self.patience_s = patience_s
        self.turns = 0
        self.disturbed = 0
        self.shares = []  # the busy fraction when each turn began: other programs', because ours wait

    @staticmethod
    def busy_share():
        """The busy fraction of the processors while we are idle."""
        def ticks():
            with open("/proc/stat", encoding="utf-8") as file:
                counts = [int(word) for word in file.readline().split()[1:9]]
            return sum(counts), counts[3] + counts[4]  # all; idle and waiting for a disk
        before = ticks()
        time.sleep(2 * REST_S)
        after = ticks()
        return 1 - (after[1] - before[1]) / max(1, after[0] - before[0])

    def wait(self):
        time.sleep(REST_S)
        self.turns += 1
        end = time.monotonic() + self.patience_s
        while (share := self.busy_share()) > BUSY_SHARE:
            if time.monotonic() > end:
                self.disturbed += 1
                break
        self.shares.append(share)

    def report(self):
        print(f"\nLoad at the end {os.getloadavg()[0]:.1f}; "
              f"{self.disturbed} of {self.turns} turns began while others computed.")


def nothing(*_):
    pass


def interleaved(rounds, jobs, before_turn=nothing, after_turn=nothing, after_round=nothing):
    """Runs every job in every round, in reversed order in every second round: {job: [result of each round]}. `after_turn` gets
    the number of the round, the job's name and its result; `after_round` the number and all results."""
    results = {name: [] for name in jobs}
    for number in range(1, rounds + 1):
        for name in list(jobs)[:: 1 if number % 2 == 1 else -1]:
            before_turn()
            results[name].append(jobs[name]())
            after_turn(number, name, results[name][-1])
        after_round(number, results)
    return results


def measured(rounds, jobs, quiet, unit="ms"):
    """Interleaves the jobs on an idle machine, and prints a line for each round."""
    def show(number, results):
        last = "  ".join(f"{name} {times[-1]:.4g}" for name, times in results.items())
        print(f"round {number}, {unit}: {last}", flush=True)
    return interleaved(rounds, jobs, before_turn=quiet.wait, after_round=show)
