// The kernels of rollouts: the first input of a sample, the next input after an output, and both gradients of
// it. Channels are last; a matrix has the columns points · channels. Arithmetic is float, rounded once.
#pragma once

#include <optional>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/model/rollout/rollout_step.hpp"

namespace mylos {

/// The channels of the matrices.
struct FeedbackShape {
  std::int64_t points = 1;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t rows = 0;  // of a row of inputs of all steps
};

/// The random numbers of the first input: a normal number for each (step, sample, column of the whole
/// sample).
struct InputNoise {
  RandomStream stream;
  bool is_used = false;
  const std::uint64_t* step = nullptr;  // device memory
  std::uint64_t first_sample = 0;       // index in the global batch
  std::optional<GridBox> box = {};      // of the samples' grids, if they are divided
};

/// input = the first channels of `rows`, plus the entries' noise.
void first_input(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                 const ConstTensor& rows, const InputNoise& noise, const Tensor& input);

/// next = what the entries say of previous, output and rows, after copy `copy` (from 0). `previous` may be
/// empty if no entry reads it.
void next_input(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                std::int64_t copy, const ConstTensor& previous, const ConstTensor& output,
                const ConstTensor& rows, const Tensor& next);

/// d_output = scale · d_next of its reader; `adds`: is added to the present values.
void add_output_gradient(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                         const ConstTensor& d_next, const Tensor& d_output, bool adds);

/// d_previous = the sum of d_next of its readers; `adds`: is added to the present values.
void add_previous_gradient(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                           const ConstTensor& d_next, const Tensor& d_previous, bool adds);

/// Copies the channels [first, first + count) of `channels` at every point: floats.
void take_channels(const Execution& exec, std::int64_t points, std::int64_t channels, std::int64_t first,
                   std::int64_t count, std::int64_t rows, const float* from, float* to);

}  // namespace mylos
