// Rearranges a convolution's weights and its output's gradient before and after the GEMMs.
#pragma once

#include "mylos/kernels/convolution/convolution_gather.hpp"

namespace mylos {

/// Writes the weights that a phase of the adjoint multiplies: to[from channel][tap of the phase][channel of
/// the group's outputs] from weights[output][tap][channel of the group's inputs].
template <class T>
void adjoint_weights(const Execution& exec, const ConvolutionMap& map, const AdjointPhase& phase,
                     const T* weights, T* to) {
  const std::int64_t inputs = map.group_from();
  const std::int64_t outputs = map.group_to();
  const Box taps(phase.gather.taps);
  const Box all_taps(map.kernel);
  const Triple first_tap = triple(phase.first_tap);
  const Triple tap_step = triple(phase.tap_step);
  const std::int64_t columns = phase.gather.columns();
  const Divisor outputs_of(outputs);
  const Divisor taps_of(taps.points());
  // A host thread processes one cache line of the weights at a time.
  constexpr std::int64_t width = runs_on_host ? 64 / sizeof(T) : 1;
  const std::int64_t blocks = launch::ceiling_quotient(inputs, width);
  const Divisor blocks_of(blocks);
  for_each_block(
      exec, "adjoint_weights", map.groups * blocks * columns, runs_on_host ? 256 : 1,
      KOKKOS_LAMBDA(std::int64_t begin, std::int64_t end) {
        for (std::int64_t index = begin; index < end; ++index) {  // [group][block][tap][output]
          const std::int64_t tap_and_above = outputs_of.quotient(index);
          const std::int64_t output = index - tap_and_above * outputs;
          const std::int64_t block_and_group = taps_of.quotient(tap_and_above);
          const std::int64_t tap = tap_and_above - block_and_group * taps.points();
          const std::int64_t group = blocks_of.quotient(block_and_group);
          const std::int64_t first = (block_and_group - group * blocks) * width;
          const Triple t = taps.point(tap);
          const std::int64_t source =
              all_taps.index(first_tap[0] + t[0] * tap_step[0], first_tap[1] + t[1] * tap_step[1],
                             first_tap[2] + t[2] * tap_step[2]);
          const T* const in = weights + ((group * outputs + output) * all_taps.points() + source) * inputs;
          T* const out = to + group * inputs * columns + tap * outputs + output;
          const std::int64_t past = launch::smaller(first + width, inputs);
          for (std::int64_t input = first; input < past; ++input) out[input * columns] = in[input];
        }
      });
}

/// Writes to[group][row][channel of the group] = from[row][channel].
template <class T>
void split_groups(const Execution& exec, const T* from, std::int64_t rows, std::int64_t groups,
                  std::int64_t group_channels, T* to) {
  const Divisor rows_of(rows);
  for_each_tile(
      exec, "split_groups", groups * rows, group_channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const std::int64_t group = rows_of.quotient(index);
        const std::int64_t row = index - group * rows;
        map_tile(from + (row * groups + group) * group_channels + first, count,
                 to + index * group_channels + first, [](T value) { return value; });
      });
}

/// Adds sums += more.
inline void add_sums(const Execution& exec, std::int64_t count, const float* more, float* sums) {
  for_each_element(
      exec, "add_sums", count, KOKKOS_LAMBDA(std::int64_t i) { sums[i] += more[i]; });
}

/// Writes to = sums, or to + sums.
template <class T>
void store_sums(const Execution& exec, std::int64_t count, const float* sums, bool accumulate, T* to) {
  for_each_element(
      exec, "store_sums", count, KOKKOS_LAMBDA(std::int64_t i) {
        to[i] = from_float<T>(accumulate ? to_float(to[i]) + sums[i] : sums[i]);
      });
}

}  // namespace mylos
