#include "mylos/io/files/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include "io/support.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/io/files/folder_lock.hpp"
#include "mylos/io/hdf5/hdf5.hpp"
#include "support/refusal.hpp"

namespace mylos::output_file_test {

using namespace testing_support;

/// While it exists, no file becomes longer: a write behind that fails, as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const struct rlimit small { bytes, before_.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  struct rlimit before_ {};
  void (*handler_)(int);
};

template <class Function>
testing::AssertionResult is_refused_for_its_size(const std::string& path, Function&& function) {
  return test::refuses(ExitCode::failed, errors::cannot_write, {path + ": cannot be written: ", "ulimit -f"},
                       std::forward<Function>(function));
}

TEST(OutputFile, WritesAtPlacesAndAtTheEndAndReadsBack) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  {
    OutputFile file(path, O_RDWR | O_CREAT, path);
    file.append("0123456789");
    file.write(2, "ab");
    file.append("!");
    std::string found(4, ' ');
    file.read(1, found);
    EXPECT_EQ(found, "1ab4");
    EXPECT_TRUE(
        test::refuses(ExitCode::failed, errors::cannot_read, {path + ": "}, [&] { file.read(8, found); }));
    file.sync();
    file.close();
  }
  EXPECT_EQ(read_file(path), "01ab456789!");
  OutputFile again(path, O_WRONLY, path);
  again.append("?");
  again.truncate(3);
  again.append("-");
  EXPECT_EQ(read_file(path), "01a-");
}

TEST(OutputFile, NamesTheFileThatTheDiskRefuses) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  OutputFile file(path, O_WRONLY | O_CREAT, path);
  const FileSizeLimit limit(8192);
  file.append(std::string(8000, 'x'));
  EXPECT_TRUE(is_refused_for_its_size(path, [&] { file.append(std::string(400, 'x')); }));
  EXPECT_TRUE(is_refused_for_its_size(path, [&] { file.truncate(10'000); }));
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write, {"x: ", "the disk is full"},
                            [] { fail_to_write("x", ENOSPC); }));
}

/// What a stranger may put where a file of a run belongs.
TEST(OutputFile, FollowsNoLinkAndWaitsForNoPipe) {
  const TemporaryFolder folder;
  write_file(folder / "another", "kept");
  std::filesystem::create_symlink(folder / "another", folder / "link");
  std::filesystem::create_symlink(folder / "nothing", folder / "lost");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(folder / "folder");
  for (const char* name : {"link", "lost", "pipe"}) {
    const std::string path = folder / name;
    const auto is_refused = [&](auto&& function) {
      return test::refuses(ExitCode::bad_input, errors::not_a_file, {path + ": is "}, function);
    };
    for (const int flags : {O_RDONLY, O_WRONLY | O_CREAT, O_RDWR | O_CREAT | O_TRUNC})
      EXPECT_TRUE(is_refused([&] { (void)open_regular(path, flags); }));
    EXPECT_TRUE(is_refused([&] { (void)text_of_file(path, 100); }));
    EXPECT_TRUE(is_refused([&] { (void)is_regular(path); }));
  }
  EXPECT_EQ(read_file(folder / "another"), "kept");
  EXPECT_FALSE(std::filesystem::exists(folder / "nothing"));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_a_file, {},
                            [&] { (void)open_regular(folder / "folder", O_RDONLY); }));
}

TEST(OutputFile, AFolderWhoseLockIsALinkOrAPipeIsRefused) {
  for (const bool is_pipe : {false, true}) {
    const TemporaryFolder folder;
    if (is_pipe) {
      ASSERT_EQ(mkfifo((folder / "lock").c_str(), 0600), 0);
    } else {
      std::filesystem::create_symlink(folder / "another", folder / "lock");
    }
    FolderLock lock(folder.path());
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_a_file, {folder / "lock: is "},
                              [&] { (void)lock.try_to_take(true); }));
    EXPECT_FALSE(std::filesystem::exists(folder / "another"));
  }
}

TEST(OutputFile, ReadsAWholeTextOrNoneAndNoneThatIsTooLong) {
  const TemporaryFolder folder;
  const std::string text(200'000, 'x');
  write_file(folder / "file", text);
  EXPECT_EQ(text_of_file(folder / "file", 200'000), text);
  EXPECT_EQ(text_of_file(folder / "nothing", 10), std::nullopt);
  EXPECT_EQ(text_of_file(folder / "file/nothing", 10), std::nullopt);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::too_large, {folder / "file: "},
                            [&] { (void)text_of_file(folder / "file", 199'999); }));
}

/// HDF5 keeps small data and structure in memory: some refusals come at the write, others at the flush or the
/// close. After any of them the process goes on, and HDF5 closes the file.
TEST(OutputFile, AnHdf5FileThatTheDiskRefusesIsNotWrittenAndTheProcessGoesOn) {
  const TemporaryFolder folder;
  const std::vector<float> values(300'000, 1.5F);
  for (const rlim_t bytes : {0, 96, 600, 2000, 4096, 600'000, 1'200'000}) {
    const std::string path = folder / std::to_string(bytes);
    write_file(path, "");
    const FileSizeLimit limit(bytes);
    EXPECT_TRUE(is_refused_for_its_size(path, [&] {
      hdf5::File file = hdf5::File::create(path);
      hdf5::Dataset dataset = file.create_dataset("/group/values", DType::fp32, {300'000});
      file.write_attribute("/group", "format", "a format");
      dataset.write(0, 300'000, values.data());
      file.close();
    })) << bytes;
    EXPECT_LE(std::filesystem::file_size(path), bytes);
  }
}

TEST(OutputFile, AnHdf5FileHasTheRoomOfAllThatWasCreated) {
  for (const std::int64_t user_block : {0, 512}) {
    const TemporaryFolder folder;
    hdf5::File file = hdf5::File::create(folder / "file", {.user_block = user_block});
    (void)file.create_dataset("/values", DType::fp32, {300'000});
    file.reserve();
    EXPECT_GE(file.bytes(), 1'200'000 + user_block);
    EXPECT_LE(file.bytes(), 1'210'000);
    EXPECT_EQ(std::filesystem::file_size(folder / "file"), file.bytes());
  }
}

TEST(OutputFile, AnHdf5FileIsFlushedOrRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  hdf5::File file = hdf5::File::create(path);
  for (int i = 0; i < 2000; ++i) file.create_text("/texts/" + std::to_string(i), 100).write_text("text");
  {
    const FileSizeLimit limit(100'000);
    EXPECT_TRUE(is_refused_for_its_size(path, [&] { file.flush(); }));
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(file.dataset("/texts/" + std::to_string(i)).read_text(), "text");
  }
  EXPECT_TRUE(is_refused_for_its_size(path, [&] { file.close(); })) << "what was lost stays lost";
}

}  // namespace mylos::output_file_test
