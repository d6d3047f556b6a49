// A spectral convolution of a sample's grid in boxes, one on each rank, against the same block on the whole
// grid: outputs, the input's gradient, and the sum over the ranks of the weights' gradients.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/guarded_block.hpp"
#include "model/mpi_sample_ranks.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/layers/spectral/spectral_block.hpp"

namespace mylos::split_spectral_test {

constexpr std::int64_t rows = 2;

const SpectralShape shapes[] = {
    {.input = {{1, 1, 24}, 3}, .outputs = 2, .modes = {1, 1, 7}},
    {.input = {{1, 1, 12}, 2}, .outputs = 3, .modes = {1, 1, 12}},  // Nyquist's, and boxes of 3 points
    {.input = {{1, 24, 12}, 3}, .outputs = 4, .modes = {1, 5, 6}},
    {.input = {{1, 12, 9}, 2}, .outputs = 2, .modes = {1, 12, 3}},
    {.input = {{1, 4, 4}, 3}, .outputs = 2, .modes = {1, 4, 3}},  // boxes of one point along an axis
    {.input = {{1, 3, 2}, 1}, .outputs = 2, .modes = {1, 2, 2}},
    {.input = {{6, 4, 12}, 2}, .outputs = 3, .modes = {3, 4, 5}},
    {.input = {{4, 1, 3}, 2}, .outputs = 1, .modes = {2, 1, 3}}};

struct Run {
  Run(const SpectralOptions& options, const Engines& engines, std::size_t variant, SampleRanks* ranks,
      const std::vector<float>& x, const std::vector<float>& dy)
      : block(options), memory(block, rows, true, variant, &engines, ranks) {
    for (const std::size_t i : {0u, 1u})
      test::set_values(memory.weights()[i], test::drawn_values(memory.weights()[i].size(), 3 + int(i), 0.5f));
    test::set_values(memory.input(), x);
    test::set_values(memory.output_gradient(), dy);
    memory.forward();
    memory.backward();
  }

  SpectralBlock block;
  test::GuardedBlock memory;
};

template <class Values>
void expect_near(const Values& found, const Values& expected, DType type, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double size = 0;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    size = std::max(size, std::abs(static_cast<double>(expected[i])));
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(error <= largest)) largest = error;
  }
  EXPECT_LE(largest, (8 * test::unit_roundoff_of(type) + 1e-6) * (0.1 + size)) << what;
}

void expect_boxes(const SpectralShape& shape, const GridPart& part, DType type, std::size_t variant) {
  const auto engines = make_engines({});
  const GridShape& input = shape.input;
  const GridShape output = output_grid(shape);
  const std::vector<float> x = test::drawn_values(rows * input.columns(), 1);
  const std::vector<float> dy = test::drawn_values(rows * output.columns(), 2);
  SpectralOptions options{.name = "wave",
                          .shape = shape,
                          .input_type = variant == 1 ? DType::fp32 : type,  // cast on entry
                          .type = type,
                          .gradient_type = DType::fp32};
  const Run whole(options, *engines, variant, nullptr, x, dy);
  options.shape.input = test::box_of(input, part);
  options.shape.part = part;
  test::MpiSampleRanks ranks(part);
  const Run box(options, *engines, variant, &ranks, test::cropped(x, input, part),
                test::cropped(dy, output, part));
  const std::string what = fmt::format("{} in {} x {} x {} boxes, {}, variant {}", describe(input),
                                       part.boxes[0], part.boxes[1], part.boxes[2], name_of(type), variant);
  expect_near(test::values_of(box.memory.output()),
              test::cropped(test::values_of(whole.memory.output()), output, part), type, what + ": output");
  expect_near(test::values_of(box.memory.input_gradient()),
              test::cropped(test::values_of(whole.memory.input_gradient()), input, part), type,
              what + ": input gradient");
  for (const std::size_t i : {0u, 1u}) {
    expect_near(test::summed(test::doubles_of(box.memory.gradients()[i])),
                test::doubles_of(whole.memory.gradients()[i]), type,
                what + (i == 0 ? ": weight gradient" : ": bias gradient"));
  }
  EXPECT_EQ(ranks.largest.sums, sample_exchanges(box.block, rows).sums) << what;
  EXPECT_EQ(ranks.largest.faces, 0u) << what;
  EXPECT_EQ(sample_exchanges(whole.block, rows).sums, 0u) << what;
}

TEST(SplitSpectral, BoxesAreThoseOfTheWholeGrid) {
  std::size_t tested = 0;
  for (const SpectralShape& shape : shapes) {
    for (const GridPart& part : test::own_parts()) {
      if (!test::divides(part, shape.input.extent)) continue;
      for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
        for (const std::size_t variant : {0u, 1u}) expect_boxes(shape, part, type, variant);
      }
      ++tested;
    }
  }
  EXPECT_GE(tested, 6u);
}

/// The memory of all ranks is the same although their matrices differ.
TEST(SplitSpectral, BoxesHaveAsManyMatricesAsOthers) {
  SpectralOptions options{.name = "wave", .shape = {.input = {{1, 4, 4}, 1}, .modes = {1, 4, 4}}};
  EXPECT_EQ(SpectralBlock(options).buffers().size(), 2u);
  for (const Extents& at : {Extents{0, 0, 0}, Extents{0, 0, 1}}) {
    options.shape.part = {.boxes = {1, 2, 2}, .at = at};
    const auto buffers = SpectralBlock(options).buffers();
    ASSERT_EQ(buffers.size(), 4u);
    for (const BufferSpec& buffer : buffers) EXPECT_EQ(buffer.size, 5 * 4) << buffer.name;
  }
}

}  // namespace mylos::split_spectral_test
