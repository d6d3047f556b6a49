// A convolution of a sample's grid in boxes, one on each rank, against the same block on the whole grid: the
// same bits forward and of the input's gradient, and the sum over the ranks of the weights' gradients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/convolution_case.hpp"
#include "model/guarded_block.hpp"
#include "model/mpi_sample_ranks.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/layers/conv/convolution_block.hpp"

namespace mylos::split_convolution_test {

constexpr std::int64_t rows = 2;
constexpr auto periodic = PaddingKind::periodic;

struct Case {
  std::string name;
  ConvolutionShape shape;  // of the whole grid
};

std::vector<Case> cases() {
  return {
      {"line", {.input = {{1, 1, 24}, 3}, .outputs = 4, .kernel = {1, 1, 3}, .padding = {0, 0, 1}}},
      {"ring",
       {.input = {{1, 1, 24}, 3},
        .outputs = 4,
        .kernel = {1, 1, 5},
        .padding = {0, 0, 2},
        .padding_kind = periodic}},
      {"plane", {.input = {{1, 12, 16}, 8}, .outputs = 8, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"torus",
       {.input = {{1, 12, 16}, 8},
        .outputs = 6,
        .kernel = {1, 3, 3},
        .padding = {0, 1, 1},
        .padding_kind = periodic}},
      {"winograd", {.input = {{1, 16, 24}, 16}, .outputs = 16, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"winograd_odd",
       {.input = {{2, 12, 20}, 24}, .outputs = 16, .kernel = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"wide",
       {.input = {{1, 12, 12}, 4},
        .outputs = 4,
        .kernel = {1, 7, 5},
        .padding = {0, 3, 2},
        .padding_kind = {PaddingKind::zero, PaddingKind::zero, periodic}}},
      {"as_wide_as_a_box",
       {.input = {{1, 12, 12}, 3}, .outputs = 2, .kernel = {1, 7, 7}, .padding = {0, 3, 3}}},
      {"mirror_and_pole_of_axes_that_are_whole",
       {.input = {{12, 6, 8}, 3},
        .outputs = 4,
        .kernel = {3, 3, 3},
        .padding = {1, 1, 1},
        .padding_kind = {PaddingKind::zero, PaddingKind::pole, periodic}}},
      {"mirror",
       {.input = {{1, 12, 12}, 4},
        .outputs = 6,
        .kernel = {1, 3, 5},
        .padding = {0, 1, 2},
        .padding_kind = PaddingKind::reflect}},
      {"mirror_strided",
       {.input = {{1, 24, 24}, 3},
        .outputs = 4,
        .kernel = {1, 3, 4},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1},
        .padding_kind = {PaddingKind::zero, PaddingKind::reflect, PaddingKind::zero}}},
      {"globe",
       {.input = {{4, 12, 8}, 3},
        .outputs = 4,
        .kernel = {3, 5, 3},
        .padding = {1, 2, 1},
        .padding_kind = {PaddingKind::reflect, PaddingKind::pole, periodic}}},
      {"strided",
       {.input = {{1, 24, 24}, 4},
        .outputs = 6,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1}}},
      {"stem",
       {.input = {{1, 24, 24}, 3},
        .outputs = 8,
        .kernel = {1, 7, 7},
        .stride = {1, 2, 2},
        .padding = {0, 3, 3}}},
      {"even_kernel",
       {.input = {{1, 24, 24}, 4},
        .outputs = 6,
        .kernel = {1, 4, 4},
        .stride = {1, 2, 2},
        .padding = {0, 1, 1}}},
      {"wide_stride",
       {.input = {{1, 36, 36}, 2},
        .outputs = 3,
        .kernel = {1, 7, 5},
        .stride = {1, 3, 3},
        .padding = {0, 2, 1}}},
      {"patches", {.input = {{1, 24, 24}, 3}, .outputs = 5, .kernel = {1, 2, 2}, .stride = {1, 2, 2}}},
      {"point", {.input = {{1, 12, 12}, 3}, .outputs = 5}},
      {"dilated",
       {.input = {{1, 24, 24}, 4},
        .outputs = 4,
        .kernel = {1, 3, 3},
        .padding = {0, 2, 3},
        .padding_kind = periodic,
        .dilation = {1, 2, 3}}},
      {"dilated_stride",
       {.input = {{1, 24, 24}, 4},
        .outputs = 4,
        .kernel = {1, 3, 3},
        .stride = {1, 2, 2},
        .padding = {0, 2, 2},
        .dilation = {1, 2, 2}}},
      {"groups",
       {.input = {{1, 12, 12}, 8}, .outputs = 12, .kernel = {1, 3, 3}, .padding = {0, 1, 1}, .groups = 4}},
      {"depthwise",
       {.input = {{1, 12, 12}, 8},
        .outputs = 8,
        .kernel = {1, 3, 5},
        .padding = {0, 1, 2},
        .padding_kind = periodic,
        .groups = 8}},
      {"volume", {.input = {{12, 8, 12}, 3}, .outputs = 4, .kernel = {3, 3, 3}, .padding = {1, 1, 1}}},
      {"volume_strided",
       {.input = {{12, 12, 8}, 3},
        .outputs = 4,
        .kernel = {3, 4, 3},
        .stride = {2, 2, 1},
        .padding = {1, 1, 1},
        .padding_kind = {periodic, PaddingKind::zero, periodic}}},
      {"transposed",
       {.input = {{1, 12, 12}, 4},
        .outputs = 3,
        .kernel = {1, 3, 3},
        .padding = {0, 1, 1},
        .transposed = true}},
      {"transposed_stride",
       {.input = {{1, 12, 12}, 4},
        .outputs = 3,
        .kernel = {1, 2, 2},
        .stride = {1, 2, 2},
        .transposed = true}},
      {"transposed_odd",
       {.input = {{1, 12, 12}, 4},
        .outputs = 3,
        .kernel = {1, 3, 5},
        .stride = {1, 2, 2},
        .padding = {0, 1, 2},
        .transposed = true,
        .output_padding = {0, 1, 1}}},
      {"transposed_ring",
       {.input = {{6, 1, 12}, 4},
        .outputs = 3,
        .kernel = {3, 1, 4},
        .stride = {1, 1, 2},
        .padding = {1, 0, 1},
        .padding_kind = periodic,
        .transposed = true}},
  };
}

ConvolutionShape shape_of_box(ConvolutionShape shape, const GridPart& part) {
  shape.input = test::box_of(shape.input, part);
  return shape;
}

/// Returns whether the grid has equal boxes that a rank can compute.
bool fits(const ConvolutionShape& shape, const GridPart& part) {
  const GridShape output = output_grid(shape);
  if (!test::divides(part, shape.input.extent) || !test::divides(part, output.extent)) return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.is_split(axis)) continue;
    if (shape.padding_kind[axis] == periodic && shape.padding_kind.axis_of(PaddingKind::pole) >= 0)
      return false;
    const std::int64_t from = (shape.transposed ? output : shape.input).extent[axis] / part.boxes[axis];
    const bool mirrors =
        shape.padding_kind[axis] == PaddingKind::reflect || shape.padding_kind[axis] == PaddingKind::pole;
    if (mirrors && from <= shape.padding[axis]) return false;
    if (from % shape.stride[axis] != 0) return false;
  }
  return true;
}

