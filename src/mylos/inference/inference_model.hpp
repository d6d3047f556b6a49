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

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/inference/context.hpp"
#include "mylos/inference/model.hpp"

namespace mylos {

class InferenceModel {
 public:
  /// Which weights are held once more, in the order in which the GEMM engine reads them.
  enum class Packed { none, of_small_networks };

  /// Returns what a model for pieces of at most `samples` samples allocates.
  [[nodiscard]] static InferenceBytes memory(const Chain& chain, const Engines& engines, std::int64_t samples,
                                             Packed packed = Packed::none);

  /// Returns the bytes of the statistics that a copy has besides its workspace.
  [[nodiscard]] static std::size_t memory_of_copy(const Chain& chain) {
    return BufferStore::memory_bytes(chain);
  }

  /// Allocates memory(). All weights are 0 and all statistics have their initial values; read() or copy()
  /// sets them. `engines` must outlive the model.
  InferenceModel(const Chain& chain, const Engines& engines, std::int64_t samples,
                 Packed packed = Packed::none);
  /// Shares the weights of `other`, and copies its statistics, as kernels write into some of them.
  InferenceModel(const InferenceModel& other, const Engines& engines);
  InferenceModel(const InferenceModel&) = delete;  // passes refer to its members
  InferenceModel& operator=(const InferenceModel&) = delete;

  /// All ranks. Reads weights, or their moving average, and statistics from a checkpoint. Throws Error
  /// (bad_input) on all ranks where the file is damaged or has another network.
  void read(const CheckpointReader& reader, bool average = false);
  /// Copies the weights and statistics of a training model of the same chain. Throws Error where the chains
  /// differ.
  void copy(const Execution& exec, const TrainingModel& trained);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  /// The max samples of a piece.
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] ForwardPass& passes() { return pass_; }

 private:
  struct Weights;
  InferenceModel(Chain chain, const Engines& engines, std::int64_t samples,
                 std::shared_ptr<const Weights> weights);

  Chain chain_;
  Engines engines_;
  std::int64_t samples_;
  std::shared_ptr<const Weights> weights_;
  BufferStore buffers_;
  Arena activations_;
  ForwardPass pass_;
};

/// Copies the statistics of a chain's blocks. Throws Error where the chains differ.
void copy_statistics(const Execution& exec, const BufferStore& from, const BufferStore& to);

/// Returns the samples of an efficient piece, at most `max_samples`: about 1024 rows, and fewer where their
/// activations would take more than 1 GiB. It is the same on ranks with the same threads and instructions.
[[nodiscard]] std::int64_t samples_per_piece(const Chain& chain, const Engines& engines,
                                             std::int64_t max_samples);

/// Returns where the activations of `samples` samples lie.
[[nodiscard]] EvaluationLayout inference_layout(const Chain& chain, const Engines& engines,
                                                std::int64_t samples);

}  // namespace mylos
