"""Writes inputs from which the fuzz targets start: well-formed files, and some that are nearly so.

usage: make_seeds.py FOLDER     FOLDER/TARGET/... are made
"""

import gzip
import io
import json
import pathlib
import struct
import sys
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
from support import checkpoint_block

INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"


def decks():
    for deck in sorted(INPUTS.glob("*.toml")):
        yield deck.read_bytes()
        yield deck.read_bytes()[:400] + b"\0optimizer.lr=1e-4"
    yield b'[precision]\nrules = { head = "fp32", "norm.*" = "bf16" }\n[memory]\nrecompute = [[0, 3], [4, 7]]\n'


def user_blocks():
    """As src/mylos/checkpoint/file/user_block.cpp writes them."""
    for rest in (b"", b"HDF5 would follow"):
        yield checkpoint_block.block(rest) + rest
    yield b"mylos-checkpoint 4\nbytes 99\n"


def tables():
    """Two bytes of options, then the table."""
    yield b"\1ca,b,c\n1,2,3\n4,5.5,-6e-3\n"
    yield b"\0\1" + b"\xef\xbb\xbf" + b'x, "y" ,label\r\n0.5,1,2\r\n\r\n1,+2,0\r\n'
    yield b"\3\1" + b"1,2,3\n4,5,6\n"
    yield b"\xff\1" + b"1;2;3\n4;5;nan\n"


def idx(*dims):
    size = 1
    for extent in dims:
        size *= extent
    header = struct.pack(">HBB", 0, 8, len(dims)) + b"".join(struct.pack(">I", extent) for extent in dims)
    return header + bytes(i % 10 for i in range(size))


def image_files():
    """Which are compressed by the target, the bytes of the labels, then labels and images."""
    labels, images = idx(4), idx(4, 5, 3)
    for compressed in (0, 1, 2, 3, 12):
        yield bytes([compressed]) + struct.pack("<H", len(labels)) + labels + images
    packed = gzip.compress(labels, mtime=0)
    yield bytes([0]) + struct.pack("<H", len(packed)) + packed + gzip.compress(images, mtime=0)
    one, huge = idx(1), struct.pack(">HBBII", 0, 8, 2, 1, 4_000_000) + bytes(4_000_000)
    yield bytes([0]) + struct.pack("<H", len(one)) + one + gzip.compress(huge, mtime=0)


def png(colour, depth, row, laced=0):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 4, 3, depth, colour, 0, 0, laced)
    palette = chunk(b"PLTE", bytes(range(48))) + chunk(b"tRNS", b"\x80") if colour == 3 else b""
    pixels = zlib.compress((b"\0" + bytes(row)) * 3)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + palette + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def pictures():
    """Whether the target corrects checksums, then the file. JPEGs where Pillow is."""
    for first in (b"\0", b"\1"):
        for colour, depth, row in ((0, 1, 1), (0, 8, 4), (0, 16, 8), (2, 8, 12), (3, 4, 2), (4, 8, 8), (6, 16, 32)):
            yield first + png(colour, depth, row)
    try:
        from PIL import Image
    except ImportError:
        return
    for mode, how in (("L", {}), ("RGB", {}), ("RGB", {"progressive": True}), ("CMYK", {})):
        file = io.BytesIO()
        Image.new(mode, (9, 7)).save(file, "JPEG", **how)
        yield b"\0" + file.getvalue()


def weights():
    """Whether the target puts the length in front, that length, then the header and the tensors."""
    header = json.dumps({
        "__metadata__": {"format": "pt"},
        "wte.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "bias": {"dtype": "BF16", "shape": [3], "data_offsets": [24, 30]},
        "scale": {"dtype": "F16", "shape": [], "data_offsets": [30, 32]},
    }).encode()
    yield b"\1" + struct.pack("<H", len(header)) + header + bytes(32)
    yield b"\0\0\0" + struct.pack("<Q", len(header)) + header + bytes(32)
    yield b"\1" + struct.pack("<H", 2) + b"{}"


def contents():
    """Zeros make the file that the reader expects, in each of its kinds."""
    for last in range(6):
        yield bytes(300) + bytes([last])


SEEDS = {"deck": decks, "user_block": user_blocks, "csv": tables, "idx": image_files, "image": pictures, "safetensors": weights,
         "dataset": contents, "checkpoint": contents}

for target, make in SEEDS.items():
    folder = pathlib.Path(sys.argv[1]) / target
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(make()):
        (folder / f"seed-{number:02}").write_bytes(seed)
