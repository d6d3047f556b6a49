"""A network, a step and a study that are known: what `mylos bench allreduce`, `mylos plan` and `scaling.py run` would say of
them, for tests of perf/scaling.py."""
import contextlib

from scaling_study import model, plan_bytes, table
from scaling_study.collectives import Agreement, Link, Measurement, Network

SIZES = [1 << power for power in range(10, 29, 2)]
ALPHA_S, BETA_S = 3e-6, 1 / 8e9
PARAMETERS = 4_000_000
WINDOW_BYTES = PARAMETERS // 2  # of gradients that are cut over ranks: those that are there at one time
UPDATE_SHARE = 0.1
MOST_SAMPLES = 16  # of a micro-batch


@contextlib.contextmanager
def refused(error, *words):
    """The block must end with this error, whose text has all of these words."""
    try:
        yield
    except error as trouble:
        assert all(word in str(trouble) for word in words), trouble
    else:
        raise AssertionError(f"no {error.__name__} with {words}")


def near(value, expected, within=1e-6):
    assert abs(value - expected) <= within * abs(expected), f"{value} is not {expected}"


def measured(link, ranks, operation="reduce_scatter", type_="fp32", on_node=None, on_a_core=1.0, noise=None):
    """What `mylos bench allreduce` would say of such a link."""
    on_node = on_node or ranks
    shake = (lambda: 1 + noise.uniform(-0.05, 0.05)) if noise else (lambda: 1)
    return [Measurement(ranks, on_node, on_a_core, operation, type_, size,
                        shake() * link.seconds(ranks, on_node, on_a_core, size)) for size in SIZES]


class Plans:
    """What `mylos plan` would say of a network of PARAMETERS weights in bfloat16, by the formulas of its page."""

    def __init__(self):
        self.refusals = {}

    def __call__(self, ranks, ranks_on_node, batch, shard="none"):
        if batch < ranks:
            self.refusals[ranks, batch, shard] = "too many"
            return None
        if shard == "gradients" and ranks > 1 and batch > MOST_SAMPLES * ranks:
            self.refusals[ranks, batch, shard] = "several micro-batches"
            return None
        holders = ranks if shard != "none" else 1
        entries = {"process after start-up": 1000 * ranks, "master weights": 4 * PARAMETERS // holders, "gradients": 2 * PARAMETERS,
                   "slices of gradients": 0, "compute weights": 2 * PARAMETERS, "optimizer moments": 8 * PARAMETERS // holders}
        if shard == "gradients" and ranks > 1:
            entries |= {"gradients": WINDOW_BYTES, "slices of gradients": 2 * PARAMETERS // ranks}
        return plan_bytes.PlanBytes(sum(entries.values()), entries["process after start-up"], entries, UPDATE_SHARE / holders)


TRUE_COMPUTE = model.Compute(5.0, 2.0, 0)
TRUE_SHARE, TRUE_SKEW = 0.4, 0.03
TRUE_LINKS = Link("ring", ALPHA_S, BETA_S, BETA_S / 3), Link("tree", ALPHA_S, BETA_S / 2)
TRUE_AGREEMENT = Agreement(2e-6, 4e-6)


def true_exchange_ms(ranks):
    traffic = plan_bytes.Traffic(2 * PARAMETERS, "bf16", 2 * PARAMETERS, "bf16", 4)
    return 1e3 * (Network(*TRUE_LINKS, TRUE_AGREEMENT).exchange_seconds((ranks, ranks, 1.0), traffic) +
                  TRUE_AGREEMENT.seconds(ranks, 1))


def true_row(scaling, ranks, batch, **changes):
    compute = TRUE_COMPUTE.of(batch / ranks, 1)
    exposed = TRUE_SHARE * true_exchange_ms(ranks) + TRUE_SKEW * compute if ranks > 1 else 0.0
    step = compute + exposed
    plan = Plans()(ranks, ranks, batch)
    fields = {"scaling": scaling, "round": 1, "ranks": ranks, "threads": 1, "nodes": 1, "ranks_on_node": ranks, "cores": 64,
              "batch": batch, "steps": 30, "step_ms": step, "samples_per_s": 1e3 * batch / step, "compute_ms": compute,
              "exposed_ms": exposed, "data_ms": 0.0, "evaluation_s": 0.0, "checkpoints_s": 0.0,
              "flops_per_s": None, "peak_share": None, "rank_bytes": plan.rank_bytes, "process_bytes": plan.process_bytes,
              "compute": "bf16", "reduce_type": "auto", "bucket_bytes": PARAMETERS // 2, "shard": "none",
              "processor": "a processor, of 2 \"cores\"", "machine": "", "load": 0.0, "mylos": "", "commit": "",
              "deck": "deck.toml", "deck_sha256": "", "overrides": "", "launcher": "mpirun", "began": ""}
    return table.Row(**(fields | changes))


def true_measurements(rank_counts):
    found = []
    for ranks in rank_counts:
        found += measured(TRUE_LINKS[0], ranks, "reduce_scatter", "bf16") + measured(TRUE_LINKS[1], ranks, "all_gather", "bf16")
        found.append(Measurement(ranks, ranks, 1.0, "agreement", "", 0, TRUE_AGREEMENT.seconds(ranks, 1)))
    return found
