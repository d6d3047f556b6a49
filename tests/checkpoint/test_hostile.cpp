// Checkpoints with a correct digest whose contents Mylos did not write: they are rejected with their name, on
// all ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/writer.hpp"

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
  /// Returns the message when the state is read from it, or when it is described.
  std::string refusal_to_read() {
    return refusal([&] {
      test::SampleState sample;
      CheckpointState state = sample.view();
      CheckpointReader(ranks, path).read(state);
    });
  }
  std::string refusal_to_describe() {
    return refusal([&] { (void)describe_checkpoint(ranks, path); });
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string path;

 private:
  template <class Action>
  std::string refusal(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_input) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "it was taken";
    return {};
  }
};

TEST_F(Hostile, AScalarWithoutAValueIsRefused) {
  change("null_scalar");
  EXPECT_THAT(refusal_to_read(), HasSubstr("/data/position has a null dataspace, expected elements"));
}

TEST_F(Hostile, AnArrayOfATypeThatNoCheckpointHoldsIsRefused) {
  change("compound_array");
  EXPECT_THAT(refusal_to_read(), HasSubstr("has /plan/odd, which this run has not"));
  EXPECT_THAT(refusal_to_describe(), HasSubstr("dataset /plan/odd holds compound, expected uint8 or int32"));
}

TEST_F(Hostile, AnArrayOfShortIntegersIsRefused) {
  change("short_integers");
  EXPECT_THAT(refusal_to_describe(), HasSubstr("dataset /plan/odd holds uint16, expected uint8 or int32"));
}

TEST_F(Hostile, AScalarOfManyBytesIsRefused) {
  change("large_scalar");
  EXPECT_THAT(refusal_to_read(), HasSubstr("has /plan/odd, which this run has not"));
  EXPECT_THAT(refusal_to_describe(), HasSubstr("dataset /plan/odd holds opaque, expected uint8 or int32"));
}

TEST_F(Hostile, GroupsThatGoDeepEndTheWalk) {
  change("deep_groups");
  EXPECT_THAT(refusal_to_read(), HasSubstr("/d/d/d/d lies deeper than 16 groups"));
  EXPECT_THAT(refusal_to_describe(), HasSubstr("/d/d/d/d lies deeper than 16 groups"));
}

TEST_F(Hostile, AGroupThatHoldsItselfEndsNoWalk) {
  change("group_that_holds_itself");
  EXPECT_THAT(refusal_to_read(), HasSubstr("has /model/hidden0/again, which the deck's model has not"));
  EXPECT_THAT(describe_checkpoint(ranks, path), HasSubstr("digest verified"));
}

}  // namespace mylos::hostile_checkpoint_test
