"""APEBench's own code, in the environment that README.md describes: its data as .npy files, or one training.

usage: their.py data SCENARIO FOLDER | their.py train SCENARIO NETWORK STEPS SEED OUT.json
"""
import json
import pathlib
import sys
import time

import equinox
import jax
import numpy
from apebench.scenarios import difficulty

SCENARIOS = {"advection": difficulty.Advection, "burgers": difficulty.Burgers, "ks": difficulty.KuramotoSivashinskyConservative}


def scenario_of(name, steps=None):
    """With its own optimizer, apart from the number of steps: a fifth of them is the warm-up, as in its default."""
    if steps is None:
        return SCENARIOS[name]()
    return SCENARIOS[name](optim_config=f"adam;{steps};warmup_cosine;0.0;1e-3;{steps // 5}")


def write_data(name, folder):
    scenario, folder = scenario_of(name), pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    numpy.save(folder / "train.npy", numpy.asarray(scenario.get_train_data()))
    numpy.save(folder / "test.npy", numpy.asarray(scenario.get_test_data()))


def train(name, network, steps, seed, out):
    """As its run_raw() does for one seed, with the training timed alone."""
    scenario = scenario_of(name, steps)
    trainer = scenario.get_trainer(train_config="one")
    for_weights, for_order = jax.random.split(jax.random.PRNGKey(seed), 2)
    stepper = scenario.get_neural_stepper(task_config="predict", network_config=network, key=for_weights)
    begin = time.perf_counter()
    trained, losses, *_ = trainer(stepper, for_order, record_loss_every=scenario.record_loss_every)
    jax.block_until_ready(equinox.filter(trained, equinox.is_array))
    seconds = time.perf_counter() - begin
    errors = scenario.perform_tests(trained, remove_singleton_axis=True)["mean_nRMSE"]
    result = {"seconds": seconds, "errors": numpy.asarray(errors, float).ravel().tolist(), "loss": float(losses[-1])}
    pathlib.Path(out).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "data":
        write_data(*sys.argv[2:])
    else:
        train(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
