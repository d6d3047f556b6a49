#include "mylos/io/files/raw_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "io/support.hpp"
#include "mylos/base/errors/files.hpp"
#include "support/refusal.hpp"

namespace mylos::raw_file_test {

using namespace testing_support;

std::string read_from(const std::string& path, std::int64_t first, RawFile::Cache cache) {
  std::string bytes;
  RawFile(path, RawFile::Access::read, cache).read(first, [&](const std::byte* data, std::int64_t count) {
    bytes.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(count));
  });
  return bytes;
}

/// Bypasses the cache if the folder's file system supports it: /tmp often does, /dev/shm does not.
class CachedAndDirect : public testing::TestWithParam<RawFile::Cache> {
 protected:
  TemporaryFolder folder;
};
INSTANTIATE_TEST_SUITE_P(RawFile, CachedAndDirect,
                         testing::Values(RawFile::Cache::use, RawFile::Cache::bypass));

TEST_P(CachedAndDirect, WritesBetweenWhatIsThere) {
  const std::int64_t piece = RawFile::piece_bytes;
  const std::pair<std::int64_t, std::int64_t> ranges[] = {
      {0, 1}, {5, 4000}, {4095, 2}, {4096, 4096}, {100, 9000}, {8191, piece + 1}, {777, 2 * piece + 12345}};
  for (const auto& [offset, bytes] : ranges) {
    SCOPED_TRACE(fmt::format("{} bytes at {}", bytes, offset));
    std::string expected = random_bytes(static_cast<std::size_t>(offset + bytes) + 5000);
    write_file(folder / "file", expected);
    const std::string inserted = random_bytes(static_cast<std::size_t>(bytes) + 1).substr(1);
    std::int64_t filled = 0;
    RawFile(folder / "file", RawFile::Access::write, GetParam())
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

TEST_P(CachedAndDirect, ReadsFromAnywhereToTheEnd) {
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

TEST_P(CachedAndDirect, ReadsWhatItMayNotWrite) {
  write_file(folder / "file", "what is there");
  std::filesystem::permissions(folder / "file", std::filesystem::perms::owner_read);
  EXPECT_EQ(read_from(folder / "file", 5, GetParam()), "is there");
}

/// Returns the bytes of the file in the page cache.
std::size_t cached_bytes(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(mapped, bytes, pages.data()), 0);
  ::munmap(mapped, bytes);
  ::close(file);
  return 4096 * static_cast<std::size_t>(
                    std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

/// Returns true on file systems that store files in the page cache; newer kernels accept O_DIRECT there as
/// well.
bool is_page_cache_alone(int file) {
  struct statfs status {};
  EXPECT_EQ(::fstatfs(file, &status), 0);
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

TEST(RawFile, GoesPastThePageCacheWhereTheFileSystemCan) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file(path, "");
  const int direct = ::open(path.c_str(), O_RDWR | O_DIRECT);
  if (direct < 0 || is_page_cache_alone(direct)) GTEST_SKIP() << "no direct transfers in " << folder.path();
  ::close(direct);
  const std::int64_t bytes = 2 * RawFile::piece_bytes;
  RawFile(path, RawFile::Access::write, RawFile::Cache::bypass)
      .write(0, bytes, [](std::byte* buffer, std::int64_t, std::int64_t count) {
        std::memset(buffer, 1, static_cast<std::size_t>(count));
      });
  EXPECT_EQ(cached_bytes(path, static_cast<std::size_t>(bytes)), 0u);
  EXPECT_EQ(read_from(path, 0, RawFile::Cache::bypass).size(), static_cast<std::size_t>(bytes));
  EXPECT_EQ(cached_bytes(path, static_cast<std::size_t>(bytes)), 0u);
}

TEST_P(CachedAndDirect, NamesTheFileThatCannotBeOpenedOrWritten) {
  const std::string none = folder / "none";
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_read, {none + ": ", "No such file or directory"},
                            [&] { RawFile(none, RawFile::Access::read, GetParam()); }));
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write,
                            {none + ": ", "No such file or directory"},
                            [&] { RawFile(none, RawFile::Access::write, GetParam()); }));
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write, {"/dev/full: ", "the disk is full"}, [&] {
    RawFile("/dev/full", RawFile::Access::write, GetParam())
        .write(0, 4096, [](std::byte* buffer, std::int64_t, std::int64_t count) {
          std::memset(buffer, 1, static_cast<std::size_t>(count));
        });
  }));
}

}  // namespace mylos::raw_file_test
