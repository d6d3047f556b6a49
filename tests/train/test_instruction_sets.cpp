// A training by other instructions: what it finds differs by rounding, and by the same ones by nothing.
#include <gtest/gtest.h>

#include "mylos/base/instructions.hpp"
#include "train/synthetic.hpp"

namespace mylos::instruction_sets_test {

using namespace testing_support;  // NOLINT

/// The loss and the gradient's norm of each step, and the masters after them.
struct Training {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<float> masters;
  bool operator==(const Training&) const = default;
};

Options options_of(DType compute) {
  Options options = small_options(compute);
  options.model.hidden = {70, 40};
  options.model.activation = Activation::gelu;
  options.model.norm = NormType::layernorm;
  options.model.dropout = 0.1;
  return options;
}

Training train(const Options& options, int steps) {
  SmallRun run(options);
  Training training;
  for (int i = 0; i < steps; ++i) {
    const StepState state = run.step();
    training.losses.push_back(state.record.loss);
    training.norms.push_back(state.record.gradient_norm);
  }
  training.masters = run.masters();
  return training;
}

class InstructionSets : public testing::TestWithParam<DType> {
 protected:
  ~InstructionSets() override { use_instructions(before_); }

 private:
  Instructions before_ = instructions_in_use();
};
INSTANTIATE_TEST_SUITE_P(Types, InstructionSets, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(InstructionSets, GiveTheirOwnBitsWheneverTheyAreInUse) {
  std::vector<Training> first;
  for (const Instructions instructions : available_instructions()) {
    use_instructions(instructions);
    first.push_back(train(options_of(GetParam()), 4));
  }
  std::size_t number = 0;
  for (const Instructions instructions : available_instructions()) {
    use_instructions(instructions);
    EXPECT_EQ(train(options_of(GetParam()), 4), first[number++]) << name_of(instructions);
  }
}

/// With u the unit roundoff of the compute type, a path through the network meets 14 roundings to it: of a
/// layer's product, activation and norm forward (3, 3, 1) and of their gradients backward (3, 3, 1). Each
/// path's sums in float, of at most 70 terms forward and as many or the batch's 32 samples backward, add
/// (70 + 2) u_float for each of the 5 products (Higham, "Accuracy and stability of numerical
/// algorithms", 3.1). Two trainings are off by that much each.
double rounding_bound(DType compute) {
  return 2 * (14 * test::unit_roundoff_of(compute) + 5 * (70 + 2) * test::u);
}

TEST_P(InstructionSets, AgreeOnAStepWithinItsRoundings) {
  const double bound = rounding_bound(GetParam());
  std::optional<Training> first;
  for (const Instructions instructions : available_instructions()) {
    use_instructions(instructions);
    const Training training = train(options_of(GetParam()), 1);
    if (!first) first = training;
    EXPECT_NEAR(training.losses[0], first->losses[0], bound * first->losses[0]) << name_of(instructions);
    EXPECT_NEAR(training.norms[0], first->norms[0], bound * first->norms[0]) << name_of(instructions);
  }
}

TEST_P(InstructionSets, LearnAlike) {
  for (const Instructions instructions : available_instructions()) {
    use_instructions(instructions);
    const Training training = train(options_of(GetParam()), 60);
    EXPECT_LT(training.losses.back(), 0.8 * training.losses.front()) << name_of(instructions);
  }
}

}  // namespace mylos::instruction_sets_test
