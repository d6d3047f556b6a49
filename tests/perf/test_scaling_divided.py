"""The arithmetic of `perf/scaling.py divided`, by hand.

usage: test_scaling_divided.py REPOSITORY
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "perf"))
from known_study import near  # noqa: E402
from scaling_study import divided  # noqa: E402
from scaling_study.divided import Check, FieldNetwork, Machine, Plan, Wire  # noqa: E402

FIELDS = FieldNetwork((64, 32, 32), (8, 16), 4)
MACHINE = Machine("known", "device", 0.5, 4, Wire(10, 1, 100), Wire(20, 2, 10), "known")


def plan_of(ranks, space, **numbers):
    values = dict(step_ms=10.0, ranks=ranks, rank_bytes=0, space=space, calls=40, messages=60, bytes=8_000_000, gradient_bytes=0, buckets=1)
    return Plan(**(values | numbers))


def check_exchanges():
    near(Wire(10, 1, 100).seconds(40, 60, 8_000_000), 40 * 10e-6 + 60e-6 + 80e-6)
    in_node = divided.step_of(MACHINE, plan_of(4, (4, 1, 1)), FIELDS)
    near(in_node.compute_ms, 20)  # half of the peak
    near(in_node.exchange_ms, 0.54)
    near(in_node.step_ms, 20.54)
    between = divided.step_of(MACHINE, plan_of(8, (8, 1, 1)), FIELDS)
    near(between.exchange_ms, 40 * 20e-3 + 60 * 2e-3 + 0.8)
    assert MACHINE.wire(3) == MACHINE.between  # the fourth rank's sample is on two nodes
    assert divided.step_of(MACHINE, plan_of(4, (), calls=0, messages=0, bytes=0), FIELDS).exchange_ms == 0


def check_gradients():
    """By hand: 8 ranks on two nodes, a tree of 3 messages for each of both collectives, 7/8 of the bytes twice."""
    plan = plan_of(8, (), gradient_bytes=800_000_000)
    near(divided.gradients_seconds(MACHINE, plan), 2 * (3 * 20e-6 + 7 / 8 * 0.08))
    step = divided.step_of(MACHINE, plan, FIELDS)
    near(step.gradients_ms, 2 * (0.06 + 70) - 2 / 3 * 20)
    assert divided.step_of(MACHINE, plan_of(8, (), gradient_bytes=1000), FIELDS).gradients_ms == 0  # behind backward
    assert divided.gradients_seconds(MACHINE, plan_of(1, (), gradient_bytes=1000)) == 0


def check_divisions():
    assert divided.factors_of(1, 3, (64, 32, 32)) == (1, 1, 1)
    assert divided.factors_of(2, 3, (64, 32, 32)) == (2, 1, 1)
    assert divided.factors_of(8, 3, (64, 32, 32)) == (4, 2, 1)
    assert divided.factors_of(6, 2, (64, 32)) == (3, 2)
    assert divided.factors_of(1024, 3, (256, 256, 256)) == (16, 8, 8)
    for ranks, boxes in ((1, 1), (2, 1), (4, 1), (8, 2), (64, 16), (6, 3)):  # of four samples
        network, space = divided.strong(FIELDS, ranks)
        assert network == FIELDS and math.prod(space) == boxes, (ranks, space)
    for ranks in (1, 2, 8, 64, 1024):
        network, space = divided.weak(FIELDS, ranks)
        assert network.extents == FIELDS.extents and math.prod(space) == min(ranks, 8) and network.batch == 4 * max(1, ranks // 8)
        network, space = divided.grown(FIELDS, ranks)
        assert network.batch == 1 and [a // b for a, b in zip(network.extents, space)] == [64, 32, 32]
        assert math.prod(space) == ranks and network.points == ranks * FIELDS.points


def check_efficiency():
    first = divided.step_of(MACHINE, plan_of(1, (), calls=0, messages=0, bytes=0), divided.grown(FIELDS, 1)[0])
    grown = divided.step_of(MACHINE, plan_of(8, (2, 2, 2)), divided.grown(FIELDS, 8)[0])
    near(first.efficiency(first), 1)
    near(grown.efficiency(first), 20 / (20 + grown.exchange_ms))
    halved = divided.step_of(MACHINE, plan_of(8, (2, 1, 1), step_ms=5.0), FIELDS)
    whole = divided.step_of(MACHINE, plan_of(4, (), calls=0, messages=0, bytes=0), FIELDS)
    near(halved.efficiency(whole), 20 / (10 + halved.exchange_ms) / 2)


def check_plans():
    document = {"step_time_ms": 3.0, "ranks": 4, "rank_bytes": 5, "buckets": 2, "memory": [{"name": "gradients", "bytes": 7}]}
    assert Plan.of(document) == Plan(3.0, 4, 5, (), 0, 0, 0, 7, 2)
    part = {"bytes": 10, "messages": 2, "calls": 1}
    document["exchanges"] = {"space": [2, 2], "forward_faces": part, "backward_faces": part, "sums": part, "bytes": 30, "messages": 6,
                             "gradient_bytes": 8, "gradient_buckets": 2}
    assert Plan.of(document) == Plan(3.0, 4, 5, (2, 2), 3, 6, 30, 8, 2)


def check_runs():
    """A run is as planned to the byte and the message, or it is not."""
    step = divided.step_of(MACHINE, plan_of(4, (4, 1, 1)), FIELDS, compute_ms=2.0)
    near(step.step_ms, 2.54)
    assert Check(step, 2.54, 8_000_000, 60).is_exact
    assert not Check(step, 2.54, 8_000_001, 60).is_exact and not Check(step, 2.54, 8_000_000, 61).is_exact
    near(Check(step, 5.08, 0, 0).error, -0.5)


for check in (check_exchanges, check_gradients, check_divisions, check_efficiency, check_plans, check_runs):
    check()
    print(check.__name__, "passed")
