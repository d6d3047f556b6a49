// What the real cuDNN would run for our attention, planned for devices that are not here: that it takes the
// graphs as we build them, and that its plans keep to the workspace that was said from the shape alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "described_devices.hpp"
#include "mylos/device/cuda/engines/attention_cudnn.hpp"
#include "mylos/device/cuda/engines/cudnn_library.hpp"
#include "mylos/kernels/attention/fused_attention_shape.hpp"

namespace {

using namespace mylos;

const std::vector<AttentionShape> shapes = {
    {32, 1024, 12, 64, DType::bf16},                                  // GPT-2 124M
    {32, 1024, 12, 64, DType::fp16}, {7, 1024, 12, 64, DType::bf16},  // a ragged micro-batch of it
    {2, 320, 3, 72, DType::bf16},    {1, 64, 1, 8, DType::fp16},
    {3, 192, 5, 128, DType::bf16},   {1, 4096, 16, 128, DType::bf16},
};

void expect_plan(const CudnnDevice& device, const AttentionShape& shape, AttentionPass pass,
                 std::size_t planned_bytes, AttentionSums sums = AttentionSums::fixed_order) {
  SCOPED_TRACE(testing::Message() << device.compute_capability << ": " << shape.samples << " x "
                                  << shape.length << ", " << shape.heads << " heads of " << shape.head_width
                                  << (pass == AttentionPass::forward ? ", forward" : ", backward"));
  const CudnnPlan plan = plan_by_cudnn(shape, pass, device, sums);
  EXPECT_EQ(plan.refusal, "");
  EXPECT_NE(plan.name, "");
  EXPECT_LE(static_cast<std::size_t>(plan.workspace_bytes), planned_bytes);
}

TEST(AttentionPlans, TakeTheWorkspaceThatTheShapeSays) {
  for (const CudnnDevice& device : test::described_devices()) {
    for (const AttentionShape& shape : shapes) {
      ASSERT_TRUE(fused_attention::may_support(shape));
      ASSERT_EQ(fused_attention::samples_at_a_time(shape), shape.samples);
      expect_plan(device, shape, AttentionPass::forward, fused_attention::forward_workspace(shape));
      expect_plan(device, shape, AttentionPass::backward, fused_attention::backward_workspace(shape));
      expect_plan(device, shape, AttentionPass::backward,
                  fused_attention::backward_workspace(shape, AttentionSums::any_order),
                  AttentionSums::any_order);
    }
  }
}

TEST(AttentionPlans, SayWhyThereIsNone) {
  const CudnnPlan plan =
      plan_by_cudnn({2, 128, 2, 60, DType::bf16}, AttentionPass::forward, test::described_devices()[1]);
  EXPECT_NE(plan.refusal, "");
  EXPECT_EQ(plan.name, "");
}

TEST(AttentionWithoutADevice, IsRefusedAndSaidOnce) {
  const auto attention = make_cudnn_attention();
  const AttentionShape shape{2, 128, 2, 64, DType::bf16};
  EXPECT_FALSE(attention->forward(nullptr, shape, {}, nullptr));
  EXPECT_NE(attention->take_refusals(), "");
  EXPECT_FALSE(attention->backward(nullptr, shape, {}, nullptr));
  EXPECT_EQ(attention->take_refusals(), "");
}

TEST(Version, IsThatOfTheLibraryThatIsHere) {
  EXPECT_EQ(cudnn_version_text(open_cudnn().version).substr(0, 2), "9.");
}

}  // namespace
