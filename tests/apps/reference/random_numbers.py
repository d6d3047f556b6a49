"""Philox4x32-10 and what docs/reference/formulas.md makes of it: streams, uniform and normal numbers, permutations."""
import numpy

WORD, WIDE = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
INITIAL_WEIGHTS, ORDER = 1, 3


def philox(counter, key):
    """counter: four arrays of 32-bit words; key: two words. Four arrays of words."""
    c = [numpy.asarray(word, dtype=numpy.uint64) for word in counter]
    k = [numpy.uint64(word) for word in key]
    for _ in range(10):
        first, second = numpy.uint64(0xD2511F53) * c[0], numpy.uint64(0xCD9E8D57) * c[2]
        c = [(second >> numpy.uint64(32)) ^ c[1] ^ k[0], second & numpy.uint64(WORD),
             (first >> numpy.uint64(32)) ^ c[3] ^ k[1], first & numpy.uint64(WORD)]
        k = [numpy.uint64((int(word) + bump) & WORD) for word, bump in zip(k, (0x9E3779B9, 0xBB67AE85))]
    return c


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & WIDE
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WIDE
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WIDE
    return x ^ (x >> 31)


def fnv(name):
    value = 14695981039346656037
    for byte in name.encode():
        value = ((value ^ byte) * 1099511628211) & WIDE
    return value


class Stream:
    def __init__(self, seed, purpose, name):
        key = mix(mix(seed) ^ mix(purpose ^ fnv(name)))
        self.key = key & WORD, key >> 32

    def block(self, step, sample, block):
        """The four words of elements 4 * block to 4 * block + 3; block may be an array, and sample too."""
        sample = numpy.asarray(sample, dtype=numpy.uint64)
        high = numpy.uint64((step >> 32) << 16) | (sample >> numpy.uint64(32))
        counter = numpy.broadcast_arrays(block, sample & numpy.uint64(WORD), step & WORD, high)
        return philox(counter, self.key)

    def wide(self, step, sample):
        """The first two words as one number."""
        words = self.block(step, sample, 0)
        return int(words[0]) << 32 | int(words[1])

    def uniform(self, rows, columns):
        """[rows, columns], at step 0."""
        blocks = self.block(0, numpy.arange(rows)[:, None], numpy.arange((columns + 3) // 4)[None, :])
        words = numpy.stack(blocks, axis=-1).reshape(rows, -1)[:, :columns]
        return (words >> numpy.uint64(8)).astype(numpy.float64) / 2 ** 24

    def normal(self, rows, columns):
        pairs = self.uniform(rows, (columns + 3) // 4 * 4).reshape(rows, -1, 2)
        radius, angle = numpy.sqrt(-2 * numpy.log1p(-pairs[..., 0])), 2 * numpy.pi * pairs[..., 1]
        both = numpy.stack([radius * numpy.cos(angle), radius * numpy.sin(angle)], axis=-1)
        return both.reshape(rows, -1)[:, :columns]


def scramble(x):
    """The finaliser of MurmurHash3, 64 bits."""
    x = ((x ^ (x >> 33)) * 0xFF51AFD7ED558CCD) & WIDE
    x = ((x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53) & WIDE
    return x ^ (x >> 33)


def permutation(size, key):
    """Where each of [0, size) goes."""
    bits = max(8, (size - 1).bit_length())
    low_bits = bits // 2
    low_mask, high_mask = (1 << low_bits) - 1, (1 << (bits - low_bits)) - 1
    keys = []
    for _ in range(8):
        key = scramble((key + 0x9E3779B97F4A7C15) & WIDE)
        keys.append(key)

    def network(index):
        low, high = index & low_mask, index >> low_bits
        for first, second in zip(keys[::2], keys[1::2]):
            high ^= scramble((low + first) & WIDE) & high_mask
            low ^= scramble((high + second) & WIDE) & low_mask
        return high << low_bits | low

    images = []
    for index in range(size):
        image = network(index)
        while image >= size:
            image = network(image)
        images.append(image)
    return images
