"""The profiled steps: of GPT-2 124M on a device, of a small GPT on a host or for a sample."""

import tomllib

from harness.runs import STEPS_ONLY

LOG_EVERY = 4


class Subject:
    def __init__(self, installation, training, wanted):
        self.installation, self.training = installation, training
        self.results, self.python, self.nccl = wanted.results.resolve(), wanted.python, wanted.nccl
        self.is_small = wanted.sample or installation.on_host
        self.deck = "gpt_shakespeare_cpu" if self.is_small else "gpt2_124m"
        self.model = tomllib.loads(training.deck(self.deck).read_text())["model"]
        self.model["vocabulary"] = self.model.get("vocabulary", 65)  # that of the text
        self.samples = 8 if self.is_small else 32
        self._runs = 0
        self._tokens = None

    def overrides(self, samples):
        """Overrides of the deck: its data, and a batch of this number of samples."""
        settings = [f"data.batch={samples}", f"data.micro_batch={samples}", f"run.log_every={LOG_EVERY}", *STEPS_ONLY]
        if not self.is_small:
            self._tokens = self._tokens or self.training.random_tokens(50257, 4_000_000)
            settings.append(f"data.train={self._tokens}")
        return settings

    def train(self, name, steps, *overrides, samples=None, **more):
        """Trains and returns the run's folder."""
        self._runs += 1
        return self.training.run(self.deck, f"{self._runs}-{name}", *self.overrides(samples or self.samples),
                                 f"run.steps={steps}", *overrides, **more)

    def tokens_per_s(self, run):
        """The rate over the second half of a run's steps."""
        return self.training.samples_per_s(run) * self.model["context"]
