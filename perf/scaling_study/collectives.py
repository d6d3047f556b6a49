"""The cost of a collective: latency and bandwidth of a network, fitted to `mylos bench allreduce`.

A message of n bytes takes alpha + n beta (Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994).
A reduce-scatter, and an all-gather likewise, of n bytes over p ranks takes

    ring   (p - 1) alpha          + (p - 1)/p n beta     pairs of neighbours, or of any two ranks in turn
    tree   ceil(log2 p) alpha     + (p - 1)/p n beta     recursive halving and doubling

(Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", Int. J. High Performance
Computing Applications 19, 2005, sections 4.1, 4.3 and 4.4; one after the other they are its long-message allreduce, there
after Rabenseifner.) Summing is part of beta. Two things are added for ranks that share a node: its memory or network card
carries the bytes of all of them, (p - 1)/p n times the ranks of the node, at a rate of its own; and where ranks have more
threads than cores, each waits for the others' turns: alpha and beta are as many times as large as a core has threads.
"""
import dataclasses
import itertools
import math

import numpy

from .table import Trouble, read_csv

ALGORITHMS = ("ring", "tree")
COLUMNS = ["benchmark", "ranks", "ranks_on_node", "threads_per_core", "operation", "type", "bytes", "seconds", "smallest_s"]


@dataclasses.dataclass(frozen=True)
class Measurement:
    ranks: int
    ranks_on_node: int
    threads_per_core: float  # at least 1
    operation: str
    type: str
    bytes: int
    seconds: float

    @property
    def in_a_node(self):
        return self.ranks == self.ranks_on_node


def read(paths, fastest=False):
    """Reads files of `mylos bench allreduce --csv`, one per rank count: medians, or the fastest rounds."""
    found, seconds = [], "smallest_s" if fastest else "seconds"
    for path in paths:
        for row in read_csv(path, COLUMNS, "table of `mylos bench allreduce --csv`"):
            found.append(Measurement(int(row["ranks"]), int(row["ranks_on_node"]), max(1.0, float(row["threads_per_core"])),
                                     row["operation"], row["type"], int(row["bytes"]), float(row[seconds])))
    return found


def messages(algorithm, ranks):
    """The successive messages of a reduce-scatter or an all-gather."""
    return ranks - 1 if algorithm == "ring" else math.ceil(math.log2(ranks))


def non_negative_least_squares(matrix, values):
    """The x >= 0 with the least |matrix x - values|. Few columns: all subsets of them are tried."""
    columns = matrix.shape[1]
    best, least = numpy.zeros(columns), numpy.linalg.norm(values)
    for count in range(1, columns + 1):
        for chosen in itertools.combinations(range(columns), count):
            solution = numpy.linalg.lstsq(matrix[:, chosen], values, rcond=None)[0]
            error = numpy.linalg.norm(matrix[:, chosen] @ solution - values)
            if (solution >= 0).all() and error < least * (1 - 1e-9):
                best, least = numpy.zeros(columns), error
                best[list(chosen)] = solution
    return best, least


def relative_fit(features, seconds):
    """Weights every measurement by its relative error, so that small messages count like large ones."""
    matrix = numpy.array(features, dtype=float) / numpy.array(seconds)[:, None]
    scale = numpy.linalg.norm(matrix, axis=0)
    scale[scale == 0] = 1
    solution, error = non_negative_least_squares(matrix / scale, numpy.ones(len(seconds)))
    return solution / scale, error / math.sqrt(len(seconds))


