"""Decks of networks of every kind of layer, and their data, for tests of ONNX files."""
import h5py
import numpy

from support.decks import layers

RUN = """[run]
peak_flops = 1e12
name = "{name}"
steps = 6
[data]
train = "{name}-data.h5"
batch = 8
normalize = "{normalize}"
{shape}[precision]
compute = "fp32"
[optimizer]
lr = 1e-2
[model]
loss = "{loss}"
"""

# Name: (model, shape of a sample, numbers of targets or classes, loss, normalisation)
NETWORKS = {
    "mlp": ('type = "mlp"\nhidden = [24, 16]\nactivation = "gelu"\nnorm = "layernorm"\ndropout = 0.1', (5,), 3, "mse", "standard"),
    "classes": ('type = "mlp"\nhidden = [24]\nnorm = "rmsnorm"\nactivation = "silu"', (9,), 4, "cross_entropy", "minmax"),
    # Of numbers so small that the epsilon of a norm counts.
    "faint": ('type = "mlp"\nhidden = [24]\nnorm = "rmsnorm"\nactivation = "silu"', (9,), 4, "mse", "none"),
    "faint-mean": ('type = "mlp"\nhidden = [24]\nnorm = "layernorm"\nactivation = "silu"', (9,), 4, "mse", "none"),
    "flags": ('type = "mlp"\nhidden = [16]\nactivation = "tanh"', (6,), 5, "binary_cross_entropy", "none"),
    "step": ('type = "mlp"\nhidden = [32]\nresidual = true\nactivation = "gelu_tanh"', (7,), 7, "l1", "standard"),
    "sure": ('type = "mlp"\nhidden = [16]\nactivation = "gelu"', (6,), 3, "gaussian", "standard"),
    "sure-plain": ('type = "mlp"\nhidden = [8]', (4,), 2, "gaussian", "none"),
    "levels": ('type = "mlp"\nhidden = [8]', (4,), 2, "quantile", "standard"),
    "levels-fields": ('type = "unet"\nchannels = [8]\nfields = 2', (8, 6, 3), 8 * 6 * 2, "quantile", "channel"),
    "sure-fields": ('type = "unet"\nchannels = [8, 8]\nfields = 2', (8, 6, 3), 8 * 6 * 2, "gaussian", "channel"),
    "kept": (layers('conv outputs = 3; kernel = 3; name = "a"; activation = "relu"',
                    'conserve skip_from = "input"; channels = [0, 2]; from_channels = [1, 0]; row_weights = [1, 0.5, 0, 2, 1, 1]',
                    'conv outputs = 2; kernel = 3', 'zero_sum'), (6, 4, 2), 6 * 4 * 2, "mse", "none"),
    "edges": (layers('conv outputs = 8; kernel = [3, 5]; edges = ["reflect", "periodic"]; activation = "relu"; name = "a"',
                     'conv outputs = 8; kernel = 3; edges = "reflect"; groups = 4; norm = "batchnorm"; activation = "relu"',
                     'conv outputs = 8; kernel = 3; dilation = 2; norm = "layernorm"; activation = "gelu"',
                     'add skip_from = "a"; activation = "tanh"',
                     'conv outputs = 8; kernel = 3; groups = 8; norm = "groupnorm"; norm_groups = 2; activation = "silu"',
                     'conv outputs = 2; kernel = 1; bias = false'), (6, 8, 3), 6 * 8 * 2, "mse", "channel"),
    "finer": (layers('conv outputs = 6; kernel = 3; stride = 2; padding = 1; name = "a"',
                     'conv outputs = 6; kernel = 4; stride = 2; padding = 1; transposed = true; edges = "periodic"; activation = "relu"',
                     'conv outputs = 4; kernel = 3; stride = 2; transposed = true; edges = "reflect"; groups = 2',
                     'average_pool kernel = 3; stride = 2; padding = 1',
                     'max_pool kernel = 2',
                     'upsample between = "linear"', 'upsample factor = [2, 3]', 'max_pool kernel = [4, 6]; name = "b"',
                     'branch skip_from = "a"; name = "c"', 'concat skip_from = "b"; name = "d"',
                     'norm norm = "rmsnorm"', 'conv outputs = 3; kernel = 3; stride = 1'), (8, 12, 2), 4 * 6 * 3, "mse", "standard"),
    "around": (layers('conv outputs = 4; kernel = 1; activation = "gelu"',
                      'max_pool kernel = 3; stride = 1; padding = 1; edges = ["reflect", "periodic"]',
                      'average_pool kernel = 3; stride = 2; padding = 1; edges = ["zero", "periodic"]',
                      'upsample between = "linear"; edges = ["reflect", "periodic"]',
                      'max_pool kernel = 3; stride = 1; padding = [1, 0]; edges = ["pole", "periodic"]',
                      'upsample factor = [1, 3]; between = "linear"; edges = ["zero", "periodic"]'),
               (8, 6, 2), 8 * 12 * 4, "mse", "channel"),
    "positive": (layers('conv outputs = 3; kernel = 3').replace('type = "chain"', 'type = "chain"\nnonnegative = ["t2", "t0"]'),
                 (6, 4, 2), 6 * 4 * 3, "mse", "channel"),
    "positive-columns": ('type = "mlp"\nhidden = [8]\nnonnegative = ["t1"]\nnonnegative_form = "relu"', (4,), 2, "mse", "standard"),
    "line": (layers('conv outputs = 6; kernel = 5; edges = "periodic"; norm = "rmsnorm"; activation = "gelu_tanh"',
                    'max_pool kernel = 2', 'upsample between = "linear"', 'conv outputs = 6; kernel = 3; edges = "reflect"; dropout = 0.2',
                    'global_pool dropout = 0.1', 'dense outputs = 12; norm = "batchnorm"; activation = "relu"', 'dense'),
             (16, 2), 4, "huber", "channel"),
    "solid": (layers('conv outputs = 6; kernel = 3; edges = "periodic"; norm = "groupnorm"; norm_groups = 3; activation = "relu"',
                     'average_pool', 'conv outputs = 4; kernel = 2; stride = 2; padding = 0; transposed = true',
                     'conv outputs = 1; kernel = 3'), (4, 6, 8, 2), 4 * 6 * 8, "relative_l2", "channel"),
    "globe": (layers('conv outputs = 6; kernel = [3, 5, 5]; edges = ["zero", "pole", "periodic"]; activation = "tanh"',
                     'pad margin = [0.25, 0.5, 0.25]; edges = ["reflect", "pole", "periodic"]', 'crop like = "conv1"',
                     'conv outputs = 2; kernel = [3, 4, 4]; stride = [1, 2, 2]; padding = 1; transposed = true; edges = ["zero", "pole", "periodic"]'),
              (4, 4, 6, 2), 4 * 8 * 12 * 2, "mse", "none"),
    "cnn": ('type = "cnn"\nchannels = [4, 8]\nhidden = [12]', (8, 8, 1), 5, "cross_entropy", "minmax"),
    "resnet": ('type = "resnet"\nchannels = [4, 8]\nblocks = 1\nnorm = "batchnorm"', (8, 8, 3), 4, "cross_entropy", "channel"),
    "vit": ('type = "vit"\npatch = [2, 4]\nwidth = 12\nheads = 3\nblocks = 2\nfields = 2', (6, 8, 3), 6 * 8 * 2, "mse", "channel"),
    "vit-classes": ('type = "vit"\npatch = 4\nwidth = 8\nheads = 2\nblocks = 1\nnorm = "rmsnorm"', (16, 2), 5, "cross_entropy", "standard"),
    "unet": ('type = "unet"\nchannels = [8, 8, 16]\nedges = "periodic"\nactivation = "gelu"\nfields = 2\nresidual = true',
             (8, 16, 2), 8 * 16 * 2, "mse", "channel"),
    "operator": ('type = "fno"\nmodes = [4, 6]\nwidth = 6\nblocks = 2\nfields = 2\nnorm = "groupnorm"', (8, 9, 3), 8 * 9 * 2, "mse",
                 "channel"),
    "operator-line": ('type = "fno"\nmodes = 8\nwidth = 4\nblocks = 2\npadding = 0.25', (12, 2), 12, "mse", "standard"),
    "operator-solid": ('type = "fno"\nmodes = [3, 4, 6]\nwidth = 3\nblocks = 1\nchannel_mlp = 0\ncoordinates = false', (4, 5, 6, 1),
                       4 * 5 * 6, "relative_l2", "channel"),
    "waves": (layers('spectral outputs = 4; modes = [7, 8]; bias = false; activation = "relu"', 'conv outputs = 1'), (7, 8, 2), 56, "mse",
              "none"),
}


