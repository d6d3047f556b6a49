// What of a run's state comes back from a checkpoint.
#include "mylos/train/run_state.hpp"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/writer.hpp"
#include "train/synthetic.hpp"

namespace mylos::run_state_test {

using namespace testing_support;  // NOLINT

/// Every member: another one does not compile here, and then wants its place in the checkpoint.
std::vector<double> members_of(const ScalerState& state) {
  const auto& [scale, good_steps, hysteresis_left, skipped_in_a_row, steps, overflows, increases, decreases,
               tolerated] = state;
  std::vector<double> values{static_cast<double>(scale)};
  for (const std::int64_t count :
       {good_steps, hysteresis_left, skipped_in_a_row, steps, overflows, increases, decreases, tolerated})
    values.push_back(static_cast<double>(count));
  return values;
}

TEST(RunState, EveryMemberOfTheScalerComesBack) {
  SmallRun run(small_options(DType::fp16));
  run.step();
  RankGroup& ranks = run.communicator->ranks();
  const test::SharedFolder folder(ranks);
  RunState saved;
  saved.step.step = 17;
  saved.step.updates = 11;
  saved.step.scaler = {.scale = 512,
                       .good_steps = 2,
                       .hysteresis_left = 3,
                       .skipped_in_a_row = 5,
                       .steps = 17,
                       .overflows = 6,
                       .increases = 7,
                       .decreases = 8,
                       .tolerated = 9};
  const std::string file = folder.path() + "/state.h5";
  CheckpointHeader header;
  header.step = 17;
  write_checkpoint_file(ranks, file, header, full_state(*run.trainer, saved));

  RunState restored;
  CheckpointState places = full_state(*run.trainer, restored);
  CheckpointReader(ranks, file).read(places);
  EXPECT_EQ(members_of(restored.step.scaler), members_of(saved.step.scaler));
  EXPECT_EQ(restored.step.step, 17u);
  EXPECT_EQ(restored.step.updates, 11u);
}

}  // namespace mylos::run_state_test
