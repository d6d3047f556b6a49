"""The bytes that a rank stores and sends, by `mylos plan --json`: exact for any number of ranks."""
import dataclasses
import json

import harness

from .table import Trouble


@dataclasses.dataclass(frozen=True)
class Traffic:
    """The bytes that a step exchanges."""
    reduced_bytes: int  # of all gradients as they travel
    reduced_type: str
    gathered_bytes: int  # of the sums, or of compute weights where state, or state and gradients, are sharded
    gathered_type: str
    buckets: int


@dataclasses.dataclass(frozen=True)
class PlanBytes:
    rank_bytes: int
    process_bytes: int  # of them, what two starts do not share
    entries: dict  # name: bytes
    update_share: float  # of the time of a step that the plan's own model states
    buckets: int | None = None  # of gradients; older programs do not say

    @property
    def stated_bytes(self):
        """The bytes that are the same at every start."""
        return self.rank_bytes - self.process_bytes


def numbers_of(document):
    entries = {entry["name"]: entry["bytes"] for entry in document["memory"]}
    process = entries.get("process after start-up", 0)
    share = document["cost"]["update_time_ms"] / document["step_time_ms"] if document["step_time_ms"] else 0.0
    return PlanBytes(document["rank_bytes"], process, entries, share, document.get("buckets"))


def key_of(override):
    """"data.batch=48" -> "data.batch" """
    return override.partition("=")[0].strip()


class Planner:
    """Calls `mylos plan`, once for each configuration."""

    def __init__(self, mylos, deck, overrides, deck_shards=False):
        kept = [override for override in overrides if key_of(override) not in ("data.batch", "optimizer.shard")]
        self.line = [mylos, "plan", str(deck), *kept]  # each question says these two, and mylos takes a key once
        self.says_shard = deck_shards or "optimizer.shard" in map(key_of, overrides)  # "none" too
        self.answers = {}
        self.refusals = {}  # (ranks, batch, shard): what was said
        self.knows_no_shard = ""  # what a program says that is older than sharding

    def __call__(self, ranks, ranks_on_node, batch, shard="none"):
        """None if such a run is impossible (more ranks than samples, no memory), or if this mylos does not shard."""
        key = (ranks, ranks_on_node, batch, shard)
        if key not in self.answers:
            self.answers[key] = self.ask(*key)
        return self.answers[key]

    def ask(self, ranks, ranks_on_node, batch, shard):
        line = [*self.line, "--json", "--ranks", str(ranks), "--ranks-per-node", str(ranks_on_node), f"data.batch={batch}"]
        if shard != "none" or self.says_shard:
            if self.knows_no_shard:
                self.refusals[ranks, batch, shard] = self.knows_no_shard
                return None
            line.append(f"optimizer.shard={shard}")
        try:
            return numbers_of(json.loads(harness.output_of(line, env=harness.environment(1))))
        except OSError as error:
            raise Trouble(f"{line[0]}: cannot be started: {error.strerror}") from None
        except harness.ProgramFailed as failure:
            said = self.refusals[ranks, batch, shard] = failure.messages
        if "unknown key 'optimizer.shard'" in said:
            self.knows_no_shard = said
        return None


def traffic_of(plan, point, sharded_plan=None):
    """`plan`: of an unsharded run, which has all gradients; `point`: of a study, which says in which types its gradients travel.
    Buckets are the same however much is sharded. Where a network computes in several types, all count as the deck's."""
    masters, gradients = plan.entries["master weights"], plan.entries["gradients"]
    gradient_type = "fp32" if gradients >= masters else point.compute
    wire = {"auto": "bf16" if gradient_type == "bf16" else "fp32", "compute": point.compute, "fp32": "fp32"}[point.reduce_type]
    gathered, gathered_type = gradients, gradient_type
    if sharded_plan:
        gathered, gathered_type = sharded_plan.entries["compute weights"] or masters, point.compute
    return Traffic(masters if wire == "fp32" else masters // 2, wire, gathered, gathered_type,
                   plan.buckets or max(1, -(-gradients // point.bucket_bytes)))
