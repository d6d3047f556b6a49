// Damaged files are rejected before HDF5 opens them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/verify.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/io/files/piece_digest.hpp"
#include "support/refusal.hpp"

namespace mylos::damage_test {

using test::SampleState;
using testing::HasSubstr;

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    for (const int step : {100, 200}) {
      SampleState state = SampleState::filled(step);
      newest = write_checkpoint(ranks, folder.path(), test::header_of(step), state.view(), {});
    }
    ranks.barrier();
    std::ifstream file(newest, std::ios::binary);
    contents.assign(std::istreambuf_iterator<char>(file), {});
    ranks.barrier();
  }
  void replace_newest(const std::string& bytes) {
    ranks.barrier();
    if (ranks.rank() == 0) std::ofstream(newest, std::ios::binary) << bytes;
    ranks.barrier();
  }
  /// Restarts with the newest file replaced; returns whether it was skipped for this cause.
  testing::AssertionResult skips(const std::string& bytes, ErrorId id,
                                 std::initializer_list<std::string_view> parts = {}) {
    replace_newest(bytes);
    const RestartChoice choice = find_checkpoint(ranks, folder.path(), "latest");
    EXPECT_EQ(choice.path, checkpoint_path(folder.path(), 100));
    EXPECT_EQ(choice.messages.size(), 1u);
    const std::string& message = choice.messages.front();
    EXPECT_THAT(message, HasSubstr("step-0000000200.h5: "));
    for (const std::string_view part : parts) EXPECT_THAT(message, HasSubstr(std::string(part)));
    return test::refuses(ExitCode::bad_input, id, parts,
                         [&] { const CheckpointReader reader(ranks, newest); });
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string newest;
  std::string contents;
};

TEST_F(Damage, AFlippedBitIsNoticedAndThePreviousFileTaken) {
  std::string bytes = contents;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  EXPECT_TRUE(skips(bytes, errors::damaged));
}

TEST_F(Damage, AFlippedBitIsNoticedWhereverItIs) {
  if (ranks.rank() == 0) {
    for (std::size_t i = 0; i < contents.size(); i += i < 512 ? 1 : 31) {
      std::string bytes = contents;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
      std::ofstream(newest, std::ios::binary) << bytes;
      EXPECT_THROW((void)verify_contents(newest), Error) << "byte " << i;
    }
    std::ofstream(newest, std::ios::binary) << contents;
    EXPECT_NO_THROW((void)verify_contents(newest));
  }
}

TEST_F(Damage, ATruncatedFileIsNoticed) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{512}, contents.size() - 1}) {
    EXPECT_TRUE(skips(contents.substr(0, bytes), errors::truncated));
  }
  EXPECT_TRUE(skips(contents + "x", errors::damaged));
}

TEST_F(Damage, AnEmptyFileATextAndAnotherHdf5FileAreNoCheckpoints) {
  EXPECT_TRUE(skips("", errors::truncated));
  EXPECT_TRUE(skips("these are my notes\n", errors::wrong_format));
  EXPECT_TRUE(skips(contents.substr(512), errors::wrong_format));
}

TEST_F(Damage, AFormatOfAnotherProgramIsSaidToBeOne) {
  for (const std::string version : {"2", "7"}) {
    std::string bytes = contents;
    bytes.replace(bytes.find(" 3\n"), 3, " " + version + "\n");
    EXPECT_TRUE(skips(bytes, errors::unknown_version, {"version " + version, "reads 3"}));
  }
}

TEST_F(Damage, AnArrayWhoseCrcIsWrongIsNamedEvenIfTheFilesDigestIsRight) {
  const std::vector<float> bias = SampleState::filled(200).bias;
  const std::string stored(reinterpret_cast<const char*>(bias.data()), bias.size() * sizeof(float));
  std::string bytes = contents;
  const std::size_t position = bytes.find(stored);
  ASSERT_NE(position, std::string::npos);
  bytes[position + 7] = static_cast<char>(bytes[position + 7] ^ 1);
  PieceDigest digest(512);
  digest.update(reinterpret_cast<const std::byte*>(bytes.data()) + 512,
                static_cast<std::int64_t>(bytes.size()) - 512);
  bytes.replace(bytes.find("digest ") + 7, Xxh128::hex_characters, digest.finish());
  replace_newest(bytes);
  SampleState sample;
  CheckpointState state = sample.view();
  const CheckpointReader reader(ranks, newest);
  EXPECT_TRUE(test::refuses(errors::damaged, {"/model/hidden0/bias", "CRC-32"}, [&] { reader.read(state); }));
}

TEST_F(Damage, AFileGivenByNameMustItselfBeValid) {
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), newest).path, newest);
  replace_newest(contents.substr(0, 1000));
  EXPECT_THROW((void)find_checkpoint(ranks, folder.path(), newest), Error);
  EXPECT_THROW((void)find_checkpoint(ranks, folder.path(), folder.path() + "/none.h5"), Error);
}

TEST_F(Damage, WhatIsLeftOfAKilledWriteIsIgnoredAndCleared) {
  const std::string half_written = checkpoint_path(folder.path(), 300) + ".tmp";
  if (ranks.rank() == 0)
    std::ofstream(half_written, std::ios::binary) << contents.substr(0, contents.size() / 2);
  ranks.barrier();
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), "auto").path, newest);
  SampleState state = SampleState::filled(400);
  write_checkpoint(ranks, folder.path(), test::header_of(400), state.view(), {});
  EXPECT_FALSE(std::filesystem::exists(half_written));
}

}  // namespace mylos::damage_test
