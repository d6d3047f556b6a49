"""Random samples of four classes and random text, for tests of what does not depend on the data."""
import numpy

from support.data_files import write_data


def prepare_random(command, samples, characters):
    """Writes samples.h5 and tokens.h5 into the command's folder."""
    source = numpy.random.default_rng(1)
    write_data(command.folder / "samples.h5", classes=4, inputs=source.standard_normal((samples, 32)).astype("f4"),
               labels=source.integers(0, 4, samples).astype("i4"))
    (command.folder / "text.txt").write_bytes(bytes(source.integers(32, 127, characters, dtype="u1")))
    command.must("prepare", "text", "text.txt", "--out", "tokens.h5")