def write_data(path, shape, targets, loss, samples=24):
    source = numpy.random.default_rng(len(path.name))
    columns = int(numpy.prod(shape))
    inputs = source.normal(size=(samples, columns)) * source.uniform(0.1, 3, columns) + source.normal(size=columns) * 5
    if path.name.startswith("faint"):
        inputs *= 1e-3
    with h5py.File(path, "w") as file:
        file["inputs"] = inputs.astype("f4")
        if loss == "cross_entropy":
            labels = source.integers(0, targets, samples)
            labels[:targets] = range(targets)
            file["labels"] = labels.astype("i4")
            file.attrs["classes"] = targets
        elif loss == "binary_cross_entropy":
            file["targets"] = source.integers(0, 2, (samples, targets)).astype("f4")
        else:
            file["targets"] = (source.normal(size=(samples, targets)) * 4 + 3).astype("f4")
            if path.name.startswith("positive"):
                points = columns // shape[-1] if len(shape) > 1 else 1
                file["target_names"] = [f"t{i}" for i in range(targets // points)]
                if points > 1:  # names are those of channels
                    file.attrs["shape"] = " ".join(map(str, shape))
    return inputs.astype("f4").reshape(samples, *shape)


def write_deck(folder, name):
    """Writes NAME.toml and NAME-data.h5, and returns the inputs."""
    model, shape, targets, loss, normalize = NETWORKS[name]
    deck = RUN.format(name=name, loss=loss, normalize=normalize,
                      shape=f"shape = {list(shape)}\n" if len(shape) > 1 else "") + model + "\n"
    (folder / f"{name}.toml").write_text(deck, encoding="utf-8")
    return write_data(folder / f"{name}-data.h5", shape, targets, loss)
