// What the real cuDNN would run for our convolutions, planned for devices that are not here: which passes it
// takes as we describe them, and that its plans keep to the workspace that was said from the shape alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "described_devices.hpp"
#include "mylos/device/cuda/engines/convolution_cudnn.hpp"

namespace {

using namespace mylos;
using enum ConvolutionPass;

constexpr DType types[] = {DType::fp32, DType::bf16, DType::fp16};

struct NamedShape {
  std::string name;
  ConvolutionShape shape;
  std::int64_t samples;
};

constexpr std::int32_t hopper = 90;

// Each plan takes a good part of a second, in which kernels are compiled: all are made for one device, and
// for the others those of a sample.
bool is_planned_for(const CudnnDevice& device, std::size_t shape) {
  return device.compute_capability == hopper || shape == 1;
}

/// Channels in multiples of 8, and no groups.
const std::vector<NamedShape> served = {
    {"line", {.input = {{1, 1, 512}, 32}, .outputs = 64, .kernel = {1, 1, 5}, .padding = {0, 0, 2}}, 16},
    {"plane, of ResNet-50",
     {.input = {{1, 56, 56}, 64}, .outputs = 64, .kernel = {1, 3, 3}, .padding = {0, 1, 1}},
     64},
    {"strided, of ResNet-50",
     {.input = {{1, 14, 14}, 512},
      .outputs = 512,
      .kernel = {1, 3, 3},
      .stride = {1, 2, 2},
      .padding = {0, 1, 1}},
     64},
    {"shortcut, of ResNet-50", {.input = {{1, 56, 56}, 256}, .outputs = 512, .stride = {1, 2, 2}}, 64},
    {"ragged micro-batch",
     {.input = {{1, 28, 28}, 128}, .outputs = 128, .kernel = {1, 3, 3}, .padding = {0, 1, 1}},
     13},
    {"dilated",
     {.input = {{1, 32, 32}, 64},
      .outputs = 64,
      .kernel = {1, 3, 3},
      .padding = {0, 2, 2},
      .dilation = {1, 2, 2}},
     8},
    {"volume", {.input = {{32, 32, 32}, 16}, .outputs = 32, .kernel = {3, 3, 3}, .padding = {1, 1, 1}}, 4},
    {"volume, strided in one axis",
     {.input = {{9, 12, 16}, 16},
      .outputs = 16,
      .kernel = {2, 3, 3},
      .stride = {2, 1, 1},
      .padding = {0, 1, 1}},
     3},
    {"transposed, doubling",
     {.input = {{1, 32, 32}, 128},
      .outputs = 64,
      .kernel = {1, 2, 2},
      .stride = {1, 2, 2},
      .transposed = true},
     16},
    {"transposed, with output padding",
     {.input = {{1, 15, 17}, 32},
      .outputs = 16,
      .kernel = {1, 3, 3},
      .stride = {1, 2, 2},
      .padding = {0, 1, 1},
      .transposed = true,
      .output_padding = {0, 1, 1}},
     5},
};

LibraryPass pass_of(const NamedShape& named, ConvolutionPass pass, DType type) {
  LibraryPass result{
      .pass = pass, .map = ConvolutionMap(named.shape), .samples = named.samples, .type = type};
  result.result = pass == weights ? DType::fp32 : type;
  return result;
}

CudnnPlan expect_within_workspace(const CudnnDevice& device, const LibraryPass& pass) {
  const auto library = make_cudnn_convolution();
  const CudnnPlan plan = plan_by_cudnn(pass, device);
  EXPECT_EQ(plan.name.empty(), !plan.refusal.empty());
  EXPECT_LE(static_cast<std::size_t>(plan.workspace_bytes), library->workspace_bytes(pass));
  return plan;
}

void expect_plan(const CudnnDevice& device, LibraryPass pass) {
  pass.samples = make_cudnn_convolution()->samples_at_a_time(pass);
  SCOPED_TRACE(testing::Message() << device.compute_capability << ", pass " << static_cast<int>(pass.pass)
                                  << ", " << name_of(pass.type) << (pass.bias ? " with a bias" : "") << ", "
                                  << pass.samples << " samples");
  EXPECT_EQ(expect_within_workspace(device, pass).refusal, "");
}

TEST(ConvolutionPlans, AreOfAllPassesIn16Bits) {
  const auto library = make_cudnn_convolution();
  for (const CudnnDevice& device : test::described_devices()) {
    for (std::size_t i = 0; i < served.size(); ++i) {
      if (!is_planned_for(device, i)) continue;
      const NamedShape& named = served[i];
      SCOPED_TRACE(named.name);
      for (const DType type : {DType::bf16, DType::fp16}) {
        if (type == DType::fp16 && (device.compute_capability != hopper || i % 3 != 1)) continue;
        for (const ConvolutionPass kind : {apply, adjoint, weights}) {
          LibraryPass pass = pass_of(named, kind, type);
          expect_plan(device, pass);
          const bool forward = kind == (named.shape.transposed ? adjoint : apply);
          pass.bias = forward && library->adds_bias(kind, type);
          if (pass.bias) expect_plan(device, pass);
        }
      }
    }
  }
}

/// It advises engines without tensor cores for most shapes, not for all.
TEST(ConvolutionPlans, OfFloatsAreThereForMostPasses) {
  int passes = 0, refused = 0;
  for (const CudnnDevice& device : test::described_devices()) {
    for (std::size_t i = 0; i < served.size(); ++i) {
      if (!is_planned_for(device, i)) continue;
      const NamedShape& named = served[i];
      SCOPED_TRACE(named.name);
      for (const ConvolutionPass kind : {apply, adjoint, weights}) {
        LibraryPass pass = pass_of(named, kind, DType::fp32);
        pass.samples = make_cudnn_convolution()->samples_at_a_time(pass);
        const CudnnPlan plan = expect_within_workspace(device, pass);
        refused += plan.refusal.empty() ? 0 : 1;
        ++passes;
      }
    }
  }
  EXPECT_LT(4 * refused, passes);
}

/// Of other channels and of groups it takes some; what it takes keeps to the workspace, too.
TEST(ConvolutionPlans, OfOtherShapesKeepToTheirWorkspace) {
  const std::vector<NamedShape> others = {
      {"of pictures",
       {.input = {{1, 224, 224}, 3},
        .outputs = 64,
        .kernel = {1, 7, 7},
        .stride = {1, 2, 2},
        .padding = {0, 3, 3}},
       64},
      {"odd", {.input = {{1, 17, 13}, 3}, .outputs = 5, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}, 7},
      {"groups",
       {.input = {{1, 28, 28}, 256}, .outputs = 256, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 32},
       32},
      {"odd volume",
       {.input = {{5, 12, 13}, 2},
        .outputs = 3,
        .kernel = {2, 3, 4},
        .stride = {2, 4, 3},
        .padding = {1, 3, 2},
        .dilation = {2, 2, 3}},
       3},
  };
  for (const CudnnDevice& device : test::described_devices()) {
    if (device.compute_capability != hopper) continue;
    for (const NamedShape& named : others) {
      SCOPED_TRACE(named.name);
      for (const DType type : {DType::fp32, DType::bf16}) {
        for (const ConvolutionPass kind : {apply, adjoint, weights})
          expect_within_workspace(device, pass_of(named, kind, type));
      }
    }
  }
}

/// In 16 bits it has such sums for channels in multiples of 8 alone, and says so.
TEST(ConvolutionPlans, SayWhyThereIsNone) {
  const NamedShape odd = {
      "odd", {.input = {{1, 17, 13}, 3}, .outputs = 5, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}, 7};
  const CudnnPlan plan = plan_by_cudnn(pass_of(odd, weights, DType::bf16), test::described_devices()[1]);
  EXPECT_NE(plan.refusal, "");
  EXPECT_EQ(plan.name, "");
}

/// Of 4 channels to 8 on a line it has a plan, whose sums were wrong on an H100.
TEST(ConvolutionPlans, OfGradientsOfWeightsIn16BitsAreAskedForWholeVectorsOfChannels) {
  const auto library = make_cudnn_convolution();
  const NamedShape line = {
      "line", {.input = {{1, 1, 17}, 4}, .outputs = 8, .kernel = {1, 1, 5}, .padding = {0, 0, 2}}, 3};
  EXPECT_EQ(library->samples_at_a_time(pass_of(line, weights, DType::bf16)), 0);
  EXPECT_EQ(library->samples_at_a_time(pass_of(line, weights, DType::fp32)), 3);
  EXPECT_EQ(library->samples_at_a_time(pass_of(line, apply, DType::bf16)), 3);
}

/// A tensor core would multiply floats as TF32: the same convolution in 16 bits goes to another engine.
TEST(ConvolutionPlans, OfFloatsAreByOtherEnginesThanThoseOfTensorCores) {
  for (const CudnnDevice& device : test::described_devices()) {
    const CudnnPlan floats = plan_by_cudnn(pass_of(served[1], apply, DType::fp32), device);
    const CudnnPlan halves = plan_by_cudnn(pass_of(served[1], apply, DType::fp16), device);
    EXPECT_NE(floats.name.substr(0, floats.name.find("_k")), halves.name.substr(0, halves.name.find("_k")));
  }
}

TEST(ConvolutionWorkspace, IsBoundedAndGrowsWithTheSamples) {
  const auto library = make_cudnn_convolution();
  for (const NamedShape& named : served) {
    for (const DType type : types) {
      LibraryPass pass = pass_of(named, weights, type);
      std::size_t before = 0;
      for (pass.samples = 1; pass.samples < 5'000'000; pass.samples *= 3) {
        EXPECT_GE(library->workspace_bytes(pass), before) << named.name;
        before = library->workspace_bytes(pass);
        const std::int64_t together = library->samples_at_a_time(pass);
        EXPECT_GE(together, 1);
        EXPECT_LT(together * std::max(pass.map.from.columns(), pass.map.to.columns()), std::int64_t{1} << 31);
      }
      EXPECT_LE(before, std::size_t{256} << 20);
    }
  }
}

TEST(ConvolutionWithoutADevice, IsRefusedAndSaidOnce) {
  const auto library = make_cudnn_convolution();
  const LibraryPass pass = pass_of(served[0], apply, DType::bf16);
  EXPECT_FALSE(
      library->run(nullptr, pass, {.first = nullptr, .second = nullptr, .result = nullptr}, nullptr));
  EXPECT_NE(library->take_refusals(), "");
  EXPECT_FALSE(
      library->run(nullptr, pass, {.first = nullptr, .second = nullptr, .result = nullptr}, nullptr));
  EXPECT_EQ(library->take_refusals(), "");
}

}  // namespace
