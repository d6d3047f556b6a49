"""Random decks of samples divided over ranks ([mesh]), with their data: networks of the layers that docs/how-to/large-fields.md says can be
divided, and a few that it refuses.

What is drawn fits every box: along an axis that boxes divide, layers keep the points or divide them without a rest, and reach no further than
a neighbour. Along the other axes they may do anything.
"""
import math
import random

import h5py
import numpy

from support.decks import deck_text

AXES = ("z", "y", "x")
KINDS = {"conv": 7, "pool": 1.5, "upsample": 1, "spectral": 1.5, "norm": 1, "activation": 0.5, "join": 3, "branch": 0.5, "coordinates": 0.7}
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "tanh", "silu")
# With the boxes by which a reproducible run takes its sums; the products are at most 8.
SUMS = {1: [[2], [4], [4], [8]], 2: [[2, 1], [2, 2], [2, 2], [4, 1], [4, 2], [1, 2], [2, 4]],
        3: [[2, 1, 1], [2, 2, 1], [1, 2, 1], [1, 2, 2], [2, 2, 2], [2, 2, 2], [1, 1, 2], [4, 1, 2]]}
ROUNDED = {1: [[2], [3], [4]], 2: [[2, 1], [1, 2], [2, 2], [3, 1], [1, 3], [1, 4]], 3: [[2, 1, 1], [1, 1, 3], [1, 2, 2], [1, 3, 1]]}
WITH_NUMPY = {"conv": 7, "pool": 1.5, "upsample": 1, "norm": 1, "activation": 0.5, "join": 3, "branch": 0.5}  # that chain_oracle.py computes
MOST_NUMBERS = {"bits": 3000, "rounding": 3000, "bytes": 200000, "numpy": 900}  # of a sample, anywhere in the network
ODD = 0.12  # of the decks have something that divided samples may refuse


class DoesNotFit(Exception):
    """What is drawn next cannot follow; the deck is drawn again."""


