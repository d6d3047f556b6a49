#include "mylos/io/raw_file.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "io/support.hpp"

namespace mylos::raw_file_test {

using namespace testing_support;

std::string read_from(const std::string& path, std::int64_t first, RawFile::Cache cache) {
  std::string bytes;
  RawFile(path, cache).read(first, [&](const std::byte* data, std::int64_t count) {
    bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count));
  });
  return bytes;
}

/// Past the cache where the folder's file system can: /tmp often can, /dev/shm cannot.
class BothWays : public testing::TestWithParam<RawFile::Cache> {
 protected:
  TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(RawFile, BothWays, testing::Values(RawFile::Cache::use, RawFile::Cache::bypass));

TEST_P(BothWays, WritesBetweenWhatIsThere) {
  const std::int64_t piece = RawFile::piece_bytes;
  const std::pair<std::int64_t, std::int64_t> places[] = {
      {0, 1}, {5, 4000}, {4095, 2}, {4096, 4096}, {100, 9000}, {8191, piece + 1}, {777, 2 * piece + 12345}};
  for (const auto& [offset, bytes] : places) {
    SCOPED_TRACE(fmt::format("{} bytes at {}", bytes, offset));
    std::string expected = random_bytes(static_cast<std::size_t>(offset + bytes) + 5000);
    write_file(folder / "file", expected);
    const std::string inserted = random_bytes(static_cast<std::size_t>(bytes) + 1).substr(1);
    std::int64_t filled = 0;
    RawFile(folder / "file", GetParam())
        .write(offset, bytes, [&](std::byte* buffer, std::int64_t first, std::int64_t count) {
          EXPECT_EQ(first, filled);
          std::memcpy(buffer, inserted.data() + first, static_cast<std::size_t>(count));
          filled += count;
        });
    EXPECT_EQ(filled, bytes);
    expected.replace(static_cast<std::size_t>(offset), inserted.size(), inserted);
    EXPECT_TRUE(read_file(folder / "file") == expected);
  }
}

TEST_P(BothWays, ReadsFromAnywhereToTheEnd) {
  for (const std::int64_t length :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{4096}, RawFile::piece_bytes,
        2 * RawFile::piece_bytes + 4096, RawFile::piece_bytes + 513}) {
    const std::string bytes = random_bytes(static_cast<std::size_t>(length));
    write_file(folder / "file", bytes);
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{512}, std::int64_t{4096}, length}) {
      if (first > length) continue;
      EXPECT_TRUE(read_from(folder / "file", first, GetParam()) ==
                  bytes.substr(static_cast<std::size_t>(first)))
          << length << " bytes from " << first;
    }
  }
}

TEST_P(BothWays, NamesTheFileThatCannotBeOpenedOrWritten) {
  EXPECT_THROW(RawFile(folder / "none", GetParam()), Error);
  try {
    RawFile("/dev/full", GetParam()).write(0, 4096, [](std::byte* buffer, std::int64_t, std::int64_t count) {
      std::memset(buffer, 1, static_cast<std::size_t>(count));
    });
    ADD_FAILURE() << "a full disk took bytes";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "/dev/full: 4096 bytes cannot be written at byte 0: No space left on device");
  }
}

}  // namespace mylos::raw_file_test
