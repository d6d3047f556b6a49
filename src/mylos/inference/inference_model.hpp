// InferenceModel: a network that only computes outputs.
//
// It holds compute weights, the statistics of normalisation layers, and the activations of one piece of
// samples. It holds no masters, gradients or moments: GPT-2 of 124 million parameters takes 2 bytes for each
// in bfloat16. Its memory is a function of shapes: state it, compare it with what is free, then make the
// model.
//
// It starts neither MPI nor Kokkos, and prints nothing.
#pragma once

#include <memory>
#include <span>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/inference/compute_weights.hpp"
#include "mylos/inference/context.hpp"
#include "mylos/inference/model.hpp"

namespace mylos {

class InferenceModel {
 public:
  /// Returns what a model for pieces of at most `samples` samples allocates.
  [[nodiscard]] static InferenceBytes memory(const Chain& chain, const Engines& engines,
                                             std::int64_t samples);

  /// Allocates memory(). All weights are 0 and all statistics have their initial values; read() or copy()
  /// sets them. `engines` must outlive the model.
  InferenceModel(Chain chain, const Engines& engines, std::int64_t samples);
  InferenceModel(const InferenceModel&) = delete;  // passes refer to its members
  InferenceModel& operator=(const InferenceModel&) = delete;

  /// All ranks. Reads weights, or their moving average, statistics and normalisation from a checkpoint.
  /// Throws Error (bad_input) on all ranks where the file is damaged or has another network.
  void read(const CheckpointReader& reader, bool average = false);
  /// The same with the scaling of samples on another grid (grids/other_grid.hpp) instead of the file's.
  void read(const CheckpointReader& reader, bool average, Normalizer normalizer);
  /// Copies the weights and statistics of a training model of the same chain. Throws Error where the chains
  /// differ.
  void copy(const Execution& exec, const TrainingModel& trained);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  /// The max samples of a piece.
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] InferenceBytes bytes() const { return memory(chain_, engines_, samples_); }
  /// How samples were scaled in training; read() sets it.
  [[nodiscard]] const Normalizer& normalizer() const { return normalizer_; }
  [[nodiscard]] ForwardPass& passes() { return pass_; }

  /// Computes outputs [rows, outputs] of inputs [rows, inputs], any number of rows, both in host memory and
  /// in the units of the training data. Of classes the outputs are logits. inf and NaN are computed with like
  /// other numbers. Allocates infer_bytes() while it runs. Throws Error (bad_input) where the sizes do not
  /// fit, and for a network of tokens.
  void infer(const Execution& exec, std::span<const float> inputs, std::span<float> outputs);
  [[nodiscard]] std::size_t infer_bytes() const;

 private:
  Chain chain_;
  Engines engines_;
  std::int64_t samples_;
  ComputeWeights weights_;
  BufferStore buffers_;
  Arena activations_;
  ForwardPass pass_;
  Normalizer normalizer_;
};

/// Returns the samples of an efficient piece, at most `max_samples`: about 1024 rows, and fewer where their
/// activations would take more than 1 GiB. It is the same on ranks with the same threads and instructions.
[[nodiscard]] std::int64_t samples_per_piece(const Chain& chain, const Engines& engines,
                                             std::int64_t max_samples);

/// Returns where the activations of `samples` samples lie.
[[nodiscard]] EvaluationLayout inference_layout(const Chain& chain, const Engines& engines,
                                                std::int64_t samples);

/// All ranks. Reads weights, or their moving average, and statistics from a checkpoint. Throws Error
/// (bad_input) on all ranks where the file is damaged or has another network.
void read_network(const CheckpointReader& reader, bool average, const ComputeWeights& weights,
                  const BufferStore& buffers);

}  // namespace mylos
