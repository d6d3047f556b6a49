// Folders of images that Python scripts draw.
#pragma once

#include <string>

#include "data/builders.hpp"

namespace mylos::testing_support {

/// Functions for the scripts. `draw(height, width, *channels)` returns random pixels. `png(path, x, colour,
/// depth, laced=False)` writes a PNG of any kind with zlib alone, independently of libpng and Pillow.
/// `image(path, x)` writes the format of the name with Pillow. `folder` is the script's folder.
inline std::string drawing_in(const std::string& folder) {
  return "import os, struct, zlib, numpy as n, h5py\nfrom PIL import Image\n"
         "os.chdir('" +
         folder +
         "')\nsource = n.random.default_rng(3)\n"
         "def draw(*shape, most=256): return source.integers(0, most, shape).astype('u2' if most > 256 else "
         "'u1')\n"
         "def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', "
         "zlib.crc32(kind + data))\n"
         "def png(path, x, colour, depth, laced=False, more=b''):\n"
         "    h, w = x.shape[:2]\n"
         "    def lines(part):\n"
         "        part = part.reshape(part.shape[0], -1)\n"
         "        if not part.size: return b''\n"
         "        if depth == 16: rows = part.astype('>u2').view('u1')\n"
         "        elif depth == 8: rows = part.astype('u1')\n"
         "        else: rows = n.packbits((part[:, :, None] >> n.arange(depth)[::-1] & 1).astype('u1')"
         ".reshape(len(part), -1), axis=1)\n"
         "        return b''.join(b'\\0' + row.tobytes() for row in rows)\n"
         "    adam = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), "
         "(1, 0, 2, 1)]\n"
         "    data = b''.join(lines(x[a::c, b::d]) for a, b, c, d in adam) if laced else lines(x)\n"
         "    open(path, 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, "
         "h, depth, "
         "colour, 0, 0, laced)) + more + chunk(b'IDAT', zlib.compress(data)) + chunk(b'IEND', b''))\n"
         "def image(path, x, **how): Image.fromarray(x).save(path, **how)\n"
         "def luma(x): x = x.astype('i8'); return (19595 * x[..., 0] + 38470 * x[..., 1] + 7471 * x[..., 2] "
         "+ 32768) >> 16\n";
}

}  // namespace mylos::testing_support
