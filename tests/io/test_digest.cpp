#include "mylos/io/digest.hpp"

#include <gtest/gtest.h>

#include <random>

#include "io/sha256_rounds.hpp"
#include "io/support.hpp"

namespace mylos::digest_test {

using namespace testing_support;

std::string sha256_of(const std::string& text) {
  Sha256 digest;
  digest.update(text.data(), text.size());
  return digest.finish();
}

TEST(Digest, Sha256GivesThePublishedExamples) {
  // NIST, "Cryptographic Standards and Guidelines: Examples with Intermediate Values", SHA-256, and FIPS
  // 180-2's third example.
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, FilesOfEveryLengthHaveTheDigestThatPythonComputes) {
  const TemporaryFolder folder;
  std::string bytes;
  std::string ours;
  for (int length = 0; length < 200; ++length) {
    ours += sha256_of(bytes) + "\n";
    bytes += static_cast<char>(length * 37);
  }
  EXPECT_EQ(
      python("import hashlib\nb = b''\n"
             "for i in range(200):\n  print(hashlib.sha256(b).hexdigest())\n  b += bytes([i * 37 % 256])"),
      ours);
}

TEST(Digest, PiecesAndAnOffsetIntoAFileChangeNothing) {
  const TemporaryFolder folder;
  std::string bytes(3'000'000, '\0');
  std::mt19937 random(1);
  for (char& byte : bytes) byte = static_cast<char>(random());
  write_file(folder / "bytes", bytes);
  EXPECT_EQ(sha256_of_file(folder / "bytes", 512), sha256_of(bytes.substr(512)));

  Sha256 digest;
  for (std::size_t first = 0; first < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(random() % 1000, bytes.size() - first);
    digest.update(bytes.data() + first, length);
    first += length;
  }
  EXPECT_EQ(digest.finish(), sha256_of(bytes));
}

TEST(Digest, TheProcessorsInstructionsFoldAsThePortableCode) {
  if (!has_sha_instructions()) GTEST_SKIP() << "this processor has none";
  std::mt19937 random(2);
  std::vector<std::uint8_t> blocks(64 * 20);
  for (auto& byte : blocks) byte = static_cast<std::uint8_t>(random());
  Sha256State portable{1, 2, 3, 4, 5, 6, 7, 8};
  Sha256State by_instructions = portable;
  compress_portably(portable, blocks.data(), 20);
  compress_by_sha_instructions(by_instructions, blocks.data(), 20);
  EXPECT_EQ(portable, by_instructions);
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

TEST(Digest, AMissingFileIsNamed) {
  EXPECT_EQ(error_of([] { (void)sha256_of_file("/nowhere/file"); }),
            "/nowhere/file: cannot be read: No such file or directory");
}

}  // namespace mylos::digest_test