/// Returns the type's tolerance, or 0 where all bits are the same. By GEMMs they are. A library adds what
/// edges fold onto the whole grid in another order, and Winograd's tiles begin at even points of a box.
double tolerance_of(const Case& of, const GridPart& part, DType type, const std::string& engines,
                    bool is_adjoint) {
  const ConvolutionShape& shape = of.shape;
  const bool by_winograd = shape.kernel[1] == 3 && shape.kernel[2] == 3 && shape.outputs >= 16;
  bool is_equal = memory_is_host;
  for (std::size_t axis = 0; axis < 3 && engines == "auto"; ++axis) {
    if (!part.is_split(axis)) continue;
    const std::int64_t points = shape.input.extent[axis] / part.boxes[axis];
    if (shape.padding_kind[axis] == periodic && is_adjoint) is_equal = false;
    if (by_winograd && (points % 2 == 1 || points < 4)) is_equal = false;
  }
  if (is_equal) return 0;
  return (type == DType::fp32 ? 512 : 4) * test::unit_roundoff_of(type);
}

struct Run {
  Run(const ConvolutionOptions& options, const Engines& engines, std::size_t variant, SampleRanks* ranks,
      const std::vector<float>& x, const std::vector<float>& dy)
      : block(options), memory(block, rows, true, variant, &engines, ranks) {
    test::set_values(memory.weights()[0],
                     test::random_values(options.type, memory.weights()[0].size(), -1, 1, 3));
    test::set_values(memory.weights()[1],
                     test::random_values(options.type, memory.weights()[1].size(), -1, 1, 4));
    test::set_values(memory.input(), x);
    test::set_values(memory.output_gradient(), dy);
    memory.forward();
    memory.backward();
  }

