"""What eval measures of predicted deviations is what the package uncertainty-toolbox computes. Without the package: code 77."""
import sys

import h5py

import uncertain_data
from support.cases import run_cases

try:
    import uncertainty_toolbox
except ImportError:
    print("uncertainty_toolbox is not installed (pip install uncertainty-toolbox)")
    sys.exit(77)


def check_measures(command):
    for name, samples, seed in (("train.h5", 800, 1), ("test.h5", 300, 2)):
        uncertain_data.write(command.folder, name, samples, seed)
    command.write("deck.toml", uncertain_data.network("gaussian", "gaussian", epochs=8))
    command.must("train", "deck.toml")
    command.must("predict", "runs/gaussian", "test.h5", "out.h5")
    with h5py.File(command.folder / "out.h5") as out, h5py.File(command.folder / "test.h5") as test:
        means, deviations, targets = (values[:].astype("f8").ravel()
                                      for values in (out["outputs"], out["standard_deviation"], test["targets"]))
    of = (means, deviations, targets)
    expected = {"calibration_error": uncertainty_toolbox.mean_absolute_calibration_error(*of, vectorized=True),
                "rms_calibration_error": uncertainty_toolbox.root_mean_squared_calibration_error(*of, vectorized=True),
                "miscalibration_area": uncertainty_toolbox.miscalibration_area(*of, vectorized=True),
                "sharpness": uncertainty_toolbox.sharpness(deviations), "crps": uncertainty_toolbox.crps_gaussian(*of)}
    uncertain_data.require_measures(uncertain_data.measured(command, "runs/gaussian")[0], expected)
    uncertain_data.require_measures(uncertain_data.measures_by_numpy(*of), expected)


run_cases(check_measures)
