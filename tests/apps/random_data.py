"""Random samples of four classes and random text, for tests of what does not depend on the data."""
import h5py
import numpy


def prepare_random(command, samples, characters):
    """Writes samples.h5 and tokens.h5 into the command's folder."""
    source = numpy.random.default_rng(1)
    with h5py.File(command.folder / "samples.h5", "w") as file:
        file.attrs["classes"] = 4
        file["inputs"] = source.standard_normal((samples, 32)).astype("f4")
        file["labels"] = source.integers(0, 4, samples).astype("i4")
    (command.folder / "text.txt").write_bytes(bytes(source.integers(32, 127, characters, dtype="u1")))
    command.must("prepare", "text", "text.txt", "--out", "tokens.h5")
