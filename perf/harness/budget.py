"""A limited time. Each section of a call ends at its deadline; the next section may use the remaining time."""

import time


class OutOfTime(Exception):
    """No time is left for a check."""


class Budget:
    def __init__(self, seconds):
        self.seconds = seconds
        self._begun = time.monotonic()
        self._deadline = self._begun + seconds

    def end_section_at(self, share):
        """Sets the deadline to a fraction of all seconds, counted from the beginning."""
        self._deadline = self._begun + share * self.seconds

    def left(self):
        return max(0.0, self._deadline - time.monotonic())


# Fewer steps show neither learning nor speed; more steps add nothing.
MIN_STEPS, MAX_STEPS = 8, 40
MAX_ROUNDS = 3


def steps_within(seconds, runs, start, step):
    """The number of steps that each of `runs` runs may take, from the measured seconds of a start and of a step."""
    affordable = int((seconds / runs - start) / max(step, 1e-9))
    return max(MIN_STEPS, min(MAX_STEPS, affordable))


def rounds_within(seconds, runs, start, step):
    """(rounds, steps) of a measurement with `runs` runs in a round; None if not even one round fits."""
    for rounds in range(MAX_ROUNDS, 0, -1):
        affordable = int((seconds / (rounds * runs) - start) / max(step, 1e-9))
        if affordable >= MIN_STEPS:
            return rounds, min(MAX_STEPS, affordable)
    return None