class Deck:
    """kind: "bits", "rounding", "bytes" or "numpy"; space: the finest division; odd: what may be refused."""

    def __init__(self, seed, number, kind):
        self.kind = kind
        once = random.Random(f"{seed} {number}")  # what is drawn again must not be short for that
        self.is_short_form, self.layer_count = kind not in ("bytes", "numpy") and once.random() < 0.2, once.randint(2, 8)
        self.wanted = once.choice(["reflect", "overlap", "linear", "dropout", "positions", "relative"]) if once.random() < ODD else None
        for attempt in range(1000):
            self.source = random.Random(f"{seed} {number} {attempt}")
            try:
                self.draw()
                return
            except DoesNotFit:
                continue
        raise AssertionError("nothing fits")

    def draw(self):
        source = self.source
        self.axes = source.choice([1, 2, 2, 2, 3]) if self.kind != "bytes" else source.choice([2, 2, 3])
        self.space = source.choice((SUMS if self.kind in ("bits", "bytes") else ROUNDED)[self.axes])
        most = ({2: 40, 3: 12} if self.kind == "bytes" else {1: 12, 2: 6, 3: 4})[self.axes]
        whole = [source.randint(2, most) * boxes * source.choice([1, 2]) if boxes > 1 else source.randint(3, 2 * most) for boxes in self.space]
        self.constants = source.random() < 0.4
        self.extents, self.channels, self.layers = whole, 2 + self.constants, []
        self.start = list(whole)
        self.places, self.waiting = [("input", list(whole), self.channels)], None
        self.odd = None if self.is_short_form or self.kind in ("bytes", "numpy") else self.wanted
        self.draw_settings()
        if self.is_short_form:
            self.short_form()
        else:
            self.chain()
        if self.odd and not self.is_odd():
            raise DoesNotFit

    def is_odd(self):
        if self.odd == "relative":
            return self.model["loss"] == "relative_l2"
        return any(layer.get("odd") for layer in self.layers)

    def draw_settings(self):
        source = self.source
        self.loss = source.choice(["mse", "mse", "l1", "huber", "quantile", "gaussian"]) if self.kind != "numpy" else "mse"
        self.compute = source.choice(["fp32", "bf16", "fp16"]) if self.kind != "numpy" else "fp32"
        self.micro_batches = source.choice([1, 1, 2, 4])
        self.micro_batch = source.choice([1, 1, 2, 3]) if self.kind != "bytes" else 1
        if self.kind in ("bits", "bytes") and math.prod(self.space) * self.micro_batches > 8:
            self.micro_batches = 8 // math.prod(self.space)

    # Networks.

    def short_form(self):
        source, boxes = self.source, [extent // box for extent, box in zip(self.extents, self.space)]
        self.from_arrays, self.fields = True, 2
        if source.random() < 0.5:
            self.model = dict(type="fno", width=source.choice([4, 6, 8]), modes=[source.randint(1, min(extent, 6)) for extent in self.extents],
                              blocks=source.randint(1, 2), fields=2)
        else:
            levels = 2 if all(box % 2 == 0 and box >= 4 for box in boxes) else 1
            if max(self.extents) < 2 or levels == 1 and min(boxes) < 1:
                raise DoesNotFit
            norm = source.choice(["none", "layernorm", "rmsnorm", "groupnorm"])
            self.model = dict(type="unet", channels=[8, 16][:levels], blocks=source.randint(1, 2), fields=2, norm=norm,
                              edges=source.choice(["zero", "periodic"]), activation=source.choice(ACTIVATIONS))
        self.model["loss"] = self.loss

    def chain(self):
        source = self.source
        kinds = WITH_NUMPY if self.kind == "numpy" else KINDS
        for _ in range(self.layer_count):
            kind = source.choices(list(kinds), list(kinds.values()))[0]
            getattr(self, kind)(f"{kind}{len(self.layers) + 1}")
            if self.channels > 24 or math.prod(self.extents) * self.channels > MOST_NUMBERS[self.kind]:
                raise DoesNotFit
        if self.waiting:
            self.append(dict(kind="concat", skip_from=self.read(self.waiting)), self.extents, self.channels)
        self.return_to_the_start()
        self.from_arrays = self.kind != "numpy" and source.random() < 0.6
        self.fields = 2 if self.from_arrays else source.randint(1, 3)
        self.append(self.weighted(dict(kind="conv", name="last", outputs=self.fields)), self.extents, self.fields)
        self.model = dict(type="chain", loss=self.loss)
        if self.odd == "relative":
            self.model["loss"] = self.loss = "relative_l2"

    def append(self, layer, extents, channels):
        if min(extents) < 1 or any(extent % box for extent, box in zip(extents, self.space)):
            raise DoesNotFit
        self.layers.append(layer)
        self.extents, self.channels = list(extents), channels
        self.places.append((layer.get("name"), list(extents), channels))

    def weighted(self, layer):
        """Norms and activations."""
        source, norms = self.source, ["layernorm", "rmsnorm", "groupnorm"]
        if self.kind != "bits" and self.micro_batches == 1:
            norms.append("batchnorm")
        if layer["kind"] == "norm" or layer.get("name") != "last" and source.random() < 0.35:
            layer["norm"] = source.choice(norms)
        channels = layer.get("outputs", self.channels)
        if layer.get("norm") == "groupnorm":
            layer["norm_groups"] = source.choice([groups for groups in (1, 2, 4) if channels % groups == 0])
        elif layer.get("norm") == "batchnorm":
            layer["norm_over"] = "ranks"
        if layer["kind"] == "activation" or layer.get("name") != "last" and source.random() < 0.6:
            layer["activation"] = source.choice(ACTIVATIONS)
        if self.odd == "dropout" and layer.get("name") != "last" and source.random() < 0.4:
            layer |= dict(dropout=0.2, odd=True)
        return layer

    def conv(self, name):
        source, channels = self.source, self.channels
        groups = source.choice([1, 1, 1, channels, source.choice([g for g in range(1, channels + 1) if channels % g == 0])])
        outputs = groups * source.randint(1, max(1, 8 // groups))
        layer = dict(kind="conv", name=name, outputs=outputs, groups=groups, transposed=source.random() < 0.2, bias=source.random() < 0.8)
        axes = [self.axis_of_conv(axis, layer["transposed"]) for axis in range(self.axes)]
        for key in ("kernel", "stride", "padding", "dilation", "edges"):
            layer[key] = [axis[key] for axis in axes]
        layer["odd"] = any(axis["odd"] for axis in axes)
        self.append(self.weighted(layer), [axis["points"] for axis in axes], outputs)

    def axis_of_conv(self, axis, transposed):
        source, extent, boxes = self.source, self.extents[axis], self.space[axis]
        while True:
            kernel, dilation = source.choice([1, 2, 3, 3, 3, 4, 5, 7]), source.choice([1, 1, 1, 2])
            stride = source.choice([1, 1, 1, 2, 2, 3])
            reach = dilation * (kernel - 1)
            padding, edges = source.randint(0, reach // 2 + 1), source.choice(["zero", "periodic", "reflect"])
            if boxes > 1 or source.random() < 0.6:  # an axis that keeps its points, or divides them
                padding = source.randint(max(0, reach + 2 - stride) // 2, max(0, reach + 2 - stride) // 2 + (stride > 2))
                if not max(0, reach + 1 - stride) <= 2 * padding <= reach:
                    continue
            if transposed:
                more = min(max(stride + 2 * padding - reach - 1, 0), stride - 1)
                points = (extent - 1) * stride - 2 * padding + reach + 1 + more
            else:
                points = (extent + 2 * padding - reach - 1) // stride + 1
            odd = boxes > 1 and self.odd == "reflect" and source.random() < 0.5 and padding > 0
            if boxes > 1:
                edges = "reflect" if odd else source.choice(["zero", "periodic"])
                many, few = (points, extent) if transposed else (extent, points)
                if many != few * stride or few % boxes:
                    continue
                widest = max(padding, reach - padding)
                if widest > many // boxes or -(-widest // stride) > few // boxes:
                    continue
            if points < 1 or edges != "zero" and padding + (edges == "reflect") > (points if transposed else extent):
                continue
            return dict(kernel=kernel, stride=stride, dilation=dilation, padding=padding, edges=edges, points=points, odd=odd)

    def pool(self, name):
        source, windows, strides, paddings, odd = self.source, [], [], [], False
        for extent, boxes in zip(self.extents, self.space):
            overlaps = boxes > 1 and self.odd == "overlap" and extent > 2 * boxes
            if boxes > 1 and not overlaps:
                window = stride = source.choice([size for size in (1, 2, 3) if extent // boxes % size == 0])
                padding = 0
            elif overlaps:
                window, stride, padding, odd = 3, 1, 1, True
            else:
                window = source.choice([size for size in (1, 2, 3) if size <= extent])
                stride, padding = source.choice([1, 2, window]), source.randint(0, window // 2)
            windows, strides, paddings = windows + [window], strides + [stride], paddings + [padding]
        kind = source.choice(["max_pool", "average_pool"])
        points = [(e + 2 * p - w) // s + 1 for e, p, w, s in zip(self.extents, paddings, windows, strides)]
        self.append(dict(kind=kind, name=name, kernel=windows, stride=strides, padding=paddings, odd=odd), points, self.channels)

    def upsample(self, name):
        source = self.source
        linear = source.random() < 0.3 or self.odd == "linear"
        factors = [1 if boxes > 1 and linear and self.odd != "linear" else source.choice([1, 2, 2, 3]) for boxes in self.space]
        odd = linear and any(factor > 1 and boxes > 1 for factor, boxes in zip(factors, self.space))
        layer = dict(kind="upsample", name=name, factor=factors, odd=odd) | (dict(between="linear") if linear else {})
        self.append(layer, [extent * factor for extent, factor in zip(self.extents, factors)], self.channels)

    def spectral(self, name):
        source, outputs = self.source, self.source.choice([2, 4, 6])
        modes = [source.randint(1, min(extent, 7)) for extent in self.extents]
        modes[-1] = min(modes[-1], self.extents[-1] // 2 + 1)
        self.append(self.weighted(dict(kind="spectral", name=name, outputs=outputs, modes=modes, bias=source.random() < 0.7)), self.extents, outputs)

    def norm(self, name):
        self.append(self.weighted(dict(kind="norm", name=name)), self.extents, self.channels)

    def activation(self, name):
        if self.odd == "positions" and not self.waiting:
            return self.append(dict(kind="positions", name=name, odd=True), self.extents, self.channels)
        return self.append(self.weighted(dict(kind="activation", name=name)), self.extents, self.channels)

    def coordinates(self, name):
        self.append(dict(kind="coordinates", name=name), self.extents, self.channels + self.axes)

    def join(self, name):
        fitting = [place for place in self.places[:-1] if place[0] and place[1] == self.extents]
        if self.waiting and self.waiting in [place[0] for place in fitting]:
            fitting = [place for place in fitting if place[0] == self.waiting]
        if not fitting:
            return self.conv(name)
        earlier, _, channels = self.source.choice(fitting)
        layer = dict(name=name, skip_from=self.read(earlier))
        if channels == self.channels and self.source.random() < 0.6:
            layer |= dict(kind="add") | (dict(gated=True) if self.kind != "numpy" and self.source.random() < 0.5 else {})
        else:
            layer |= dict(kind="concat", skip_first=self.source.random() < 0.4)
            channels += self.channels
        return self.append(self.weighted(layer | dict(outputs=channels)), self.extents, channels)

    def branch(self, name):
        """The branch's input is for a later layer."""
        if self.waiting or len(self.places) < 3 or not self.places[-1][0]:
            return self.conv(name)
        earlier, extents, channels = self.source.choice(self.places[:-1])
        if extents != self.extents or earlier is None:
            return self.conv(name)
        self.waiting = self.places[-1][0]
        return self.append(dict(kind="branch", name=name, skip_from=earlier), extents, channels)

    def read(self, place):
        if place == self.waiting:
            self.waiting = None
        fits = next(extents for name, extents, _ in self.places if name == place) == self.extents
        if not fits:
            raise DoesNotFit
        return place

    def return_to_the_start(self):
        """Targets lie on the grid of the inputs."""
        factors = [start // now if start % now == 0 else 0 for start, now in zip(self.start, self.extents)]
        windows = [now // start if now % start == 0 else 0 for start, now in zip(self.start, self.extents)]
        if not all(factor or window for factor, window in zip(factors, windows)) or max(factors + windows) > 12:
            raise DoesNotFit
        if max(factors) > 1:
            extents = [extent * max(factor, 1) for extent, factor in zip(self.extents, factors)]
            self.append(dict(kind="upsample", factor=[max(factor, 1) for factor in factors]), extents, self.channels)
        if max(windows) > 1:
            self.append(dict(kind="average_pool", kernel=[max(window, 1) for window in windows]), self.start, self.channels)

    # The run.

    def deck(self):
        source = random.Random(repr(self.layers) + repr(self.model))
        layers = [{key: value for key, value in layer.items() if key not in ("odd",) and not (key == "outputs" and layer["kind"] in ("add", "concat"))}
                  for layer in self.layers]
        batch = self.micro_batch * self.micro_batches
        data = dict(train="data.h5", test="data.h5", batch=batch, micro_batch=self.micro_batch, normalize=source.choice(["none", "standard"] + ["channel"] * (self.kind != "numpy")))
        steps = 2 if self.kind == "numpy" else 3
        sections = dict(run=dict(name="mesh", steps=steps, log_every=1, evaluate_every=steps, seed=source.randrange(2 ** 40)), data=data, model=self.model,
                        precision=dict(compute=self.compute), memory=dict(times="model"), checkpoint=dict(every=1, keep_last=0))
        if self.from_arrays:
            names = " ".join(AXES[-self.axes:])
            sections["data__arrays"] = dict(inputs=["/u", "/v"], targets=["/p", "/q"], axes="sample " + names)
            if self.constants:
                sections["data__arrays"]["constants"] = ["/height"]
            if source.random() < 0.3:
                sections["data__arrays"]["mask"] = "/sea"
            elif source.random() < 0.4:
                sections["data__weights"] = dict(file="data.h5", array="/area")
        else:
            data["shape"] = [*self.start, 2 + self.constants]
        if self.loss == "quantile":
            self.model["quantiles"] = [0.1, 0.5, 0.9]
        self.draw_optimizer(source, sections)
        if self.kind == "bits":
            sections["run"]["reproducible"], sections["kernels"], sections["mesh"] = True, dict(gemm="tiles"), dict(sums=self.space)
        self.sections = sections
        return deck_text(layers=layers, **sections)

    def draw_optimizer(self, source, sections):
        if self.kind in ("rounding", "numpy"):  # whose steps are gradients
            sections["optimizer"] = dict(type="sgd", momentum=0.0, lr=1e-2, weight_decay=0.0)
            if self.compute == "fp16":
                sections["precision__scaler"] = dict(initial_scale=256)
            return
        optimizer = dict(type=source.choice(["adamw", "adamw", "adam", "lamb", "lion", "sgd"]), lr=source.choice([1e-2, 1e-3]))
        if source.random() < 0.4:
            optimizer["clip_norm"] = 0.5
        if source.random() < 0.3:
            optimizer["average"] = 0.9
        if source.random() < 0.3:
            frozen = source.choice(["*/bias", "last/*"]) if self.layers else "*/bias"
            others = any(layer["kind"] in ("conv", "spectral") for layer in self.layers[:-1])
            optimizer["groups"] = [dict(match=frozen if others else "*/bias", frozen=True)]
        sections["optimizer"] = optimizer
        if self.compute != "fp32" and source.random() < 0.15:
            sections["precision"]["masters"] = "none"
        if self.compute == "fp16" and source.random() < 0.5:  # the first steps overflow
            sections["precision__scaler"] = dict(initial_scale=source.choice([2.0 ** 24, 2.0 ** 30]), max_scale=2.0 ** 40)
        names = [layer["name"] for layer in self.layers if layer["kind"] in ("conv", "spectral")]
        if names and source.random() < 0.3:
            sections["precision"]["rules"] = {source.choice([*names, "conv"]): source.choice(["fp32", "bf16", "fp16"])}

    def write(self, path):
        numbers, samples = numpy.random.default_rng(self.source.randrange(2 ** 32)), 3 * self.micro_batch * self.micro_batches + 1
        with h5py.File(path, "w") as file:
            if not self.from_arrays:
                columns = dict(inputs=math.prod(self.start) * (2 + self.constants), targets=math.prod(self.extents) * self.fields)
                self.arrays = {name: numbers.normal(size=(samples, count)).astype("f4") for name, count in columns.items()}
                for name, values in self.arrays.items():
                    file[name] = values
                return
            for name in ("u", "v", "p", "q"):
                file[name] = numbers.normal(size=(samples, *self.start)).astype("f4")
            file["height"] = numbers.normal(size=self.start).astype("f4")
            file["area"] = numbers.uniform(0.5, 2, size=self.start).astype("f4")
            file["sea"] = (numbers.random(self.start) > 0.2).astype("i1")
