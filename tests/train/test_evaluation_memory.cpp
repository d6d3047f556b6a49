// An evaluation takes the memory that is stated of it, and gives it back.
#include <gtest/gtest.h>

#include <vector>

#include "mylos/train/evaluation.hpp"
#include "train/allocations.hpp"
#include "train/memory_world.hpp"

namespace mylos::evaluation_memory_test {

using namespace testing_support;  // NOLINT

/// Reads no data: a pass over some batches of zeros.
class ZeroPass final : public EvaluationPass {
 public:
  ZeroPass(std::int64_t samples, DType type)
      : inputs_(static_cast<std::size_t>(samples * features)), labels_(static_cast<std::size_t>(samples)) {
    batch_.samples = batch_.rows = samples;
    batch_.type = type;
    batch_.inputs = inputs_.data();
    batch_.labels = labels_.data();
  }
  [[nodiscard]] Share share() const override { return {0, 2 * batch_.samples}; }
  [[nodiscard]] const Batch* next() override { return left_-- > 0 ? &batch_ : nullptr; }
  void rewind() override { left_ = 2; }

 private:
  std::vector<float> inputs_;  // enough of any type
  std::vector<std::int32_t> labels_;
  Batch batch_;
  int left_ = 2;
};

TEST(EvaluationMemory, IsWhatIsStatedAndGivenBack) {
  const World world(small_options(DType::fp32));
  const auto trainer = world.trainer(plan_memory(world.problem(std::size_t{1} << 40)));
  Model& model = trainer->model();
  ZeroPass pass(model.samples(), model.chain().input_type());
  const AllocationsByLabel allocations;
  const Evaluation found = evaluate({trainer->execution(), *world.gemm, model}, *world.communicator, pass);
  EXPECT_EQ(found.count, 2 * model.samples() * world.communicator->size());
  EXPECT_EQ(AllocationsByLabel::peak(), evaluation_bytes(model.chain(), model.samples()));
  EXPECT_EQ(AllocationsByLabel::total(), 0u);
}

TEST(EvaluationMemory, WithMeasuresIsWhatIsStated) {
  const World world(small_options(DType::bf16));
  const auto trainer = world.trainer(plan_memory(world.problem(std::size_t{1} << 40)));
  Model& model = trainer->model();
  ZeroPass pass(model.samples(), model.chain().input_type());
  const std::vector measures{Measure::top5, Measure::confusion};
  const AllocationsByLabel allocations;
  const Evaluation found =
      evaluate({trainer->execution(), *world.gemm, model}, *world.communicator, pass, measures);
  EXPECT_EQ(AllocationsByLabel::peak(), evaluation_bytes(model.chain(), model.samples(), measures));
  EXPECT_EQ(AllocationsByLabel::total(), 0u);
  EXPECT_EQ(found.classes->rows(), found.count);
  EXPECT_EQ(found.classes->accuracy(1), found.accuracy);
}

}  // namespace mylos::evaluation_memory_test
