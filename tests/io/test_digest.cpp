#include "mylos/io/files/digest.hpp"

#include <gtest/gtest.h>

#include <random>

#include "io/support.hpp"

namespace mylos::digest_test {

using namespace testing_support;

std::string xxh128_of(const std::string& text) {
  Xxh128 digest;
  digest.update(text.data(), text.size());
  return digest.digest();
}

TEST(Digest, Xxh128GivesThePublishedExamples) {
  // xxHash's own self-test, cli/xsum_sanity_check.c: no bytes, and one that is 0, with seed 0.
  EXPECT_EQ(xxh128_of(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh128_of(std::string(1, '\0')), "a6cd5e9392000f6ac44bdff4074eecdb");
}

TEST(Digest, Xxh128IsWhatPythonComputes) {
  // XXH3 has separate code paths for up to 16, 128, 240 and more bytes; longer inputs consist of blocks of
  // 1024 bytes.
  std::string ours;
  for (std::size_t length = 0; length < 3000; length += length < 300 ? 1 : 37) {
    std::string bytes(length, '\0');
    for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i * 37 % 256);
    ours += xxh128_of(bytes) + "\n";
  }
  EXPECT_EQ(python("import xxhash\n"
                   "for n in [*range(300), *range(300, 3000, 37)]:\n"
                   "  print(xxhash.xxh3_128_hexdigest(bytes(i * 37 % 256 for i in range(n))))"),
            ours);
}

TEST(Digest, PiecesChangeNothing) {
  std::string bytes(300'000, '\0');
  std::mt19937 random(1);
  for (char& byte : bytes) byte = static_cast<char>(random());
  Xxh128 digest;
  for (std::size_t first = 0; first < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(random() % 1000, bytes.size() - first);
    digest.update(bytes.data() + first, length);
    first += length;
  }
  EXPECT_EQ(digest.digest(), xxh128_of(bytes));
}

TEST(Digest, Crc32IsZlibsAndJoinsOverSlices) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32_of(text.data(), text.size()), 0xcbf43926u);  // the check value of CRC-32/ISO-HDLC
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto first = crc32_of(text.data(), cut);
    const auto second = crc32_of(text.data() + cut, text.size() - cut);
    EXPECT_EQ(crc32_joined(first, second, static_cast<std::int64_t>(text.size() - cut)), 0xcbf43926u);
    EXPECT_EQ(crc32_of(text.data() + cut, text.size() - cut, first), 0xcbf43926u);
  }
}

}  // namespace mylos::digest_test
