// The data that a process which writes alone reads back from disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/file/stored_datasets.hpp"
#include "mylos/checkpoint/file/user_block.hpp"

namespace mylos::contents_test {

using testing::HasSubstr;

class Contents : public testing::Test {
 protected:
  void SetUp() override { write("the block, then /first and the second array"); }
  void write(const std::string& text) const {
    if (ranks.rank() == 0) std::ofstream(path) << std::string(512, ' ') << text;
  }
  /// Two datasets of the text, as in memory.
  static std::vector<StoredDataset> stored() {
    return {{"/second", {512 + 31, 6}, crc32_of("second", 6)},
            {"/first", {512 + 16, 6}, crc32_of("/first", 6)}};
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string path = folder.path() + "/file";
};

TEST_F(Contents, HaveTheDigestThatReadersCompute) {
  if (ranks.rank() == 0) {
    EXPECT_EQ(verify_stored(path, stored()), contents_digest(path));
  }
  ranks.barrier();
}

TEST_F(Contents, ThatCameBackOtherwiseAreNamed) {
  if (ranks.rank() == 0) {
    write("the block, then /first and the sexond array");
    try {
      (void)verify_stored(path, stored());
      ADD_FAILURE() << "what came back otherwise was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::failed);
      EXPECT_EQ(error.id(), errors::damaged);
      EXPECT_THAT(error.what(), HasSubstr("/second "));
    }
  }
  ranks.barrier();
}

}  // namespace mylos::contents_test
