"""Predicts how the division of samples over ranks (mesh.space) scales: strong, where a batch of fixed samples is divided further and
further; weak, where more groups of ranks have more samples; and with fields that grow with the ranks, so that a rank's box stays as it is.

    step      = compute / reached + exchange + what of the gradients' exchange does not hide behind backward
    compute   = by `mylos plan`, of a rank's box at the peak rates of a device; or measured on one rank, by the points of a box
    exchange  = calls x latency + messages x overhead + bytes / rate         nothing hides it

Calls, messages and bytes are those that `mylos plan` states of the rank that sends most: they are exact. A call is over when the slowest
rank has its message, so it takes place between nodes where the boxes of a sample are not all on one.
"""
import dataclasses
import json
import math
import pathlib
import tempfile

import harness
from harness.runs import STEPS_ONLY, samples_per_s

from .collectives import ALGORITHMS, Network
from .plan_bytes import Traffic
from .table import Trouble

BACKWARD_SHARE = 2 / 3  # of compute: two products for each of forward


@dataclasses.dataclass(frozen=True)
class Wire:
    """Between the ranks of a sample."""
    latency_us: float  # of a call
    message_us: float  # of each message of it
    gigabytes_per_s: float  # that a rank sends

    def seconds(self, calls, messages, count):
        return 1e-6 * (calls * self.latency_us + messages * self.message_us) + 1e-9 * count / self.gigabytes_per_s


@dataclasses.dataclass(frozen=True)
class Machine:
    title: str
    device: str  # of `mylos plan --device`; "": compute is measured
    reached: float  # of the device's peak rates
    ranks_on_node: int
    in_node: Wire
    between: Wire
    source: str

    def wire(self, boxes):
        """That of the slowest call. Consecutive ranks share a sample, and fill nodes."""
        return self.in_node if boxes <= self.ranks_on_node and self.ranks_on_node % boxes == 0 else self.between

    def assumptions(self):
        """(what, its value) of every number that was not measured or planned."""
        rows = [("ranks of a node", str(self.ranks_on_node) if self.device else "all")]
        if self.device:
            rows.append((f"share of the peak rates of {self.device}", f"{self.reached:.2f}"))
        for name, wire in (("in a node", self.in_node), ("between nodes", self.between)):
            rows.append((f"{name}: a call, a message, a rank", f"{wire.latency_us:g} us, {wire.message_us:g} us, {wire.gigabytes_per_s:g} GB/s"))
        rows += [("faces and sums", "nothing hides them"),
                 ("gradients", f"the faster of {' and '.join(ALGORITHMS)}, behind {BACKWARD_SHARE:.0%} of compute")]
        return rows


MACHINES = {
    "h100": Machine("nodes of eight H100 SXM, a 400 Gbit/s card for each", "h100-sxm", 0.4, 8, Wire(10, 1, 300), Wire(15, 2, 40),
                    "data sheets: NVLink 450 GB/s in each direction, card 50 GB/s; assumed to be reached: two thirds, four fifths"),
    "here": Machine("this machine: processes that share its memory", "", 1.0, 1 << 16, Wire(20, 2, 2), Wire(20, 2, 2),
                    "assumed"),
}


@dataclasses.dataclass(frozen=True)
class FieldNetwork:
    """A U-Net and its fields."""
    extents: tuple
    channels: tuple
    batch: int
    compute: str = "bf16"
    fields: int = 2

    def grown(self, factors):
        return dataclasses.replace(self, extents=tuple(a * b for a, b in zip(self.extents, factors)))

    @property
    def points(self):
        return math.prod(self.extents)

    def deck(self):
        """The text of a deck."""
        from decks import deck_text  # the builder of the tests, which a plot does not need
        values = self.points * self.fields
        keys = dict(run=dict(name="divided", steps=4, log_every=1),
                    data=dict(train="fields.h5", shape=[*self.extents, self.fields], batch=self.batch),
                    model=dict(type="unet", channels=list(self.channels), blocks=2, fields=self.fields, inputs=values, outputs=values,
                               edges="periodic", norm="none", activation="gelu", loss="mse"),
                    precision=dict(compute=self.compute), optimizer=dict(lr=1e-4), memory=dict(times="model"))
        return deck_text(**keys)


def factors_of(boxes, axes, extents):
    """Boxes along each axis: prime factors from the largest on, each to the axis whose boxes have most points."""
    space, left, primes, prime = [1] * axes, boxes, [], 2
    while left > 1:
        while left % prime:
            prime += 1
        primes.append(prime)
        left //= prime
    for prime in sorted(primes, reverse=True):
        axis = max(range(axes), key=lambda one: extents[one] / space[one])
        space[axis] *= prime
    return tuple(space)


