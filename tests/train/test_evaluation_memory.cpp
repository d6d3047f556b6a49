// An evaluation takes the memory that is stated of it, and gives it back.
#include <gtest/gtest.h>

#include "mylos/train/evaluation/evaluation.hpp"
#include "train/allocations.hpp"
#include "train/constant_pass.hpp"
#include "train/memory_world.hpp"

namespace mylos::evaluation_memory_test {

using namespace testing_support;  // NOLINT

TEST(EvaluationMemory, IsWhatIsStatedAndGivenBack) {
  const World world(small_options(DType::fp32));
  const auto trainer = world.trainer(plan_memory(world.problem(std::size_t{1} << 40)));
  TrainingModel& model = trainer->model();
  ConstantPass pass(model.samples(), model.chain().input_type());
  const AllocationsByLabel allocations;
  const Evaluation found =
      evaluate(trainer->quiesce(), {trainer->execution(), *world.engines, model}, *world.communicator, pass);
  EXPECT_EQ(found.count, 2 * model.samples() * world.communicator->size());
  EXPECT_EQ(AllocationsByLabel::peak(), evaluation_bytes(model.chain(), model.samples()));
  EXPECT_EQ(AllocationsByLabel::total(), 0u);
}

TEST(EvaluationMemory, WithMeasuresIsWhatIsStated) {
  const World world(small_options(DType::bf16));
  const auto trainer = world.trainer(plan_memory(world.problem(std::size_t{1} << 40)));
  TrainingModel& model = trainer->model();
  ConstantPass pass(model.samples(), model.chain().input_type());
  const std::vector measures{Measure::top5, Measure::confusion};
  const AllocationsByLabel allocations;
  const Evaluation found = evaluate(trainer->quiesce(), {trainer->execution(), *world.engines, model},
                                    *world.communicator, pass, measures);
  EXPECT_EQ(AllocationsByLabel::peak(), evaluation_bytes(model.chain(), model.samples(), measures));
  EXPECT_EQ(AllocationsByLabel::total(), 0u);
  EXPECT_EQ(found.classes->rows(), found.count);
  EXPECT_EQ(found.classes->accuracy(1), found.accuracy);
}

}  // namespace mylos::evaluation_memory_test
