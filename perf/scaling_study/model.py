"""Predicts the time of a step on other numbers of ranks: fitted to a study and to `mylos bench allreduce`, tested against rank counts
that the fit did not see.

    step     = compute + exposed + data
    compute  = threads of the fullest core x (fixed + samples of a rank x each)
    exchange = of all buckets by the network's alpha and beta (collectives.py), and the agreement
    exposed  = max(share x exchange, exchange - compute) + skew x compute      (one rank: nothing)

`share` of the exchange is seen although the passes of the network go on beside it; what takes longer than all of compute
cannot hide; and ranks wait for the slowest, which skew is. `data`, the wait for the next batch, is a share of compute, in
which all else is that a step takes. A rank whose state is sharded, perhaps its gradients too, updates its slice only (the
share of the update in `mylos plan` says what that saves), and in place of the sums of gradients it gathers compute weights.
"""
import dataclasses
import math
from typing import Optional

import numpy

from . import collectives
from .plan_bytes import traffic_of
from .table import Trouble, kept_samples, threads_per_core

# By which the second number must make the error of the fit smaller.
WORTH_A_SKEW = 0.7


@dataclasses.dataclass(frozen=True)
class Prediction:
    scaling: str
    ranks: int
    nodes: int
    batch: int
    algorithm: str  # of reduce-scatter and all-gather
    shard: str
    compute_ms: float
    exchange_ms: float
    exposed_ms: float
    step_ms: float
    rank_bytes: Optional[int]  # with the process, by the plan

    @property
    def samples_per_s(self):
        return 1e3 * self.batch / self.step_ms

    @property
    def rate_per_rank(self):
        return self.samples_per_s / self.ranks

    @property
    def series(self):
        """Grouped like the points of a study on one curve."""
        return self.scaling, kept_samples(self.scaling, self.batch, self.ranks)


@dataclasses.dataclass
class Compute:
    """Milliseconds of a step without its exchange."""
    fixed_ms: float
    sample_ms: float
    error: float

    def of(self, samples_per_rank, on_a_core):
        """`on_a_core`: threads per core, at least 1. The fullest core counts: three threads on two take as long as four."""
        return math.ceil(on_a_core) * (self.fixed_ms + samples_per_rank * self.sample_ms)

    @classmethod
    def fit(cls, points, factors):
        """`factors`: for each point, the remaining fraction of compute if a rank updates only its slice."""
        only_one_share = len({point.samples_per_rank for point in points}) == 1  # then all of it is by the sample
        features = [[0.0 if only_one_share else turns, turns * point.samples_per_rank]
                    for point in points for turns in [math.ceil(point.threads_per_core)]]
        (fixed, sample), error = collectives.relative_fit(
            features, [compute_of(point) / factor for point, factor in zip(points, factors)])
        return cls(fixed, sample, error)


def compute_of(point):
    """A run without parts (no summary.json) shows compute only if there are no other ranks."""
    if point.compute_ms is not None:
        return point.compute_ms
    if point.ranks == 1:
        return point.step_ms
    return None


@dataclasses.dataclass
class Exposed:
    """Exposed communication: a fraction of the exchange, and the skew as a fraction of compute."""
    share: float = 1.0
    skew: float = 0.0
    error: float = 0.0

    def of(self, exchange_ms, compute_ms):
        return max(self.share * exchange_ms, exchange_ms - compute_ms) + self.skew * compute_ms

    def described(self):
        return f"{self.share:.2f} of the exchange + {self.skew:.2f} of compute (fit within {self.error:.1%})"