@dataclasses.dataclass(frozen=True)
class Plan:
    """What `mylos plan --json` says of a rank's step."""
    step_ms: float
    ranks: int
    rank_bytes: int
    space: tuple
    calls: int
    messages: int
    bytes: int
    gradient_bytes: int
    buckets: int

    @property
    def boxes(self):
        return math.prod(self.space)

    @classmethod
    def of(cls, document):
        exchanges = document.get("exchanges") or {}
        entries = {entry["name"]: entry["bytes"] for entry in document["memory"]}
        parts = [exchanges[name] for name in ("forward_faces", "backward_faces", "sums")] if exchanges else []
        return cls(document["step_time_ms"], document["ranks"], document["rank_bytes"], tuple(exchanges.get("space", ())),
                   sum(part["calls"] for part in parts), exchanges.get("messages", 0), exchanges.get("bytes", 0),
                   exchanges.get("gradient_bytes", entries["gradients"]), document["buckets"])


def planned(mylos, deck, ranks, *words):
    """The plan, or Trouble with what `mylos plan` says."""
    try:
        return Plan.of(json.loads(harness.output_of([mylos, "plan", str(deck), "--json", "--ranks", str(ranks), *words], env=harness.environment(1))))
    except harness.ProgramFailed as failure:
        raise Trouble(f"`mylos plan` refuses {ranks} ranks: {harness.last_lines(failure.messages, 3)}") from None


@dataclasses.dataclass(frozen=True)
class Step:
    plan: Plan
    samples: int
    points: int  # of all samples
    compute_ms: float
    exchange_ms: float
    gradients_ms: float  # what of them does not hide

    @property
    def step_ms(self):
        return self.compute_ms + self.exchange_ms + self.gradients_ms

    def efficiency(self, first):
        """By the points that a rank computes in a second, against those of the first step."""
        rate = self.points / self.step_ms / self.plan.ranks
        return rate / (first.points / first.step_ms / first.plan.ranks)


def gradients_seconds(machine, plan):
    """Of the reduction and the gathering of the sums, over all ranks."""
    if plan.ranks == 1 or plan.gradient_bytes == 0:
        return 0.0
    on_node = min(plan.ranks, machine.ranks_on_node)
    wire = machine.in_node if plan.ranks <= machine.ranks_on_node else machine.between
    traffic = Traffic(plan.gradient_bytes, "", plan.gradient_bytes, "", plan.buckets)
    card = 1e9 * wire.gigabytes_per_s * on_node  # each rank has its own
    return min(Network.of_wire(1e-6 * wire.latency_us, card, one).exchange_seconds((plan.ranks, on_node, 1), traffic) for one in ALGORITHMS)


def step_of(machine, plan, network, compute_ms=None):
    """`compute_ms`: measured, or by the plan at the device's rates."""
    compute = plan.step_ms / machine.reached if compute_ms is None else compute_ms
    exchange = 1e3 * machine.wire(plan.boxes).seconds(plan.calls, plan.messages, plan.bytes) if plan.space else 0.0
    gradients = max(0.0, 1e3 * gradients_seconds(machine, plan) - BACKWARD_SHARE * compute)
    return Step(plan, network.batch, network.batch * network.points, compute, exchange, gradients)


