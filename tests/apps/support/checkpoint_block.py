"""The first 512 bytes of a checkpoint or model file, made with nothing but Python, as docs/reference/checkpoint.md describes them."""
import struct
import zlib

import xxhash

BLOCK = 512
PIECE = 64 << 10
CHECKPOINT = "mylos-checkpoint 3"
MODEL = "mylos-model 1"


def digest(rest):
    """Of all that follows the block."""
    crcs = (zlib.crc32(rest[first:first + PIECE]) for first in range(0, len(rest), PIECE))
    return xxhash.xxh3_128_hexdigest(b"".join(struct.pack("<I", crc) for crc in crcs))


def block(rest, kind=CHECKPOINT):
    text = (f"{kind}\nbytes {BLOCK + len(rest)}\n"
            f"digest {digest(rest)} (xxh3-128 of the crc32s of every {PIECE} bytes from byte {BLOCK} on)\n"
            "The rest is HDF5: h5dump and h5py read this file as it is.\n")
    return text.ljust(BLOCK - 1).encode() + b"\n"


def with_right_block(contents, kind=CHECKPOINT):
    """The file with a block that says the truth about the rest: what a stranger would hand out."""
    return block(contents[BLOCK:], kind) + contents[BLOCK:]
