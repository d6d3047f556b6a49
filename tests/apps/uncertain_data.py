"""Samples whose noise depends on the input, and decks of networks for them, for tests of uncertainties."""
import h5py
import numpy

DECK = """[run]
peak_flops = 1e12
name = "{name}"
epochs = {epochs}
[data]
train = "train.h5"
test = "test.h5"
validation = 0.25
batch = 50
normalize = "standard"
[model]
type = "mlp"
hidden = [24]
loss = "{loss}"
[precision]
compute = "fp32"
[optimizer]
lr = 1e-2
"""


def draw(samples, seed):
    """Three inputs, and two targets of very different units whose noise grows with the first input's size."""
    random = numpy.random.default_rng(seed)
    x = random.uniform(-2, 2, (samples, 3))
    noise = (0.1 + 0.4 * numpy.abs(x[:, :1])) * random.normal(size=(samples, 2))
    y = numpy.stack([numpy.sin(x[:, 0]) + x[:, 1], x[:, 1] * x[:, 2]], axis=1) + noise
    return x.astype("f4"), (y * [1, 300] + [5, -2000]).astype("f4")


def write(folder, name, samples, seed):
    inputs, targets = draw(samples, seed)
    with h5py.File(folder / name, "w") as file:
        file["inputs"] = inputs
        file["targets"] = targets
        file["target_names"] = ["lift", "drag"]
    return targets.astype("f8")
