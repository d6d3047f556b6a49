// A block of a sample's grid in boxes, one on each rank, against the same block on the whole grid.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "model/guarded_block.hpp"
#include "model/mpi_sample_ranks.hpp"

namespace mylos::test {

/// Values of which many are equal, and some are minus infinity.
inline std::vector<float> values_with_ties(std::int64_t count, int seed) {
  std::vector<float> values = drawn_values(count, seed, 0.5F);
  for (float& value : values)
    if (value < -0.4F) value = -std::numeric_limits<float>::infinity();
  return values;
}

/// Compares bits, so that NaN equals itself and zeros have signs.
inline void expect_bits_of(const std::vector<float>& found, const std::vector<float>& expected,
                           const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(float)), 0)
        << what << ", number " << i << ": " << found[i] << " instead of " << expected[i];
  }
}

/// Expects outputs, gradients and exchanges of `box` to be those of its part of `whole`, and its memory to be
/// that of all other parts. The blocks have no weights. `input`, `output`: whole grids.
inline void expect_same_bits(const Block& whole, const Block& box, const GridShape& input,
                             const GridShape& output, const GridPart& part, std::string what,
                             bool has_infinities = true) {
  constexpr std::int64_t samples = 2;
  what += fmt::format(" in {} x {} x {} boxes", part.boxes[0], part.boxes[1], part.boxes[2]);
  const std::int64_t inputs = samples * input.columns();
  const std::vector<float> x = has_infinities ? values_with_ties(inputs, 1) : drawn_values(inputs, 1);
  std::vector<float> dy = drawn_values(samples * output.columns(), 2);
  for (float& value : dy) value /= 3;  // sums round
  GuardedBlock of_whole(whole, samples, true);
  MpiSampleRanks ranks(part);
  GuardedBlock of_box(box, samples, true, 0, nullptr, &ranks);
  set_values(of_whole.input(), x);
  set_values(of_whole.output_gradient(), dy);
  set_values(of_box.input(), cropped(x, input, part));
  set_values(of_box.output_gradient(), cropped(dy, output, part));
  std::vector<SampleCall> calls;
  for (const bool is_backward : {false, true}) {
    for (GuardedBlock* const block : {&of_whole, &of_box}) is_backward ? block->backward() : block->forward();
    const auto stated = box.sample_calls(samples, {.is_backward = is_backward});
    calls.insert(calls.end(), stated.begin(), stated.end());
    EXPECT_EQ(calls, ranks.calls) << what;
  }
  expect_bits_of(values_of(of_box.output()), cropped(values_of(of_whole.output()), output, part),
                 what + ": output");
  expect_bits_of(values_of(of_box.input_gradient()),
                 cropped(values_of(of_whole.input_gradient()), input, part), what + ": input gradient");
  const BlockCost& cost = of_box.cost();
  std::vector<double> bytes{static_cast<double>(cost.forward_workspace),
                            static_cast<double>(cost.variants[0].backward_workspace), cost.forward_flops,
                            cost.backward_flops};
  const std::vector<double> all = summed(bytes);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], world_size() * bytes[i]) << what << " " << i;
}

}  // namespace mylos::test
