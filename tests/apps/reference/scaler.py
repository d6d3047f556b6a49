"""The loss scaler by docs/explanation/numerics.md: a state machine that is fed with overflows."""
import numpy

PRESETS = {"standard": (65536.0, 2.0, 2000), "conservative": (32768.0, 1.5, 5000), "aggressive": (131072.0, 2.5, 1000),
           "small": (65536.0, 2.0, 2000), "medium": (262144.0, 2.0, 2000), "large": (1048576.0, 1.5, 2000)}


def complete(keys, compute):
    """All settings of a deck's [precision.scaler]."""
    scale, factor, interval = PRESETS[keys.get("preset", "standard")]
    settings = {"mode": "auto", "initial_scale": scale, "growth_factor": factor, "backoff_factor": 0.5,
                "growth_interval": interval, "hysteresis": 1, "hysteresis_refill": "growth", "backoff_window": 0,
                "backoff_overflows": 2, "min_scale": 1.0, "max_scale": 16777216.0, "max_consecutive_skips": 20}
    settings.update(keys)
    if settings["mode"] == "auto":
        settings["mode"] = "dynamic" if compute == "fp16" else "off"
    return settings


class Scaler:
    def __init__(self, settings):
        self.settings = settings
        self.dynamic = settings["mode"] == "dynamic"
        self.scale = numpy.float32(1.0 if settings["mode"] == "off" else settings["initial_scale"])
        self.hysteresis_left = settings["hysteresis"]
        self.good_steps = self.skipped_in_a_row = 0
        self.steps = self.overflows = self.increases = self.decreases = self.tolerated = 0
        self.flags = []
        self.last_backoff = 0

    @property
    def diverged(self):
        return self.skipped_in_a_row >= self.settings["max_consecutive_skips"]

    def step(self, overflow):
        self.steps += 1
        self.flags.append(overflow)
        if overflow:
            self.after_overflow()
        else:
            self.after_good_step()

    def after_overflow(self):
        self.overflows += 1
        self.good_steps = 0
        lowest = numpy.float32(self.settings["min_scale"])
        if not self.dynamic or self.scale == lowest:
            self.skipped_in_a_row += 1
        if not self.dynamic:
            return
        tolerates = self.tolerates()
        if self.scale == lowest:
            return
        if tolerates:
            self.tolerated += 1
            return
        self.decreases += 1
        self.last_backoff = self.steps
        self.scale = max(self.scale * numpy.float32(self.settings["backoff_factor"]), lowest)

    def tolerates(self):
        if window := self.settings["backoff_window"]:
            return sum(self.flags[self.last_backoff:][-window:]) < self.settings["backoff_overflows"]
        left = self.hysteresis_left
        self.hysteresis_left = max(left - 1, 0)
        return left > 1

    def after_good_step(self):
        self.skipped_in_a_row = 0
        self.good_steps += 1
        if not self.dynamic:
            return
        if self.settings["hysteresis_refill"] == "good_step":
            self.hysteresis_left = self.settings["hysteresis"]
        if self.good_steps < self.settings["growth_interval"]:
            return
        self.good_steps = 0
        self.hysteresis_left = self.settings["hysteresis"]
        largest = numpy.float32(self.settings["max_scale"])
        if self.scale < largest:
            self.increases += 1
            self.scale = min(self.scale * numpy.float32(self.settings["growth_factor"]), largest)

    @property
    def recent_overflows(self):
        return sum(self.flags[-1000:])

    @property
    def since_backoff(self):
        return self.steps - self.last_backoff

    def state(self):
        """By the names of /scaler."""
        names = ("scale", "good_steps", "hysteresis_left", "skipped_in_a_row", "steps", "overflows", "increases",
                 "decreases", "tolerated", "recent_overflows", "since_backoff")
        return {name: getattr(self, name) for name in names} | {"recent_noted": self.steps, "reset_step": 0}

    def row(self):
        """By the columns of history.csv, after a step."""
        return {"overflow_rate": self.recent_overflows / min(self.steps, 1000), "scale_increases": self.increases,
                "scale_decreases": self.decreases, "tolerated_overflows": self.tolerated}
