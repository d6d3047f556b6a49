"""GPT-2 by its description (Radford et al. 2019; Hugging Face's names and layout), in NumPy and double, and its files of weights.
Nothing here knows Mylos."""
import numpy

import safetensors_file


def random_weights(layers, width, context, vocabulary, tied, seed):
    """Tensors by Hugging Face's names without prefix, float32; linear layers are [inputs, outputs]."""
    source = numpy.random.default_rng(seed)

    def normal(*shape, around=0.0):
        return (around + 0.15 * source.standard_normal(shape)).astype(numpy.float32)

    tensors = {"wte.weight": normal(vocabulary, width), "wpe.weight": normal(context, width)}
    for i in range(layers):
        layer = f"h.{i}."
        for norm in ("ln_1", "ln_2"):
            tensors[layer + norm + ".weight"] = normal(width, around=1)
            tensors[layer + norm + ".bias"] = normal(width)
        for name, inputs, outputs in (("attn.c_attn", width, 3 * width), ("attn.c_proj", width, width),
                                      ("mlp.c_fc", width, 4 * width), ("mlp.c_proj", 4 * width, width)):
            tensors[layer + name + ".weight"] = normal(inputs, outputs)
            tensors[layer + name + ".bias"] = normal(outputs)
    tensors["ln_f.weight"] = normal(width, around=1)
    tensors["ln_f.bias"] = normal(width)
    if not tied:
        tensors["lm_head.weight"] = normal(vocabulary, width)
    return tensors


def config_of(layers, heads, width, context, vocabulary, tied):
    return {"model_type": "gpt2", "n_layer": layers, "n_head": heads, "n_embd": width, "n_positions": context,
            "vocab_size": vocabulary, "n_inner": None, "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5, "scale_attn_weights": True, "tie_word_embeddings": tied}


def logits(tensors, heads, tokens):
    """tokens [samples, length] -> [samples, length, vocabulary]."""
    weights = {name: tensor.astype(numpy.float64) for name, tensor in tensors.items()}

    def linear(x, name):
        return x @ weights[name + ".weight"] + weights[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / numpy.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * weights[name + ".weight"] + weights[name + ".bias"]

    def attention(x, name):
        samples, length, width = x.shape
        q, k, v = (part.reshape(samples, length, heads, width // heads).transpose(0, 2, 1, 3)
                   for part in numpy.split(linear(x, name + ".c_attn"), 3, axis=-1))
        scores = q @ k.transpose(0, 1, 3, 2) / numpy.sqrt(width // heads)
        scores = numpy.where(numpy.tri(length, dtype=bool), scores, -numpy.inf)
        scores = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ v
        return linear(mixed.transpose(0, 2, 1, 3).reshape(samples, length, width), name + ".c_proj")

    def gelu_new(x):
        return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x ** 3)))

    x = weights["wte.weight"][tokens] + weights["wpe.weight"][:tokens.shape[1]]
    layer = 0
    while f"h.{layer}.ln_1.weight" in weights:
        name = f"h.{layer}."
        x = x + attention(norm(x, name + "ln_1"), name + "attn")
        x = x + linear(gelu_new(linear(norm(x, name + "ln_2"), name + "mlp.c_fc")), name + "mlp.c_proj")
        layer += 1
    return norm(x, "ln_f") @ weights.get("lm_head.weight", weights["wte.weight"]).T


def to_bf16(values):
    """float32 -> bits of the nearest bfloat16, ties to even."""
    bits = values.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


def from_bf16(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def rounded(values, word):
    if word == "BF16":
        return from_bf16(to_bf16(values))
    return values.astype(numpy.float16).astype(numpy.float32) if word == "F16" else values


def write_safetensors(path, tensors, word="F32"):
    """All but flags are stored in one type."""
    types = {"F32": lambda values: values.astype(numpy.float32), "F16": lambda values: values.astype(numpy.float16), "BF16": to_bf16}
    safetensors_file.write(path, {name: tensor if tensor.dtype == bool else types[word](tensor) for name, tensor in tensors.items()})


def read_safetensors(path):
    """Weights by name as float32, and the words of their types; without a normalisation, which is in doubles."""
    metadata, stored = safetensors_file.read(path)
    assert metadata["format"] == "pt"
    tensors, words = {}, set()
    for name, values in stored.items():
        word = safetensors_file.WORDS[str(values.dtype)]
        if name.startswith("normalization."):
            assert word == "F64", (name, word)
            continue
        assert word in ("F32", "F16", "BF16"), (name, word)
        words.add(word)
        tensors[name] = from_bf16(values) if word == "BF16" else values.astype(numpy.float32)
    return tensors, words
