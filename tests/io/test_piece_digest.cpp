#include "mylos/io/files/piece_digest.hpp"

#include <gtest/gtest.h>

#include <random>

#include "io/support.hpp"

namespace mylos::piece_digest_test {

using namespace testing_support;

/// Computes the digest in updates of random lengths up to `most`.
void feed(PieceDigest& digest, const std::string& bytes, std::size_t most) {
  std::mt19937 random(7);
  for (std::size_t first = 0; first < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(random() % most + 1, bytes.size() - first);
    digest.update(reinterpret_cast<const std::byte*>(bytes.data()) + first,
                  static_cast<std::int64_t>(length));
    first += length;
  }
}

TEST(PieceDigest, IsWhatPythonComputes) {
  const TemporaryFolder folder;
  for (const std::size_t length : {0u, 1u, 65535u, 65536u, 65537u, 300000u}) {
    const std::string bytes = random_bytes(length);
    write_file(folder / "bytes", bytes);
    PieceDigest digest(512);
    feed(digest, bytes, 20000);
    EXPECT_EQ(python("import struct, xxhash, zlib\n"
                     "b = open('" +
                     (folder / "bytes") +
                     "', 'rb').read()\n"
                     "crcs = [zlib.crc32(b[i:i + 65536]) for i in range(0, len(b), 65536)]\n"
                     "print(xxhash.xxh3_128_hexdigest(b''.join(struct.pack('<I', c) for c in crcs)))"),
              digest.finish() + "\n")
        << length;
  }
}

TEST(PieceDigest, GivesTheCrcOfEachRangeWhereverItLies) {
  const std::string bytes = random_bytes(400000);
  // Ranges out of order, at both ends, adjacent, empty, within a piece and over several.
  const std::vector<ByteRange> ranges = {{300000, 100000}, {0, 0},      {100, 7},
                                         {107, 65536},     {200000, 1}, {0, 100}};
  for (const std::size_t most : {std::size_t{1000}, std::size_t{500000}}) {
    std::vector<ByteRange> in_file = ranges;
    for (ByteRange& range : in_file) range.offset += 512;
    PieceDigest digest(512, in_file);
    feed(digest, bytes, most);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(digest.range_crcs()[i],
                crc32_of(bytes.data() + ranges[i].offset, static_cast<std::size_t>(ranges[i].bytes)))
          << "range " << i;
    }
    PieceDigest plain(512);
    feed(plain, bytes, 99999);
    EXPECT_EQ(digest.finish(), plain.finish());
  }
}

TEST(PieceDigest, SeesEverySingleBit) {
  std::string bytes = random_bytes(70000);
  PieceDigest right(0);
  feed(right, bytes, 70000);
  const std::string expected = right.finish();
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += 1237) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    PieceDigest digest(0);
    feed(digest, bytes, 70000);
    EXPECT_NE(digest.finish(), expected) << "bit " << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

}  // namespace mylos::piece_digest_test
