// A convolution with its tensors, and its passes in a workspace with a guard at its end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <ostream>

#include "kernels/batching_engine.hpp"
#include "kernels/matrix.hpp"
#include "kernels/reference_convolution.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos::test {

/// Returns the engines of this name: "auto", others of the build, or "gemm", the automatic engine without
/// its library of convolutions.
inline std::unique_ptr<EngineSet> make_convolution_engines(const std::string& name) {
  if (name == "auto") return make_engines({});
  if (name == "gemm")
    return std::make_unique<EngineSet>(std::make_unique<BatchingEngine>(make_gemm_engine({})->batches()));
  return make_engines({.gemm = gemm_engine_named(name)});
}

/// Returns the engines with a library of convolutions, if there is one, and by GEMMs alone.
inline std::vector<std::string> convolution_engines() {
  const auto names = gemm_engine_names();
  if (!memory_is_host) return {"auto", "gemm"};
  if (std::find(names.begin(), names.end(), "tiles") == names.end()) return {"auto"};
  return {"auto", "tiles"};
}

struct ConvolutionCase {
  /// engine_name: a name for make_convolution_engines().
  ConvolutionCase(const ConvolutionShape& shape, DType type, std::int64_t rows,
                  const std::string& engine_name = "auto")
      : ConvolutionCase(shape, type, rows, make_convolution_engines(engine_name)) {}

  ConvolutionCase(const ConvolutionShape& shape, DType type, std::int64_t rows,
                  std::unique_ptr<EngineSet> for_gemms)
      : samples(rows),
        engines(std::move(for_gemms)),
        convolution(shape, type),
        x(type, rows, shape.input.columns(), random_values(type, rows * shape.input.columns(), -1, 1, 1)),
        weights(type, weight_rows(shape), weight_columns(shape),
                random_values(type, weight_rows(shape) * weight_columns(shape), -1, 1, 2)),
        bias(type, 1, shape.outputs, random_values(type, shape.outputs, -1, 1, 3)),
        y(type, rows, convolution.output().columns()),
        dy(type, rows, convolution.output().columns(),
           random_values(type, rows * convolution.output().columns(), -1, 1, 4)),
        dx(type, rows, shape.input.columns()),
        workspace_bytes(convolution.workspace_bytes(*engines, rows)),
        arena("workspace", workspace_bytes + watched) {
    fill_watched();
  }

  [[nodiscard]] const ConvolutionShape& shape() const { return convolution.shape(); }

  void forward(const Execution& exec = {}) const {
    convolution.forward(exec, *engines, x, weights, bias, y, arena.data());
    exec.fence();
    check_watched();
  }
  void input_gradient(const Execution& exec = {}) const {
    convolution.input_gradient(exec, *engines, dy, weights, dx, arena.data());
    exec.fence();
    check_watched();
  }
  void weight_gradient(const Tensor& d_weights, const Tensor& d_bias, bool accumulate,
                       const Execution& exec = {}) const {
    convolution.weight_gradient(exec, *engines, x, dy, d_weights, d_bias, accumulate, arena.data());
    exec.fence();
    check_watched();
  }

  std::int64_t samples;
  std::unique_ptr<EngineSet> engines;
  Convolution convolution;
  Matrix x, weights, bias, y, dy, dx;
  std::size_t workspace_bytes;

 private:
  static constexpr std::size_t watched = 256;
  static constexpr float mark = 12345.0f;

  [[nodiscard]] Tensor watched_end() const {
    return {arena.data() + workspace_bytes, DType::fp32, 1, watched / sizeof(float)};
  }
  void fill_watched() const { set_values(watched_end(), std::vector<float>(watched / sizeof(float), mark)); }
  void check_watched() const {
    for (const float value : values_of(watched_end()))
      ASSERT_EQ(value, mark) << "the pass wrote behind its workspace";
  }

  Arena arena;
};

/// Expects float sums of at most these terms and `more_terms` others, rounded to the type once.
inline void expect_sums(DType type, const std::vector<float>& found, const Sums& sums, double more_terms) {
  ASSERT_EQ(found.size(), sums.value.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double arithmetic = summing_error(sums.terms[i] + more_terms, sums.magnitude[i]);
    ASSERT_NEAR(found[i], sums.value[i], rounding_error(type, sums.value[i]) + arithmetic) << i;
  }
}

struct NamedConvolution {
  std::string name;
  ConvolutionShape shape;
  std::int64_t samples = 3;

