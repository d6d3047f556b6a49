// Block: one link of the chain that a model is.
//
// A block maps the matrix [rows, inputs] to [rows, outputs]; some read an earlier boundary too (skips.hpp).
// It states its bytes and FLOPs from shapes alone, and owns no memory: weights, gradients, kept tensors and
// workspace are handed to it, so that a plan decides where they lie and how long they live.
//
// What backward reads besides input and output is either kept by forward or computed again by backward. A
// block offers variants of how much it keeps; all give the same bits, because every value that some variant
// keeps is rounded to its storage type before anything reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/model/block/buffer_spec.hpp"
#include "mylos/model/block/parameter_tensors.hpp"
#include "mylos/model/block/signature.hpp"
#include "mylos/model/block/sums_over_ranks.hpp"

namespace mylos {

/// One weight matrix or vector of a layer.
struct ParameterSpec {
  std::string name;       // "weight", "bias"
  std::int64_t rows = 1;  // 1 for vectors
  std::int64_t columns = 1;
  std::int64_t taps = 1;              // of a kernel that slides over a grid: columns are taps times channels
  bool is_matrix = false;             // a vector has one dimension in files
  DType type = DType::fp32;           // of the compute weights
  DType gradient_type = DType::fp32;  // float or `type`
  float decay_factor = 0;             // of the optimizer's weight decay
  float lr_factor = 1;                // of the learning rate
  float initial_value = 0;            // where the two below are 0
  float initial_bound = 0;            // uniform in [-bound, bound)
  float initial_std = 0;              // normal with mean 0

  [[nodiscard]] std::int64_t size() const { return rows * columns; }
};

/// One way in which a block keeps what its backward pass reads.
struct SavedVariant {
  std::string name;                    // "all", "lean", "input"
  std::size_t saved_bytes = 0;         // kept from forward to backward besides input and output
  std::size_t backward_workspace = 0;  // includes what is computed again
  double recompute_flops = 0;          // of backward, besides backward_flops

  bool operator==(const SavedVariant&) const = default;
};

/// Bytes and FLOPs of a block for a number of rows. Every byte count is a multiple of arena_alignment.
struct BlockCost {
  std::size_t output_bytes = 0;        // the boundary activation that the next block reads
  std::size_t forward_workspace = 0;   // whatever is kept
  std::vector<SavedVariant> variants;  // at least one; [0] keeps all
  double forward_flops = 0;
  double backward_flops = 0;  // both gradients
  double repeated_flops = 0;  // of backward_flops, what it computes again whatever is kept
  // Of these, what nobody does where a convolution is filtered minimally: no speed counts it.
  double spared_forward_flops = 0;
  double spared_backward_flops = 0;

  bool operator==(const BlockCost&) const = default;
};

/// A matrix product that a block computes for each micro-batch.
struct BlockProduct {
  std::string linear;  // which of the block's linear maps: "qkv"; empty where it has one
  GemmProblem problem;
  std::int64_t times = 1;  // of a micro-batch
};

class Convolution;
class KeyValueCache;

/// What every operation of a step needs to know.
struct StepContext {
  const Execution& exec;
  GemmEngine& gemm;
  const std::uint64_t* step = nullptr;  // device memory: number of the step, a key of its random numbers
  std::uint64_t first_sample = 0;       // index in the global batch of the first sample
  bool training = true;                 // false: no dropout, and nothing is kept for backward
  KeyValueCache* cache = nullptr;       // rows continue its one sample; without training only
  SumsOverRanks* ranks = nullptr;       // of a step that ranks make together; null: each is on its own
};

/// The memory that a block works on. `workspace` and `saved` hold at least the bytes that its cost states,
/// the latter those of `variant`; forward without `saved` keeps nothing.
struct BlockMemory {
  ParameterTensors weights;  // compute weights
  Tensor input;              // [rows, inputs]
  Tensor output;             // [rows, outputs]
  Tensor skip = {};          // [rows, skip_inputs]
  ParameterTensors buffers = {};
  std::byte* saved = nullptr;
  std::byte* workspace = nullptr;
  std::size_t variant = 0;
  bool again = false;  // forward ran before in this micro-batch, with the same input
};

struct BlockGradients {
  ParameterTensors weights;  // gradients; float or the compute type
  bool accumulate = false;   // add to what the gradient buffers hold
  Tensor output;             // d loss / d output, like the output; may be overwritten
  Tensor input;              // d loss / d input, like the input; empty where nobody needs it
  Tensor skip = {};          // d loss / d skip, like the skip; empty where nobody needs it
  bool add_to_skip = false;  // to what later blocks left there
};

class Block {
 public:
  virtual ~Block() = default;

  [[nodiscard]] virtual const Signature& signature() const = 0;
  [[nodiscard]] virtual std::vector<ParameterSpec> parameters() const = 0;
  [[nodiscard]] virtual std::vector<BufferSpec> buffers() const { return {}; }
  /// The fewest of a rank's micro-batch with which it can be trained, on so many ranks.
  [[nodiscard]] virtual std::int64_t min_rows(int /*ranks*/) const { return 1; }
  /// Whether forward and backward exchange something with the other ranks.
  [[nodiscard]] virtual bool exchanges_in_passes() const { return false; }
  /// Whether its gradients are sums, besides products(), that a library of the engine's cuts as it sees fit.
  [[nodiscard]] virtual bool sums_by_library(const GemmEngine& /*gemm*/) const { return false; }
  /// The convolution that it computes, if it is one.
  [[nodiscard]] virtual const Convolution* convolution() const { return nullptr; }
  [[nodiscard]] virtual BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const = 0;
  /// Of forward and backward, without what is computed again.
  [[nodiscard]] virtual std::vector<BlockProduct> products(std::int64_t /*rows*/) const { return {}; }

  virtual void forward(const StepContext& context, const BlockMemory& memory) const = 0;
  /// Reads input, skip, output and saved of the same forward pass, and leaves them as they are.
  virtual void backward(const StepContext& context, const BlockMemory& memory,
                        const BlockGradients& gradients) const = 0;

  /// The part in what forward or backward exchanges of a rank that has no rows in it.
  virtual void join_collectives(const StepContext& /*context*/, const ParameterTensors& /*buffers*/) const {}
  /// At the end of a step, with the sums of all ranks: moves what is state, unless *apply is 0 (device
  /// memory).
  virtual void move_state(const Execution& /*exec*/, const ParameterTensors& /*buffers*/,
                          const std::int32_t* /*apply*/) const {}
};

}  // namespace mylos