def strong(network, ranks):
    """(network, space) of this many ranks: whole samples while there are enough, then boxes of them."""
    groups = math.gcd(ranks, network.batch)
    return network, factors_of(ranks // groups, len(network.extents), network.extents)


def weak(network, ranks, boxes=8):
    """At most this many boxes: beyond, the batch grows."""
    divided = math.gcd(ranks, boxes)
    return dataclasses.replace(network, batch=network.batch * ranks // divided), factors_of(divided, len(network.extents), network.extents)


def grown(network, ranks):
    """The fields grow along their axes in turn; one sample for all ranks."""
    space = factors_of(ranks, len(network.extents), [1] * len(network.extents))
    return dataclasses.replace(network, batch=1).grown(space), space


SCALINGS = {"strong": strong, "weak": weak, "grown": grown}


def predicted(mylos, machine, scaling, cases):
    """The steps of (network, space, ranks), and what was said of those that `mylos plan` refuses."""
    steps, left_out = [], []
    with tempfile.TemporaryDirectory() as folder:
        for network, space, ranks in cases:
            deck = pathlib.Path(folder) / "deck.toml"
            deck.write_text(network.deck(), encoding="utf-8")
            words = [f"mesh.space={list(space)}", "--device", machine.device, "--ranks-per-node", str(min(ranks, machine.ranks_on_node))]
            try:
                steps.append(step_of(machine, planned(mylos, deck, ranks, *words), network))
            except Trouble as trouble:
                left_out.append(f"left out: {scaling}, {trouble}")
    return steps, left_out


def print_assumptions(machine):
    print(f"{machine.title}: assumptions ({machine.source})\n")
    for what, value in machine.assumptions():
        print(f"  {what:46}{value}")


def print_steps(scaling, steps):
    print(f"\n  {scaling:7}{'ranks':>6}{'boxes':>12}{'compute ms':>12}{'exchange':>10}{'gradients':>11}{'step ms':>10}{'eff.':>7}"
          f"{'MiB sent':>10}{'messages':>10}{'MiB a rank':>12}")
    for step in steps:
        plan = step.plan
        space = " x ".join(map(str, plan.space)) or "whole"
        print(f"  {'':7}{plan.ranks:>6}{space:>12}{step.compute_ms:>12.2f}{step.exchange_ms:>10.2f}{step.gradients_ms:>11.2f}{step.step_ms:>10.2f}"
              f"{step.efficiency(steps[0]):>7.2f}{plan.bytes / 2**20:>10.1f}{plan.messages:>10}{plan.rank_bytes / 2**20:>12.0f}")


@dataclasses.dataclass(frozen=True)
class Check:
    """A run here, and what was said of it."""
    step: Step
    measured_ms: float
    sent_bytes: int  # of a step, of the rank that sends most
    sent_messages: int

    @property
    def is_exact(self):
        return (self.sent_bytes, self.sent_messages) == (self.step.plan.bytes, self.step.plan.messages)

    @property
    def error(self):
        return self.step.step_ms / self.measured_ms - 1


def measured_run(mylos, folder, steps, ranks, space):
    """(milliseconds of a step, bytes and messages of all steps)"""
    run = folder / f"run-{ranks}"
    words = [mylos, "train", "deck.toml", f"run.folder={run}", f"run.steps={steps}", "run.threads=1", *STEPS_ONLY]
    if ranks > 1:
        words = [*harness.on_ranks(ranks), *words, f"mesh.space={list(space)}"]
    try:
        harness.finished(words, cwd=folder, env=harness.environment(1))
    except harness.ProgramFailed as failure:
        raise Trouble(f"a run on {ranks} ranks ended with code {failure.exit_code}: {harness.last_lines(failure.messages, 3)}") from None
    sent = json.loads((run / "summary.json").read_text(encoding="utf-8")).get("exchanged", {"bytes": 0, "messages": 0})
    return 1e3 / samples_per_s(run), sent["bytes"], sent["messages"]


def checks(mylos, folder, network, steps, counts, cores):
    """Runs of one sample on these numbers of ranks, of which one rank's time stands for the points of a box."""
    import numpy
    import decks  # noqa: F401: sets the path of the next
    from support.data_files import write_data
    source = numpy.random.default_rng(1)
    values = network.points * network.fields
    write_data(folder / "fields.h5", shape=" ".join(map(str, (*network.extents, network.fields))),
               **{name: source.standard_normal((4, values)).astype("f4") for name in ("inputs", "targets")})
    (folder / "deck.toml").write_text(network.deck(), encoding="utf-8")
    machine, found, whole_ms = MACHINES["here"], [], None
    for ranks in sorted({1, *counts}):
        space = factors_of(ranks, len(network.extents), network.extents)
        measured_ms, sent, messages = measured_run(mylos, folder, steps, ranks, space)
        whole_ms = whole_ms or measured_ms
        words = [f"mesh.space={list(space)}"] if ranks > 1 else []
        turns = max(1, ranks / cores)  # of ranks that share a core
        plan = planned(mylos, folder / "deck.toml", ranks, *words)
        step = step_of(machine, plan, network, whole_ms / ranks)
        step = dataclasses.replace(step, compute_ms=turns * step.compute_ms, exchange_ms=turns * step.exchange_ms)
        found.append(Check(step, measured_ms, sent // steps, messages // steps))
    return found


def print_checks(found, within):
    print(f"\n  {'ranks':>5}{'boxes':>12}{'bytes of a step':>17}{'messages':>10}  {'as planned':12}{'step ms':>9}{'model':>9}{'error':>8}")
    for one in found:
        plan = one.step.plan
        space = " x ".join(map(str, plan.space)) or "whole"
        print(f"  {plan.ranks:>5}{space:>12}{one.sent_bytes:>17}{one.sent_messages:>10}  {'exact' if one.is_exact else 'NO':12}"
              f"{one.measured_ms:>9.2f}{one.step.step_ms:>9.2f}{one.error:>+8.1%}")
    late = [one for one in found if abs(one.error) > within]
    print(f"\n{len(found) - len(late)} of {len(found)} times within {within:.0%}")