  ConvolutionBlock block;
  test::GuardedBlock memory;
};

void expect_equal(const std::vector<float>& found, const std::vector<float>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  std::size_t different = 0;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(error <= tolerance * (1 + std::abs(static_cast<double>(expected[i]))))) ++different;
    largest = std::max(largest, error);
  }
  EXPECT_EQ(different, 0u) << what << ": of " << found.size() << " numbers; the largest difference is "
                           << largest;
}

void expect_sums(const Tensor& found, const Tensor& expected, const std::string& what) {
  const std::vector<double> sums = test::summed(test::doubles_of(found));
  const std::vector<double> all = test::doubles_of(expected);
  double largest = 0;
  for (const double value : all) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_NEAR(sums[i], all[i], 2e-6 * (1 + largest)) << what << " " << i;
}

void expect_boxes(const Case& of, const GridPart& part, DType type, const std::string& engine_name) {
  const auto engines = test::make_convolution_engines(engine_name);
  const Engines used = *engines;
  const GridShape input = of.shape.input;
  const GridShape output = output_grid(of.shape);
  const auto x = test::random_values(type, rows * input.columns(), -1, 1, 1);
  const auto dy = test::random_values(type, rows * output.columns(), -1, 1, 2);
  for (const std::size_t variant : {0u, 1u}) {
    if ((type == DType::bf16 && variant == 0) || (type == DType::fp16 && variant == 1)) continue;  // enough
    ConvolutionOptions options{.name = "conv1",
                               .shape = of.shape,
                               .activation = variant == 1 ? Activation::gelu : Activation::none,
                               .input_type = variant == 1 ? DType::fp32 : type,  // cast on entry
                               .type = type,
                               .gradient_type = DType::fp32};
    const Run whole(options, used, variant, nullptr, x, dy);
    options.shape = shape_of_box(of.shape, part);
    options.part = part;
    test::MpiSampleRanks ranks(part);
    const Run box(options, used, variant, &ranks, test::cropped(x, input, part),
                  test::cropped(dy, output, part));
    const std::string what =
        fmt::format("{} in {} x {} x {} boxes, {}, {}, variant {}", of.name, part.boxes[0], part.boxes[1],
                    part.boxes[2], name_of(type), engine_name, variant);
    const auto tolerance = [&](bool is_adjoint) {
      return tolerance_of(of, part, type, engine_name, is_adjoint);
    };
    expect_equal(test::values_of(box.memory.output()),
                 test::cropped(test::values_of(whole.memory.output()), output, part),
                 tolerance(of.shape.transposed), what + ": output");
    expect_equal(test::values_of(box.memory.input_gradient()),
                 test::cropped(test::values_of(whole.memory.input_gradient()), input, part),
                 tolerance(!of.shape.transposed || variant == 1), what + ": input gradient");
    for (const std::size_t i : {0u, 1u}) {
      expect_sums(box.memory.gradients()[i], whole.memory.gradients()[i],
                  what + (i == 0 ? ": weight gradient" : ": bias gradient"));
    }
    EXPECT_EQ(ranks.largest.faces, sample_exchanges(box.block, rows).faces) << what;
    if (of.shape.kernel == of.shape.stride) {
      EXPECT_EQ(ranks.largest.faces, 0u) << what;
    }
  }
}

TEST(SplitConvolution, BoxesAreThoseOfTheWholeGrid) {
  std::size_t tested = 0;
  for (const Case& of : cases()) {
    for (const GridPart& part : test::own_parts()) {
      if (!fits(of.shape, part)) continue;
      for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
        for (const std::string& engines : test::convolution_engines()) expect_boxes(of, part, type, engines);
      }
      ++tested;
    }
  }
  EXPECT_GE(tested, cases().size());
}

}  // namespace mylos::split_convolution_test
