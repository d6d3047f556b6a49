// Forward passes over any number of samples, piece by piece.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/inference/context.hpp"
#include "mylos/inference/staging.hpp"

namespace mylos {

/// A dropout mask of passes that are not of training, as of mylos/model/block.hpp.
struct DropoutMask {
  const std::uint64_t* number = nullptr;  // device memory; null: no dropout
  std::uint64_t first_sample = 0;         // the index of the first sample, by which masks differ
};

/// Ranks that share samples: waits for what a pass has exchanged. NCCL's traffic must not be in flight with
/// that of MPI, by which ranks read data and add up results.
void finish_exchanges(const InferenceContext& context);

/// Runs the network over `samples` samples, at most `piece` at a time. For networks whose samples are one
/// row. Allocates nothing.
///
/// inputs_of(first, count) returns the inputs of samples [first, first + count) in the chain's input type, in
/// device memory that stays valid until its next call. take(first, outputs) receives the outputs of the
/// samples from `first` on, in the type of the head and in device memory that the next piece overwrites.
template <class InputsOf, class Take>
void infer_in_pieces(const InferenceContext& context, std::int64_t samples, std::int64_t piece,
                     const InputsOf& inputs_of, const Take& take, const DropoutMask& mask = {}) {
  StepContext step{.exec = context.exec,
                   .engines = context.engines,
                   .step = mask.number,
                   .training = false,
                   .sample_ranks = context.sample_ranks,
                   .drops = mask.number != nullptr};
  for (std::int64_t first = 0; first < samples; first += piece) {
    const std::int64_t count = std::min(piece, samples - first);
    step.first_sample = mask.first_sample + static_cast<std::uint64_t>(first);
    context.model.forward(step, inputs_of(first, count));
    take(first, context.model.head_outputs(step, 0, count));
  }
  finish_exchanges(context);
}

using AfterBatch = std::function<void(const StepContext&, const MicroBatch&, const Batch&)>;

/// Runs a network over rows in host memory, in the units of the data. The memory is allocated once, and is
/// used by one thread at a time. `normalizer`, and what the context refers to, must outlive the object.
/// `has_missing_inputs`: an input that is NaN is missing, and the network reads 0.
class RowInference {
 public:
  RowInference(const InferenceContext& context, const Normalizer& normalizer,
               bool has_missing_inputs = false);

  /// Returns the number in the units of the data, of a column of inputs, that the network reads as 0.
  [[nodiscard]] float read_as_zero(std::size_t column) const {
    const std::vector<double>& shift = normalizer_.inputs.shift;
    return shift.empty() ? 0.0f : static_cast<float>(shift[column % shift.size()]);
  }

  /// Computes outputs [rows, outputs] of inputs [rows, inputs], any number of rows. Of classes the outputs
  /// are logits. inf and NaN are computed with like other numbers. Throws Error (bad_input) where the sizes
  /// do not fit, and for a network of tokens.
  void run(std::span<const float> inputs, std::span<float> outputs, const DropoutMask& mask = {});

  /// Returns the bytes in the memory of the network, for pieces of `samples` rows.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain, std::int64_t samples);
  /// Returns the bytes of the host's memory.
  [[nodiscard]] static std::size_t host_bytes(const Chain& chain, std::int64_t samples) {
    return static_cast<std::size_t>(samples * chain.inputs()) * sizeof(float);
  }

 private:
  struct Tensors {
    Tensors(const Chain& chain, std::int64_t samples, void* memory);
    Pieces pieces;
    Tensor floats;   // inputs as floats
    Tensor inputs;   // in the type that the chain reads
    Tensor outputs;  // as floats
  };

  InferenceContext context_;
  const Normalizer& normalizer_;
  bool has_missing_inputs_;
  Arena memory_;
  Tensors tensors_;
  std::vector<float> scaled_;  // inputs of a piece
};

/// Runs the network over a batch and calls `after`.
void run_batch(const InferenceContext& context, const Staging& staging, const Batch& batch,
               const AfterBatch& after);
/// Runs the network over the next batch of the pass and calls `after`. Returns false after the last batch.
bool run_next_batch(const InferenceContext& context, const Staging& staging, EvaluationPass& pass,
                    const AfterBatch& after);

/// Returns the bytes of the outputs of `samples` samples as floats.
[[nodiscard]] std::size_t float_output_bytes(const Chain& chain, std::int64_t samples);

/// Converts the outputs of the last forward() in `floats` (device memory) and copies them to the host.
void copy_outputs(const StepContext& context, const ForwardPass& model, const Tensor& floats,
                  std::vector<float>& to);
/// Copies the standard deviations of these outputs, in the units of training, to the host. Requires
/// has_deviations() of the chain.
void copy_deviations(const StepContext& context, const ForwardPass& model, std::int64_t samples,
                     std::span<float> to);
/// Copies the quantiles that the network computes to the host, those of one level after those of the other,
/// in the units of training. Nothing of a network without quantiles.
void copy_quantiles(const StepContext& context, const ForwardPass& model, std::int64_t samples,
                    std::span<float> to);

}  // namespace mylos
