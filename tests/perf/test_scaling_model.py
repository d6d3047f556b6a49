"""The arithmetic of perf/scaling.py, on measurements that were made from known latencies, rates and times.

usage: test_scaling_model.py REPOSITORY
"""
import dataclasses
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "perf"))
from known_study import (ALPHA_S, BETA_S, PARAMETERS, TRUE_COMPUTE, TRUE_SHARE, TRUE_SKEW, UPDATE_SHARE,  # noqa: E402
                         WINDOW_BYTES, Plans, measured, near, refused, true_exchange_ms, true_measurements, true_row)
from scaling_study import collectives, model, plan_bytes, plots, predictions, table  # noqa: E402
from scaling_study.collectives import Link, Measurement, Network  # noqa: E402


def check_formulas():
    """Thakur, Rabenseifner, Gropp (2005), by hand: 4 ranks, 8 MB, alpha 1 us, beta 1 ns."""
    near(Link("ring", 1e-6, 1e-9).seconds(4, 4, 1, 8_000_000), 3e-6 + 0.75 * 8e-3)
    near(Link("tree", 1e-6, 1e-9).seconds(4, 4, 1, 8_000_000), 2e-6 + 0.75 * 8e-3)
    near(Link("tree", 1e-6, 0).seconds(5, 5, 1, 8_000_000), 3e-6)  # not a power of two: one message more
    near(Link("ring", 1e-6, 0).seconds(4096, 1, 1, 4096), 4095e-6)
    near(Link("tree", 1e-6, 0).seconds(4096, 1, 1, 4096), 12e-6)
    near(Link("ring", 0, 0, 1e-9).seconds(8, 4, 1, 8_000_000), 4 * 7e-3)  # a node's card carries four ranks' bytes
    near(Link("ring", 1e-6, 1e-9).seconds(4, 4, 2, 8_000_000), 2 * (3e-6 + 6e-3))  # two ranks a core
    assert Link("ring", 1, 1).seconds(1, 1, 1, 1 << 20) == 0


def check_known_link_is_found():
    for algorithm in collectives.ALGORITHMS:
        truth = Link(algorithm, ALPHA_S, BETA_S)
        measurements = [one for ranks in (2, 3, 4, 6, 8) for one in measured(truth, ranks, on_node=1)]
        found = Link.fit(measurements, algorithm)
        near(found.alpha_s, ALPHA_S, 1e-5)
        near(found.beta_s + found.shared_s, BETA_S, 1e-5)
        fits = {name: Link.fit(measurements, name).error for name in collectives.ALGORITHMS}
        assert min(fits, key=fits.get) == algorithm, fits
    shared = Link("ring", ALPHA_S, BETA_S, BETA_S / 3)
    found = Link.fit([one for ranks in (2, 3, 4, 8) for one in measured(shared, ranks)], "ring")
    near(found.beta_s, BETA_S, 1e-4)
    near(found.shared_s, BETA_S / 3, 1e-4)
    noisy = Link.fit([one for ranks in (2, 3, 4, 8) for one in measured(shared, ranks, noise=random.Random(1))], "ring")
    near(noisy.alpha_s, ALPHA_S, 0.1)
    near(noisy.seconds(16, 16, 1, 1 << 24), shared.seconds(16, 16, 1, 1 << 24), 0.1)


def check_sizes_of_the_step_count():
    """A cache that messages of 4 MiB no longer fit: a step that sends buckets of 256 KiB is not judged by them."""
    cached, beyond = Link("ring", ALPHA_S, BETA_S), Link("ring", ALPHA_S, 5 * BETA_S)
    both = [one for ranks in (2, 4, 8) for operation in ("reduce_scatter", "all_gather")
            for link, fits in ((cached, True), (beyond, False)) for one in measured(link, ranks, operation, on_node=1)
            if (one.bytes < 1 << 22) == fits] + [Measurement(2, 2, 1.0, "agreement", "", 0, 1e-6)]
    traffic = plan_bytes.Traffic(1 << 20, "fp32", 1 << 20, "fp32", 4)
    found = Network.fit(both, traffic)
    near(found.reduce_scatter.seconds(16, 1, 1, 1 << 18), cached.seconds(16, 1, 1, 1 << 18), 1e-3)
    with refused(table.Trouble, "no reduce_scatter of bf16; measure it with --types bf16"):
        Network.fit(both, dataclasses.replace(traffic, reduced_type="bf16"))


