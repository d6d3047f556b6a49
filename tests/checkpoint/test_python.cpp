// Other programs read checkpoints: h5py with Python's own CRC-32 and XXH3, and h5dump.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/write/writer.hpp"

namespace mylos::python_test {

class Python : public testing::Test {
 protected:
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(Python, NamesShapesValuesAndDigestsAreWhatPythonFinds) {
  if (test::on_rank_0(ranks, "/usr/bin/python3 -c 'import h5py, xxhash' 2>/dev/null") != 0)
    GTEST_SKIP() << "there is no h5py or xxhash";
  test::SampleState state = test::SampleState::filled(500);
  const std::string path = write_checkpoint(ranks, folder.path(), test::header_of(500), state.view(), {});
  EXPECT_EQ(test::on_rank_0(ranks, fmt::format("/usr/bin/python3 {}/check_checkpoint.py {} {}",
                                               MYLOS_TEST_SCRIPTS, path, ranks.size())),
            0);
}

TEST_F(Python, H5dumpPrintsTheFile) {
  if (test::on_rank_0(ranks, "command -v " MYLOS_H5DUMP " > /dev/null") != 0)
    GTEST_SKIP() << "there is no h5dump";
  test::SampleState state = test::SampleState::filled(3);
  const std::string path = write_checkpoint(ranks, folder.path(), test::header_of(3), state.view(), {});
  EXPECT_EQ(test::on_rank_0(ranks, fmt::format("{} -d /model/hidden0/bias {} | grep -q '0.333333, 0.25, 0.2'",
                                               MYLOS_H5DUMP, path)),
            0);
  EXPECT_EQ(
      test::on_rank_0(ranks, fmt::format("head -c 512 {} | grep -q '^digest [0-9a-f]\\{{32\\}} '", path)), 0);
}

}  // namespace mylos::python_test
