"""The seconds that all of gpu-check may take. A section of it ends at its deadline; what it leaves the next may use."""

import time


class OutOfTime(Exception):
    """There was no time left for this."""


class Budget:
    def __init__(self, seconds):
        self.seconds = seconds
        self._begun = time.monotonic()
        self._deadline = self._begun + seconds

    def end_section_at(self, share):
        """Of all seconds, counted from the beginning."""
        self._deadline = self._begun + share * self.seconds

    def left(self):
        return max(0.0, self._deadline - time.monotonic())


# Fewer steps show neither that a run learns nor its speed; more show nothing new.
FEWEST_STEPS, MOST_STEPS = 8, 40
MOST_ROUNDS = 3


def steps_within(seconds, runs, start, step):
    """How many steps each of so many runs may take, from the seconds of a start and of a step that was timed."""
    affordable = int((seconds / runs - start) / max(step, 1e-9))
    return max(FEWEST_STEPS, min(MOST_STEPS, affordable))


def rounds_within(seconds, runs, start, step):
    """(rounds, steps) of a measurement that takes `runs` runs in a round; None where not even one round fits."""
    for rounds in range(MOST_ROUNDS, 0, -1):
        affordable = int((seconds / (rounds * runs) - start) / max(step, 1e-9))
        if affordable >= FEWEST_STEPS:
            return rounds, min(MOST_STEPS, affordable)
    return None