def check_no_negative_costs():
    """Measurements that a straight line would give a negative latency."""
    backwards = [dataclasses.replace(one, seconds=one.bytes ** 1.3 * 1e-12) for one in measured(Link("ring", 1, 1), 4)]
    found = Link.fit(backwards, "ring")
    assert min(found.alpha_s, found.beta_s, found.shared_s) >= 0, found


def fitted_model(points, held_out):
    networks = model.Networks(true_measurements({2, 4, 8, 16} - held_out))
    return model.Model([point for point in points if point.ranks not in held_out], networks, Plans())


def check_held_out_ranks():
    rows = [true_row("weak", ranks, 4 * ranks) for ranks in (1, 2, 4, 8, 16)] + \
           [true_row("strong", ranks, 64) for ranks in (1, 2, 4, 8, 16)]
    points, held_out = table.points(rows), {4, 16}
    fit = fitted_model(points, held_out)
    near(fit.compute.fixed_ms, 5, 1e-4)
    near(fit.compute.sample_ms, 2, 1e-4)
    near(fit.exposed[False].share, TRUE_SHARE, 1e-3)
    near(fit.exposed[False].skew, TRUE_SKEW, 1e-2)
    comparisons = model.compare(fit, points, held_out)
    assert sum(one.held_out for one in comparisons) == 4
    for one in comparisons:
        near(one.predicted.samples_per_s, one.point.samples_per_s, 1e-3)
        assert one.bytes_off == 0, one
    assert predictions.misses(comparisons, 0.001) == []
    assert predictions.success(comparisons, 0.15) == "held-out rates within 15%, bytes exact"
    silent = [dataclasses.replace(comparisons[0], stated_bytes=None), *comparisons[1:]]
    assert predictions.success(silent, 0.15) == "held-out rates within 15%, bytes of 1 of 10 places not known"
    assert predictions.success(model.compare(fit, points, set()), 0.15) == ""
    slower = [dataclasses.replace(row, samples_per_s=row.samples_per_s / 1.2) if row.ranks == 16 else row for row in rows]
    slower[0] = dataclasses.replace(slower[0], rank_bytes=slower[0].rank_bytes + 8)
    said = predictions.misses(model.compare(fit, table.points(slower), held_out), 0.15)
    assert said == ["strong, 16 ranks: the rate is +20.0% off", "weak, 1 ranks: bytes of a rank are +8 off",
                    "weak, 16 ranks: the rate is +20.0% off"], said


def check_fullest_core():
    """Three ranks on two cores take as long as four."""
    near(model.Compute(5, 2, 0).of(4, 1), 13)
    near(model.Compute(5, 2, 0).of(4, 1.5), 26)
    near(model.Compute(5, 2, 0).of(4, 2), 26)
    points = table.points([true_row("strong", 1, 48, cores=2), true_row("strong", 3, 48, cores=2, compute_ms=2 * 37),
                           true_row("strong", 4, 48, cores=2, compute_ms=2 * 29)])
    found = model.Compute.fit(points, [1] * len(points))
    near(found.fixed_ms, 5, 1e-4)
    near(found.sample_ms, 2, 1e-4)


def check_what_points_cannot_part():
    """Weak scaling alone: all compute is by the sample; an exchange that grows as compute does is no skew."""
    points = table.points([true_row("weak", ranks, 4 * ranks) for ranks in (1, 2, 4, 8)])
    fit = fitted_model(points, set())
    near(fit.compute.sample_ms, TRUE_COMPUTE.of(4, 1) / 4)
    assert fit.compute.fixed_ms == 0
    exact = [true_row("weak", ranks, 4 * ranks, exposed_ms=0.4 * true_exchange_ms(ranks)) for ranks in (1, 2, 4, 8)]
    fit = fitted_model(table.points(exact), set())
    near(fit.exposed[False].share, 0.4, 1e-3)
    assert fit.exposed[False].skew == 0


