"""Builds ONNX models with skl2onnx, the exporter of scikit-learn, and their outputs in ONNX Runtime.

usage: onnx_sklearn_models.py FOLDER
"""
import pathlib
import sys
import warnings

import numpy
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from skl2onnx import to_onnx

from onnx_exported import ROWS, write, write_refused

SOURCE = numpy.random.default_rng(1)
X = (SOURCE.normal(size=(80, 5)) * [1, 10, 0.1, 3, 2] + [0, 5, 1, -20, 0]).astype("f4")
FIELDS = numpy.stack([X[:, 0] * X[:, 1], X[:, 2] - X[:, 3], X[:, 4]], 1)
CLASSES = numpy.digitize(FIELDS[:, 0], [-2, 2])


def regressor(**options):
    return MLPRegressor(hidden_layer_sizes=(12, 8), max_iter=30, random_state=1, **options)


def classifier(**options):
    return MLPClassifier(hidden_layer_sizes=(12,), max_iter=30, random_state=1, **options)


def networks():
    """Name: model, targets."""
    return {
        "regressor": (regressor(), FIELDS),
        "one": (regressor(), FIELDS[:, 0]),
        "tanh": (regressor(activation="tanh"), FIELDS),
        "linear": (regressor(activation="identity"), FIELDS),
        "standard": (make_pipeline(StandardScaler(), regressor()), FIELDS),
        "centred": (make_pipeline(StandardScaler(with_std=False), regressor()), FIELDS),
        "minmax": (make_pipeline(MinMaxScaler(), regressor()), FIELDS),
        "maxabs": (make_pipeline(MaxAbsScaler(), regressor()), FIELDS),
        "robust": (make_pipeline(RobustScaler(), regressor()), FIELDS),
        "two-scalers": (make_pipeline(StandardScaler(), MinMaxScaler(), regressor()), FIELDS),
        "classes": (classifier(), CLASSES),
        "names": (classifier(), numpy.array(["cold", "mild", "warm"])[CLASSES]),
        "two-classes": (classifier(), CLASSES > 0),
        "flags": (classifier(), (FIELDS > 0).astype(int)),
        "scaled-classes": (make_pipeline(StandardScaler(), classifier(activation="tanh")), CLASSES),
        "logistic": (make_pipeline(StandardScaler(), regressor(activation="logistic")), FIELDS),
        "affine": (make_pipeline(StandardScaler(), LinearRegression()), FIELDS),
    }


def refused():
    """Name: model, targets, words of the message."""
    return {
        "forest": (RandomForestRegressor(3, max_depth=3, random_state=1), FIELDS, "ai.onnx.ml.TreeEnsembleRegressor", "[batch, 5]"),
        "normalizer": (make_pipeline(Normalizer(), regressor()), FIELDS, "ai.onnx.ml.Normalizer", "[batch, 5]"),
        "linear-classes": (LogisticRegression(), CLASSES, "ai.onnx.ml.LinearClassifier", "[batch, 5]"),
    }


def exported(model, targets, **options):
    model.fit(X, targets)
    return to_onnx(model, X[:1], target_opset=options.pop("opset", 15), **options).SerializeToString()


def main(folder):
    warnings.filterwarnings("ignore")
    for name, (model, targets) in networks().items():
        write(folder, f"sklearn-{name}", exported(model, targets), X[:ROWS], output=-1)
    plain = {"zipmap": False}
    model = classifier()
    write(folder, "sklearn-plain-classes", exported(model, CLASSES, options={id(model): plain}, opset=18), X[:ROWS], output=-1)
    for name, (model, targets, *words) in refused().items():
        write_refused(folder, f"sklearn-{name}", exported(model, targets), "unsupported-feature", *words)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