def parted(exchanges, computes, seen, max_share=1.0):
    """Fits Exposed. Both parts grow with the ranks, so few points separate them badly. Skew is used if it explains much that
    the share alone does not, and if the exposed time is more than `max_share` of the exchange."""
    exchanges, computes, seen = (numpy.array(values, dtype=float) for values in (exchanges, computes, seen))

    def error_of(share, skew):
        return float(numpy.sqrt(numpy.mean(((share * exchanges + skew * computes) / seen - 1) ** 2)))

    (share,), error = collectives.relative_fit(exchanges[:, None], seen)
    (share_beside, skew), error_of_both = collectives.relative_fit(numpy.stack([exchanges, computes], axis=1), seen)
    if share <= max_share and (error_of_both >= WORTH_A_SKEW * error or share_beside == 0):
        return Exposed(float(share), 0.0, error)
    if share_beside <= max_share:
        return Exposed(float(share_beside), float(skew), error_of_both)
    left = 1 - max_share * exchanges / seen
    beyond = max(0.0, float(numpy.sum(computes / seen * left) / numpy.sum((computes / seen) ** 2)))
    return Exposed(max_share, beyond, error_of(max_share, beyond))


class Networks:
    """The networks measured within a node and between nodes, or assumed between nodes."""

    def __init__(self, measurements, wire=None):
        self.measurements = measurements
        self.wire = wire  # a Network in place of measurements between nodes
        self.fits = {}

    def between(self, ranks, ranks_on_node, traffic):
        in_a_node = ranks == ranks_on_node
        if not in_a_node and self.wire:
            return self.wire
        chosen = [one for one in self.measurements if one.in_a_node == in_a_node] or self.measurements
        key = (in_a_node, traffic)
        if key not in self.fits:
            self.fits[key] = collectives.Network.fit(chosen, traffic)
        return self.fits[key]

    def described(self):
        """The fits so far."""
        lines = {}  # each once: padding makes the traffic of two rank counts differ by some bytes
        for (in_a_node, _), network in self.fits.items():
            for name, link in (("reduce-scatter", network.reduce_scatter), ("all-gather", network.all_gather)):
                lines[f"{name} {'in a node' if in_a_node else 'between nodes'}: {link.described()}"] = None
        return "\n".join(lines)

    def knows(self, ranks, ranks_on_node):
        """True if this placement of ranks was measured, or a network is assumed for it."""
        in_a_node = ranks == ranks_on_node
        return (not in_a_node and self.wire is not None) or any(one.in_a_node == in_a_node for one in self.measurements)