def check_no_more_is_seen_than_the_exchange():
    """What is beyond it, ranks waited for each other."""
    found = model.parted([1.0, 2.0, 4.0], [10.0, 10.0, 10.0], [1 + 3.0, 2 + 3.0, 4 + 3.0])
    near(found.share, 1, 1e-6)
    near(found.skew, 0.3, 1e-6)
    assert found.error < 1e-6
    found = model.parted([1.0, 2.0], [10.0, 20.0], [3.0, 6.0])
    assert found.share <= 1 and found.skew > 0
    near(found.of(1, 10), 3, 1e-6)
    near(model.parted([1.0, 2.0], [10.0, 10.0], [3.0, 6.0], max_share=9).share, 3)
    rows = [true_row("weak", ranks, 4 * ranks, cores=4) for ranks in (1, 2, 4, 8, 16)]
    rows[3:] = [dataclasses.replace(row, compute_ms=TRUE_COMPUTE.of(4, row.ranks / 4), exposed_ms=4 * true_exchange_ms(row.ranks))
                for row in rows[3:]]
    assert set(fitted_model(table.points(rows), set()).exposed) == {False, True}, "ranks that share cores have a fit of their own"


def check_predictions():
    points = table.points([true_row("weak", ranks, 4 * ranks) for ranks in (1, 2, 4, 8)] + [true_row("strong", 1, 64)])
    fit = fitted_model(points, set())
    found, left_out = predictions.predict(fit, points, 4096, 8)
    assert left_out == ["left out: strong, 128 ranks and more: too many",
                        "left out: strong, 128 ranks and more with sharded state: too many",
                        "left out: strong, 2 ranks with sharded gradients: several micro-batches",
                        "left out: strong, 128 ranks and more with sharded gradients: too many"], left_out
    by_name = {(one.scaling, one.ranks, one.shard, one.algorithm): one for one in found}
    assert ("weak", 4096, "state", "tree") in by_name
    assert not any(one.ranks > 64 for one in found if one.scaling == "strong"), "more ranks than samples"
    ring, tree = by_name["weak", 4096, "none", "ring"], by_name["weak", 4096, "none", "tree"]
    assert ring.nodes == 512 and ring.batch == 4 * 4096
    assert ring.exchange_ms > tree.exchange_ms, "4095 messages take longer than 12"
    near(predictions.efficiency(by_name["weak", 1, "none", "ring"], found), 1)
    plain, sharded, cut = (by_name["weak", 64, shard, "ring"] for shard in table.SHARDS)
    assert plain.rank_bytes - sharded.rank_bytes == 12 * PARAMETERS - 12 * PARAMETERS // 64
    assert sharded.rank_bytes - cut.rank_bytes == 2 * PARAMETERS - WINDOW_BYTES - 2 * PARAMETERS // 64
    near(sharded.compute_ms, plain.compute_ms * (1 - UPDATE_SHARE * 63 / 64))  # a rank updates its slice only
    assert dataclasses.replace(cut, shard="state", rank_bytes=sharded.rank_bytes) == sharded, "gradients travel as with sharded state"
    with tempfile.TemporaryDirectory() as folder:
        predictions.write(f"{folder}/predicted.csv", found)
        rows = table.read_csv(f"{folder}/predicted.csv", predictions.COLUMNS, "table")
        assert len(rows) == len(found)


def check_gaps():
    """2, 4 and 8 ranks are neighbours."""
    reasons = {2: "a", 4: "b", 8: "c", 32: "d"}
    assert predictions.gaps(reasons, 64) == [("2 to 8 ranks", "a"), ("32 ranks", "d")]
    assert predictions.gaps(reasons, 32) == [("2 to 8 ranks", "a"), ("32 ranks and more", "d")]
    assert predictions.gaps({}, 32) == []


def check_sharded_studies():
    """What a rank saves of the update is in what was measured, and is not taken off again."""
    for shard in ("state", "gradients"):
        rows = [true_row(scaling, ranks, batch * (ranks if scaling == "weak" else 1), shard=shard)
                for scaling, batch in (("weak", 4), ("strong", 16)) for ranks in (1, 2, 4, 8)]
        for row in rows:
            row.compute_ms *= 1 - UPDATE_SHARE * (1 - 1 / row.ranks)
        points = table.points(rows)
        fit = fitted_model(points, {4})
        near(fit.compute.fixed_ms, 5, 1e-4)
        near(fit.compute.sample_ms, 2, 1e-4)
        for point in points:
            near(fit.at(point).compute_ms, point.compute_ms, 1e-4)
        plain = fit.step(4, 4, 1, 64, 16)
        near(plain.compute_ms, TRUE_COMPUTE.of(4, 1), 1e-4)


