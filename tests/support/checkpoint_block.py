"""The first 512 bytes of a checkpoint, made with nothing but Python, as docs/checkpoint.md describes them."""
import hashlib
import struct
import zlib

BLOCK = 512
PIECE = 64 << 10


def digest(rest):
    """Of all that follows the block."""
    crcs = (zlib.crc32(rest[first:first + PIECE]) for first in range(0, len(rest), PIECE))
    return hashlib.sha256(b"".join(struct.pack("<I", crc) for crc in crcs)).hexdigest()


def block(rest, version=2):
    said = (f"digest {digest(rest)} (sha256 of the crc32s of every {PIECE} bytes from byte {BLOCK} on)" if version == 2 else
            f"sha256 {hashlib.sha256(rest).hexdigest()} (of bytes {BLOCK} to the end)")
    text = (f"mylos-checkpoint {version}\nbytes {BLOCK + len(rest)}\n{said}\n"
            "The rest is HDF5: h5dump and h5py read this file as it is.\n")
    return text.ljust(BLOCK - 1).encode() + b"\n"


def with_right_block(contents):
    """The file with a block that says the truth about the rest: what a stranger would hand out."""
    return block(contents[BLOCK:]) + contents[BLOCK:]