class Model:
    """`points`: of one number of threads, those of the fit; `planner`: what `mylos plan` says."""

    def __init__(self, points, networks, planner):
        self.networks, self.planner = networks, planner
        self.example = points[0]
        with_compute = [point for point in points if compute_of(point) is not None]
        if not with_compute:
            raise Trouble("the study shows no compute time: measure one rank too, or with a mylos that writes summary.json")
        self.compute = Compute.fit(with_compute, [self.update_factor_of(point) for point in with_compute])
        self.data_share = float(numpy.median([self.data_share_of(point) for point in with_compute]))
        self.exposed = self.fit_exposed([point for point in points if point.ranks > 1])

    @staticmethod
    def data_share_of(point):
        """Waiting for data, as a fraction of compute."""
        if point.compute_ms is None or point.data_ms is None:
            return 0.0
        return point.data_ms / point.compute_ms

    def update_factor(self, ranks, ranks_on_node, batch, shard):
        """The remaining fraction of a rank's compute if it updates only its slice; also 1 without a plan."""
        plan = self.planner(ranks, ranks_on_node, batch, "none") if shard != "none" else None
        return 1 - plan.update_share * (1 - 1 / ranks) if plan else 1.0

    def update_factor_of(self, point):
        return self.update_factor(point.ranks, int(point.ranks_on_node), int(point.batch), point.shard)

    def exchange_ms(self, ranks, ranks_on_node, on_a_core, batch, shard="none", algorithm=None):
        if ranks == 1:
            return 0.0
        plan = self.planner(ranks, ranks_on_node, batch, "none")
        if plan is None:
            return None
        sharded_plan = self.planner(ranks, ranks_on_node, batch, shard) if shard != "none" else None
        traffic = traffic_of(plan, self.example, sharded_plan)
        network = self.networks.between(ranks, ranks_on_node, traffic)
        if algorithm:
            network = network.with_algorithm(algorithm)
        return 1e3 * (network.exchange_seconds((ranks, ranks_on_node, on_a_core), traffic) +
                      network.agreement.seconds(ranks, on_a_core))

    def fit_exposed(self, points):
        """{whether ranks share cores: Exposed}. Ranks that share a core do not arrive together, unlike those of a benchmark:
        the exposed time may exceed the exchange."""
        found = {}
        for shares_cores in (False, True):
            chosen = [point for point in points if (point.threads_per_core > 1) == shares_cores]
            if chosen:
                found[shares_cores] = self.exposed_of(chosen, math.inf if shares_cores else 1.0)
        return found or {False: Exposed()}

    def exposed_of(self, points, max_share):
        computes = [self.compute.of(point.samples_per_rank, point.threads_per_core) * self.update_factor_of(point)
                    for point in points]
        seen = [point.exposed_ms if point.exposed_ms is not None
                else max(0.01 * compute, point.step_ms - compute * (1 + self.data_share))
                for point, compute in zip(points, computes)]
        return parted([self.exchange_of(point) for point in points], computes, seen, max_share)

    def exchange_of(self, point):
        value = self.exchange_ms(point.ranks, int(point.ranks_on_node), point.threads_per_core, int(point.batch), point.shard)
        if value is None:
            raise self.refused(point)
        return value

    def refused(self, point):
        """Raises Trouble if there is no plan for a measured run."""
        said = self.planner.refusals.get((point.ranks, int(point.batch), point.shard), "")
        return Trouble(f"`mylos plan` refuses {point.ranks} ranks and a batch of {point.batch:.0f}, which the study ran: "
                       f"give the same deck and overrides\n{said}".rstrip())

    def step(self, ranks, ranks_on_node, threads, cores, batch, shard="none", algorithm=None, scaling="strong"):
        """None if `mylos plan` refuses such a run."""
        on_a_core = threads_per_core(ranks_on_node, threads, cores)
        exchange = self.exchange_ms(ranks, ranks_on_node, on_a_core, batch, shard, algorithm)
        plan = self.planner(ranks, ranks_on_node, batch, shard)
        if exchange is None or plan is None:
            return None
        compute = self.compute.of(-(-batch // ranks), on_a_core) * self.update_factor(ranks, ranks_on_node, batch, shard)
        fit = self.exposed.get(on_a_core > 1) or next(iter(self.exposed.values()))
        exposed = fit.of(exchange, compute) if ranks > 1 else 0.0
        return Prediction(scaling, ranks, -(-ranks // ranks_on_node), batch, algorithm or "measured", shard, compute, exchange,
                          exposed, compute * (1 + self.data_share) + exposed, plan.rank_bytes)

    def at(self, point):
        """The prediction for a point of the study."""
        found = self.step(point.ranks, int(point.ranks_on_node), point.threads, int(point.cores), int(point.batch), point.shard,
                          scaling=point.scaling)
        if found is None:
            raise self.refused(point)
        return found

    def described(self):
        lines = [f"compute of a step: {self.compute.fixed_ms:.3g} ms + {self.compute.sample_ms:.3g} ms for each sample of a rank "
                 f"(fit within {self.compute.error:.1%}), and {self.data_share:.1%} of it waiting for data"]
        for shares_cores, fit in self.exposed.items():
            lines.append(f"exposed{', of ranks that share cores' if shares_cores else ''}: {fit.described()}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A measured point and its prediction."""
    point: object
    predicted: Prediction
    stated_bytes: Optional[int]  # by `mylos plan` for that rank count, without the process
    held_out: bool

    @property
    def error(self):
        """The error of the rate: 0.1 = the prediction is 10 % above the measurement."""
        return self.predicted.samples_per_s / self.point.samples_per_s - 1

    @property
    def bytes_off(self):
        """Of a rank, by the plan of the run and by `mylos plan` before it; None where one of them did not say."""
        if self.stated_bytes is None or self.point.stated_bytes is None:
            return None
        return int(self.point.stated_bytes) - self.stated_bytes


def compare(model, points, held_out):
    result = []
    for point in points:
        plan = model.planner(point.ranks, int(point.ranks_on_node), int(point.batch), point.shard)
        result.append(Comparison(point, model.at(point), plan and plan.stated_bytes, point.ranks in held_out))
    return result