def check_batches_are_kept_apart():
    """A table with several of one scaling: each has its own curves, and its own one rank."""
    points = table.points([true_row("strong", ranks, batch) for batch in (64, 256) for ranks in (1, 2, 4)] +
                          [true_row("weak", ranks, 4 * ranks) for ranks in (1, 2, 4)])
    found, _ = predictions.predict(fitted_model(points, set()), points, 4, 8)
    assert {one.series for one in found} == {("strong", 64), ("strong", 256), ("weak", 4)}
    for batch in (64, 256):
        one, four = (next(each for each in found if each.series == ("strong", batch) and each.ranks == ranks) for ranks in (1, 4))
        near(predictions.efficiency(one, found), 1)
        near(predictions.efficiency(four, found), one.step_ms / four.step_ms / 4)
    curves = plots.series(points)
    assert {label: [point.ranks for point in line] for label, line in curves.items()} == \
        dict.fromkeys(("strong, 64 samples, 1 thread", "strong, 256 samples, 1 thread", "weak, 1 thread"), [1, 2, 4])


def check_a_refused_plan_is_said():
    """Of one rank nothing else asks for a plan."""
    class NoPlans(Plans):
        def __call__(self, ranks, ranks_on_node, batch, shard="none"):
            self.refusals[ranks, batch, shard] = "mylos: no such file"
            return None

    points = table.points([true_row("strong", 1, 48)])
    fit = model.Model(points, model.Networks(true_measurements({2})), NoPlans())
    with refused(table.Trouble, "`mylos plan` refuses 1 ranks and a batch of 48, which the study ran: give the same deck and "
                                "overrides\nmylos: no such file"):
        model.compare(fit, points, set())


def check_long_exchange_shows():
    """Of an exchange that takes longer than all of compute, no more than compute is hidden."""
    points = table.points([true_row("weak", ranks, 4 * ranks) for ranks in (1, 2, 4, 8)])
    networks = model.Networks(true_measurements({2, 4, 8}), Network.of_wire(1e-3, 1e8, "ring"))
    far = model.Model(points, networks, Plans()).step(1024, 8, 1, 64, 4096)
    assert far.exchange_ms > far.compute_ms
    assert far.exposed_ms >= far.exchange_ms - far.compute_ms


def check_types_on_the_wire():
    plan, point = Plans()(2, 2, 8), table.points([true_row("weak", 2, 8)])[0]
    assert plan_bytes.traffic_of(plan, point) == plan_bytes.Traffic(2 * PARAMETERS, "bf16", 2 * PARAMETERS, "bf16", 4)
    half = table.points([true_row("weak", 2, 8, compute="fp16")])[0]
    assert plan_bytes.traffic_of(plan, half) == plan_bytes.Traffic(4 * PARAMETERS, "fp32", 2 * PARAMETERS, "fp16", 4)
    for shard in ("gradients", "state"):
        sharded = Plans()(2, 2, 8, shard)
        assert plan_bytes.traffic_of(plan, half, sharded) == plan_bytes.Traffic(4 * PARAMETERS, "fp32", 2 * PARAMETERS, "fp16", 4)
    floats = dataclasses.replace(plan, entries=plan.entries | {"gradients": 4 * PARAMETERS})
    assert plan_bytes.traffic_of(floats, point, sharded) == \
        plan_bytes.Traffic(4 * PARAMETERS, "fp32", 2 * PARAMETERS, "bf16", 8)


def main():
    check_formulas()
    check_known_link_is_found()
    check_sizes_of_the_step_count()
    check_no_negative_costs()
    check_held_out_ranks()
    check_fullest_core()
    check_what_points_cannot_part()
    check_no_more_is_seen_than_the_exchange()
    check_predictions()
    check_gaps()
    check_sharded_studies()
    check_batches_are_kept_apart()
    check_a_refused_plan_is_said()
    check_long_exchange_shows()
    check_types_on_the_wire()


main()
