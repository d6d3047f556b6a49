// Checkpoints with a correct digest whose contents Mylos did not write: they are rejected with their name, on
// all ranks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::hostile_checkpoint_test {

using testing::HasSubstr;

class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    if (test::on_rank_0(ranks, "/usr/bin/python3 -c 'import h5py, xxhash' 2>/dev/null") != 0)
      GTEST_SKIP() << "there is no h5py or xxhash";
    test::SampleState state = test::SampleState::filled(500);
    path = write_checkpoint(ranks, folder.path(), test::header_of(500), state.view(), {});
  }
  void change(const std::string& how) {
    ASSERT_EQ(test::on_rank_0(ranks, fmt::format("/usr/bin/python3 {}/hostile_checkpoint.py {} {}",
                                                 MYLOS_TEST_SCRIPTS, path, how)),
              0);
  }
  using Parts = std::initializer_list<std::string_view>;
  /// Returns whether the file is refused when the state is read from it, or when it is described.
  testing::AssertionResult refuses_to_read(ErrorId id, Parts parts) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] {
      test::SampleState sample;
      CheckpointState state = sample.view();
      CheckpointReader(ranks, path).read(state);
    });
  }
  testing::AssertionResult refuses_to_describe(ErrorId id, Parts parts) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] { (void)describe_checkpoint(ranks, path); });
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string path;
};

TEST_F(Hostile, AScalarWithoutAValueIsRefused) {
  change("null_scalar");
  EXPECT_TRUE(refuses_to_read(errors::bad_dataset, {"/data/position ", "null dataspace"}));
}

TEST_F(Hostile, AnArrayOfATypeThatNoCheckpointHoldsIsRefused) {
  change("compound_array");
  EXPECT_TRUE(refuses_to_read(errors::restart_mismatch, {"has /plan/odd"}));
  EXPECT_TRUE(refuses_to_describe(errors::bad_dataset, {"/plan/odd holds compound", "uint8 or int32"}));
}

TEST_F(Hostile, AnArrayOfShortIntegersIsRefused) {
  change("short_integers");
  EXPECT_TRUE(refuses_to_describe(errors::bad_dataset, {"/plan/odd holds uint16", "uint8 or int32"}));
}

TEST_F(Hostile, AScalarOfManyBytesIsRefused) {
  change("large_scalar");
  EXPECT_TRUE(refuses_to_read(errors::restart_mismatch, {"has /plan/odd"}));
  EXPECT_TRUE(refuses_to_describe(errors::bad_dataset, {"/plan/odd holds opaque", "uint8 or int32"}));
}

TEST_F(Hostile, GroupsThatGoDeepEndTheWalk) {
  change("deep_groups");
  EXPECT_TRUE(refuses_to_read(errors::too_large, {"/d/d/d/d ", "16 groups"}));
  EXPECT_TRUE(refuses_to_describe(errors::too_large, {"/d/d/d/d ", "16 groups"}));
}

TEST_F(Hostile, AGroupThatHoldsItselfEndsNoWalk) {
  change("group_that_holds_itself");
  EXPECT_TRUE(refuses_to_read(errors::model_mismatch, {"has /model/hidden0/again"}));
  EXPECT_THAT(describe_checkpoint(ranks, path), HasSubstr("digest verified"));
}

}  // namespace mylos::hostile_checkpoint_test