  friend void PrintTo(const NamedConvolution& named, std::ostream* out) { *out << named.name; }
};

/// Returns convolutions with every option, alone and combined.
inline std::vector<NamedConvolution> convolutions() {
  const auto line = [](std::int64_t width, std::int64_t channels) {
    return GridShape{{1, 1, width}, channels};
  };
  constexpr auto zero = PaddingKind::zero;
  constexpr auto periodic = PaddingKind::periodic;
  constexpr auto reflect = PaddingKind::reflect;
  return {
      {"Line", {.input = line(17, 3), .outputs = 5, .kernel = {1, 1, 4}}},
      {"LinePadded", {.input = line(17, 4), .outputs = 8, .kernel = {1, 1, 5}, .padding = {0, 0, 2}}},
      {"Plane", {.input = {{1, 7, 9}, 3}, .outputs = 6, .kernel = {1, 3, 2}}},
      {"Volume", {.input = {{4, 5, 6}, 2}, .outputs = 3, .kernel = {2, 3, 3}, .padding = {1, 1, 1}}},
      {"WholeVectors", {.input = {{1, 6, 5}, 16}, .outputs = 32, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"ManyChannels", {.input = {{1, 3, 3}, 301}, .outputs = 7, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"OnePoint", {.input = {{2, 5, 6}, 9}, .outputs = 11}},
      {"OnePointStrided", {.input = {{1, 5, 6}, 4}, .outputs = 5, .stride = {1, 2, 3}}},
      {"OnePointPadded", {.input = {{1, 4, 4}, 4}, .outputs = 5, .padding = {0, 1, 2}}},
      {"OnePointInGroups", {.input = {{1, 4, 4}, 6}, .outputs = 9, .groups = 3}},
      {"StrideTwo",
       {.input = {{1, 8, 9}, 4},
        .outputs = 6,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1}}},
      {"FarPadding",
       {.input = {{1, 8, 10}, 16},
        .outputs = 16,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1},
        .far_padding = {0, 2, 3}}},
      {"FarPaddingTransposed",
       {.input = {{1, 6, 5}, 4},
        .outputs = 6,
        .kernel = {1, 3, 4},
        .stride = {1, 2, 3},
        .padding = {0, 1, 1},
        .groups = 2,
        .transposed = true,
        .far_padding = {0, 2, 1}}},
      {"StrideWiderThanKernel",
       {.input = {{1, 11, 13}, 3}, .outputs = 4, .kernel = {1, 2, 3}, .stride = {1, 5, 4}}},
      {"StrideWiderThanGrid",
       {.input = {{1, 2, 3}, 3},
        .outputs = 4,
        .kernel = {1, 1, 1},
        .stride = {1, 3, 2},
        .padding = {0, 1, 1}}},
      {"Patches", {.input = {{4, 6, 8}, 3}, .outputs = 5, .kernel = {2, 2, 2}, .stride = {2, 2, 2}}},
      {"Dilated",
       {.input = {{1, 9, 10}, 4},
        .outputs = 5,
        .kernel = {1, 3, 3},
        .padding = {0, 2, 1},
        .dilation = {1, 2, 3}}},
      {"DilatedAndStrided",
       {.input = {{5, 12, 13}, 2},
        .outputs = 3,
        .kernel = {2, 3, 4},
        .stride = {2, 4, 3},
        .padding = {1, 3, 2},
        .dilation = {2, 2, 3}}},
      {"Groups",
       {.input = {{1, 6, 7}, 12}, .outputs = 8, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 4}},
      {"Depthwise",
       {.input = {{1, 6, 7}, 10}, .outputs = 10, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 10}},
      {"DepthwiseStridedTwice",
       {.input = {{1, 6, 7}, 5},
        .outputs = 10,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1},
        .groups = 5}},
      {"DepthwiseStrided",
       {.input = {{2, 9, 8}, 33},
        .outputs = 33,
        .kernel = {2, 3, 2},
        .stride = {1, 2, 3},
        .padding = {1, 1, 0},
        .dilation = {1, 2, 1},
        .groups = 33}},
      {"DepthwiseReflect",
       {.input = {{1, 6, 7}, 5},
        .outputs = 5,
        .kernel = {1, 3, 5},
        .padding = {0, 1, 2},
        .padding_kind = reflect,
        .groups = 5}},
      {"DepthwiseTransposed",
       {.input = {{1, 5, 4}, 6},
        .outputs = 6,
        .kernel = {1, 3, 1},
        .stride = {1, 2, 2},
        .groups = 6,
        .transposed = true}},
      {"DepthwiseInManyBlocks",
       {.input = {{1, 64, 63}, 3}, .outputs = 3, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 3},
       5},
      {"Periodic",
       {.input = {{3, 6, 7}, 4},
        .outputs = 5,
        .kernel = {3, 3, 3},
        .padding = {1, 1, 1},
        .padding_kind = periodic}},
      {"PeriodicStrided",
       {.input = {{1, 6, 8}, 4},
        .outputs = 5,
        .kernel = {1, 3, 4},
        .stride = {1, 2, 4},
        .padding = {0, 1, 1},
        .padding_kind = periodic}},
      {"PeriodicStridedUnevenly",
       {.input = {{1, 7, 9}, 4},
        .outputs = 5,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 2},
        .padding = {0, 1, 2},
        .padding_kind = periodic}},
      {"PeriodicByLessThanHalfTheKernel",
       {.input = {{1, 8, 9}, 4},
        .outputs = 5,
        .kernel = {1, 5, 5},
        .padding = {0, 1, 1},
        .padding_kind = periodic}},
      {"PeriodicByLessThanHalfTheKernelStrided",
       {.input = {{1, 8, 12}, 4},
        .outputs = 5,
        .kernel = {1, 5, 5},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1},
        .padding_kind = periodic}},
      {"PeriodicThrice",
       {.input = {{1, 3, 4}, 3},
        .outputs = 4,
        .kernel = {1, 3, 3},
        .padding = {0, 3, 4},
        .padding_kind = periodic,
        .dilation = {1, 2, 1}}},
      {"Reflect",
       {.input = {{3, 6, 7}, 4},
        .outputs = 5,
        .kernel = {3, 3, 5},
        .padding = {1, 1, 2},
        .padding_kind = reflect}},
      {"ReflectAllStridedInGroups",
       {.input = {{1, 3, 4}, 4},
        .outputs = 6,
        .kernel = {1, 3, 3},
        .stride = {1, 1, 2},
        .padding = {0, 2, 3},
        .padding_kind = reflect,
        .groups = 2}},
      {"Transposed", {.input = {{1, 5, 6}, 4}, .outputs = 3, .kernel = {1, 3, 3}, .transposed = true}},
      {"TransposedOnePoint", {.input = {{1, 5, 6}, 4}, .outputs = 3, .transposed = true}},
      {"TransposedDoubling",
       {.input = {{3, 4, 5}, 4}, .outputs = 3, .kernel = {2, 2, 2}, .stride = {2, 2, 2}, .transposed = true}},
      {"TransposedWithOutputPadding",
       {.input = {{1, 4, 5}, 4},
        .outputs = 6,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 3},
        .padding = {0, 1, 1},
        .groups = 2,
        .transposed = true,
        .output_padding = {0, 1, 2}}},
      {"TransposedWithHoles",
       {.input = {{1, 4, 5}, 4}, .outputs = 3, .kernel = {1, 1, 2}, .stride = {1, 3, 3}, .transposed = true}},
      {"TransposedPeriodic",
       {.input = {{1, 6, 7}, 4},
        .outputs = 3,
        .kernel = {1, 3, 3},
        .padding = {0, 1, 1},
        .padding_kind = periodic,
        .transposed = true}},
      {"TransposedReflect",
       {.input = {{1, 6, 7}, 4},
        .outputs = 3,
        .kernel = {1, 3, 3},
        .padding = {0, 1, 1},
        .padding_kind = reflect,
        .transposed = true}},
      {"RowsInSeveralParts",
       {.input = {{1, 32, 32}, 16}, .outputs = 2, .kernel = {1, 3, 3}, .padding = {0, 1, 1}},
       16},
      {"FloatsInSeveralParts",
       {.input = {{1, 32, 32}, 64}, .outputs = 2, .kernel = {1, 1, 3}, .padding = {0, 0, 1}},
       35},
      {"RowsOfGroupsInSeveralParts",
       {.input = {{1, 32, 32}, 16}, .outputs = 2, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 2},
       16},
      {"PaddedGridsInSeveralParts",
       {.input = {{1, 32, 32}, 32},
        .outputs = 1,
        .kernel = {1, 3, 3},
        .padding = {0, 1, 1},
        .padding_kind = reflect},
       30},
      {"OneSample", {.input = {{1, 6, 7}, 3}, .outputs = 4, .kernel = {1, 3, 3}, .padding_kind = zero}, 1},
  };
}

}  // namespace mylos::test
