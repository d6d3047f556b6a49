// A checkpoint file that is deleted while it is written is a failure of the run, not bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/checkpoint/file/laid_out_file.hpp"

namespace mylos::laid_out_file_test {

using test::SampleState;
using testing::HasSubstr;

class LaidOut : public testing::Test {
 protected:
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string own_folder = folder.path() + "/" + std::to_string(ranks.rank());
  std::string path = own_folder + "/step.h5";
  SampleState state = SampleState::filled(1);
};

TEST_F(LaidOut, GetsItsNameWhenAllIsWritten) {
  LaidOutFile file(path, test::header_of(1), state.view());
  EXPECT_FALSE(std::filesystem::exists(path));
  file.finish(state.view(), write_pieces(file.temporary(), file.array_offsets(), state.view()));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(LaidOut, FailsTheRunWhereItsFolderIsDeletedMeanwhile) {
  LaidOutFile file(path, test::header_of(1), state.view());
  auto pieces = write_pieces(file.temporary(), file.array_offsets(), state.view());
  std::filesystem::remove_all(own_folder);
  try {
    file.finish(state.view(), std::move(pieces));
    ADD_FAILURE() << "a file without a folder was finished";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    EXPECT_EQ(error.id(), errors::cannot_read);  // back
    EXPECT_THAT(error.what(), HasSubstr("step.h5.tmp"));
  }
}

}  // namespace mylos::laid_out_file_test