@dataclasses.dataclass
class Link:
    """One collective over ranks of one node, or of several."""
    algorithm: str
    alpha_s: float = 0.0
    beta_s: float = 0.0  # per byte of a rank
    shared_s: float = 0.0  # per byte of any rank of a node
    error: float = 0.0  # of the fit: relative, root of the mean square

    @staticmethod
    def features(algorithm, ranks, ranks_on_node, threads_per_core, size):
        sent = (ranks - 1) / ranks * size
        return [messages(algorithm, ranks) * threads_per_core, sent * threads_per_core, sent * ranks_on_node]

    def seconds(self, ranks, ranks_on_node, threads_per_core, size):
        if ranks == 1:
            return 0.0
        costs = [self.alpha_s, self.beta_s, self.shared_s]
        return float(numpy.dot(costs, self.features(self.algorithm, ranks, ranks_on_node, threads_per_core, size)))

    def described(self):
        def rate(per_byte):
            return f"{1e-9 / per_byte:.3g} GB/s" if per_byte > 0 else "no limit"
        return (f"{self.algorithm}, alpha {1e6 * self.alpha_s:.2f} us, a rank {rate(self.beta_s)}, a node "
                f"{rate(self.shared_s)} (fit within {self.error:.1%})")

    @classmethod
    def fit(cls, measurements, algorithm):
        features = [cls.features(algorithm, one.ranks, one.ranks_on_node, one.threads_per_core, one.bytes) for one in measurements]
        (alpha, beta, shared), error = relative_fit(features, [one.seconds for one in measurements])
        return cls(algorithm, alpha, beta, shared, error)


@dataclasses.dataclass
class Agreement:
    """The exchange of some words at the end of every step: a tree of messages, and a constant cost."""
    fixed_s: float = 0.0
    message_s: float = 0.0

    def seconds(self, ranks, threads_per_core):
        if ranks == 1:
            return 0.0
        return threads_per_core * (self.fixed_s + self.message_s * messages("tree", ranks))

    @classmethod
    def fit(cls, measurements):
        features = [[one.threads_per_core, one.threads_per_core * messages("tree", one.ranks)] for one in measurements]
        return cls(*relative_fit(features, [one.seconds for one in measurements])[0])


def near(measurements, size):
    """The messages whose size is within a factor of 8: caches and protocols make the rate depend on the size."""
    chosen = [one for one in measurements if size / 8 <= one.bytes <= size * 8]
    return chosen if len({one.bytes for one in chosen}) > 1 else measurements


@dataclasses.dataclass
class Network:
    """The collectives of a step, within a node or between nodes."""
    reduce_scatter: Link
    all_gather: Link
    agreement: Agreement

    def exchange_seconds(self, place, traffic):
        """All buckets of a step, one after the other. `place`: ranks, ranks_on_node, threads_per_core."""
        return sum(traffic.buckets * link.seconds(*place, size / traffic.buckets)
                   for link, size in ((self.reduce_scatter, traffic.reduced_bytes), (self.all_gather, traffic.gathered_bytes)))

    @classmethod
    def fit(cls, measurements, traffic, algorithm=None):
        """Fits to the messages of the types and sizes of a step; `algorithm`: the one that fits better."""
        def of(operation, type_, size):
            chosen = [one for one in measurements if one.operation == operation and one.type == type_]
            if not chosen:
                raise Trouble(f"the tables of `mylos bench allreduce` have no {operation} of {type_}; measure it with "
                              f"--types {type_}")
            fits = [Link.fit(near(chosen, size / traffic.buckets), name) for name in ([algorithm] if algorithm else ALGORITHMS)]
            return min(fits, key=lambda fit: fit.error)
        agreements = [one for one in measurements if one.operation == "agreement"]
        if not agreements:
            raise Trouble("the tables of `mylos bench allreduce` have no agreement")
        return cls(of("reduce_scatter", traffic.reduced_type, traffic.reduced_bytes),
                   of("all_gather", traffic.gathered_type, traffic.gathered_bytes), Agreement.fit(agreements))

    @classmethod
    def of_wire(cls, alpha_s, bytes_per_s, algorithm):
        """A network that was not measured: a card per node with this rate in bytes per second, shared by its ranks."""
        link = Link(algorithm, alpha_s=alpha_s, shared_s=1 / bytes_per_s)
        return cls(link, dataclasses.replace(link), Agreement(alpha_s, alpha_s))

    def with_algorithm(self, algorithm):
        """The same messages in another order."""
        return Network(dataclasses.replace(self.reduce_scatter, algorithm=algorithm),
                       dataclasses.replace(self.all_gather, algorithm=algorithm), self.agreement)
