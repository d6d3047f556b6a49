// Forward passes over any number of samples, piece by piece.
#pragma once

#include <functional>
#include <vector>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/inference/context.hpp"
#include "mylos/inference/staging.hpp"

namespace mylos {

/// Returns the inputs of samples [first, first + count) in the chain's input type, in device memory that
/// stays valid until the next call.
using InputsOfSamples = std::function<Tensor(std::int64_t first, std::int64_t count)>;

/// Receives the outputs of the samples from `first` on, in the type of the head and in device memory that the
/// next piece overwrites.
using TakeOutputs = std::function<void(std::int64_t first, const Tensor& outputs)>;

/// Runs the network over `samples` samples, at most `piece` at a time. For networks whose samples are one
/// row.
void infer_in_pieces(const InferenceContext& context, std::int64_t samples, std::int64_t piece,
                     const InputsOfSamples& inputs_of, const TakeOutputs& take);

using AfterBatch = std::function<void(const StepContext&, const MicroBatch&, const Batch&)>;

/// Runs the network over the next batch of the pass and calls `after`. Returns false after the last batch.
bool run_next_batch(const InferenceContext& context, const Staging& staging, EvaluationPass& pass,
                    const AfterBatch& after);

/// Returns the bytes of the outputs of `samples` samples as floats.
[[nodiscard]] std::size_t float_output_bytes(const Chain& chain, std::int64_t samples);

/// Converts the outputs of the last forward() in `floats` (device memory) and copies them to the host.
void copy_outputs(const StepContext& context, const ForwardPass& model, const Tensor& floats,
                  std::vector<float>& to);

}  // namespace mylos
