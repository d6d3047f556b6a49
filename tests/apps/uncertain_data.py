"""Samples whose noise depends on the input, and decks of networks for them, for tests of uncertainties."""
import fractions
import json
import math
import statistics

import numpy

from support.data_files import write_data
from support.decks import deck_text


def network(name, loss, epochs, dropout=None):
    return deck_text(run=dict(name=name, epochs=epochs),
                     data=dict(train="train.h5", test="test.h5", validation=0.25, batch=50, normalize="standard"),
                     model=dict(type="mlp", hidden=[24], dropout=dropout, loss=loss), precision=dict(compute="fp32"),
                     optimizer=dict(lr=1e-2))


def draw(samples, seed):
    """Three inputs, and two targets of very different units whose noise grows with the first input's size."""
    random = numpy.random.default_rng(seed)
    x = random.uniform(-2, 2, (samples, 3))
    noise = (0.1 + 0.4 * numpy.abs(x[:, :1])) * random.normal(size=(samples, 2))
    y = numpy.stack([numpy.sin(x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]], axis=1) + noise
    return x.astype("f4"), (y * [1, 30] + [5, -20]).astype("f4")


def write(folder, name, samples, seed):
    inputs, targets = draw(samples, seed)
    write_data(folder / name, inputs=inputs, targets=targets, target_names=["lift", "drag"])
    return targets.astype("f8")


def quantile(scores, coverage):
    """The ceil((n + 1) coverage)-th smallest of each column, with the decimal number that the user wrote."""
    rank = math.ceil((len(scores) + 1) * fractions.Fraction(coverage))
    return numpy.sort(scores, axis=0)[rank - 1]


def measures_by_numpy(means, deviations, targets):
    """What `mylos eval` reports, as uncertainty-toolbox 0.1.1 computes it with its defaults; all arguments of one dimension."""
    normal = statistics.NormalDist()
    levels = numpy.linspace(0, 1, 100)
    ends = numpy.array([normal.inv_cdf(0.5 + level / 2) for level in levels[:-1]] + [math.inf])
    z = numpy.abs(means - targets) / deviations
    observed = numpy.array([(z <= end).mean() for end in ends])
    difference = observed - levels
    before, after = difference[:-1], difference[1:]
    sizes = numpy.abs(before) + numpy.abs(after)
    crossed = numpy.divide(before ** 2 + after ** 2, 2 * sizes, out=numpy.zeros_like(sizes), where=sizes > 0)
    heights = numpy.where(before * after < 0, crossed, sizes / 2)
    cumulative = numpy.array([normal.cdf(value) for value in z])
    density = numpy.exp(-z ** 2 / 2) / math.sqrt(2 * math.pi)
    crps = deviations * (z * (2 * cumulative - 1) + 2 * density - 1 / math.sqrt(math.pi))
    return {"calibration_error": numpy.abs(difference).mean(), "rms_calibration_error": math.sqrt((difference ** 2).mean()),
            "miscalibration_area": (heights * numpy.diff(levels)).sum(), "sharpness": math.sqrt((deviations ** 2).mean()),
            "crps": crps.mean(), "coverage": numpy.stack([levels, observed], axis=1)}


def require_measures(found, expected):
    """`found`: an uncertainty.json."""
    for name, value in expected.items():
        # A target within rounding of the end of an interval may count on either side.
        assert numpy.allclose(found[name], value, rtol=1e-6, atol=1e-6), (name, found[name], value)


def measured(command, run, *arguments, ranks=1):
    """What eval leaves in the folder of the run."""
    path = command.folder / run / "uncertainty.json"
    path.unlink(missing_ok=True)
    said = command.must("eval", run, *arguments, ranks=ranks).stdout
    return json.loads(path.read_text(encoding="utf-8")), said
