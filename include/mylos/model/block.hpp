// Block: one stage of a model's chain.
//
// A block maps the matrix [rows, inputs] to [rows, outputs]. Some blocks of Mylos also read an
// earlier boundary; those of custom layers read their input alone. A block states its bytes and FLOPs from
// shapes alone and owns no memory: the caller passes weights, gradients, saved tensors and workspace, so that
// the memory plan decides where they lie and how long they live.
//
// Backward reads input, output and further tensors, which forward saves or backward recomputes. A block
// offers variants that save different amounts. All variants give the same bits, because every value that some
// variant saves is rounded to its storage type before it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/engines.hpp"
#include "mylos/model/buffer_spec.hpp"
#include "mylos/model/parameter_tensors.hpp"
#include "mylos/model/sample_ranks.hpp"
#include "mylos/model/signature.hpp"
#include "mylos/model/sums_over_ranks.hpp"

namespace mylos {

/// One weight matrix or vector of a layer.
struct ParameterSpec {
  std::string name;       // "weight", "bias"
  std::int64_t rows = 1;  // 1 for vectors
  std::int64_t columns = 1;
  std::int64_t taps = 1;              // of a convolution kernel: columns = taps · channels
  bool is_matrix = false;             // a vector has one dimension in files
  DType type = DType::fp32;           // of the compute weights
  DType gradient_type = DType::fp32;  // float or `type`
  float decay_factor = 0;             // multiplies the optimizer's weight decay
  float lr_factor = 1;                // multiplies the learning rate
  std::int64_t fan_in = 0;            // for rules of initial values; 0: the columns
  std::int64_t fan_out = 0;           // likewise; 0: the rows times the taps
  float initial_value = 0;            // used if initial_bound and initial_std are 0
  float initial_bound = 0;            // uniform in [-bound, bound)
  float initial_std = 0;              // normal with mean 0

  [[nodiscard]] std::int64_t size() const { return rows * columns; }
};

/// A choice of the tensors that a block saves for backward.
struct SavedVariant {
  std::string name;                    // "all", "lean", "input"
  std::size_t saved_bytes = 0;         // saved by forward for backward, without input and output
  std::size_t backward_workspace = 0;  // includes recomputed tensors
  double recompute_flops = 0;          // in addition to backward_flops

  bool operator==(const SavedVariant&) const = default;
};

/// Bytes and FLOPs of a block for a number of rows. Every byte count is a multiple of arena_alignment.
struct BlockCost {
  std::size_t output_bytes = 0;        // the boundary activation that the next block reads
  std::size_t forward_workspace = 0;   // the same for all variants
  std::vector<SavedVariant> variants;  // at least one; [0] saves all
  double forward_flops = 0;
  double backward_flops = 0;  // gradients of input and weights
  double repeated_flops = 0;  // the part of backward_flops that is recomputation in every variant
  // The part of these that Winograd convolution avoids; no rate counts it.
  double spared_forward_flops = 0;
  double spared_backward_flops = 0;

  bool operator==(const BlockCost&) const = default;
};

/// Returns the bytes of the output of `rows` rows in an arena.
[[nodiscard]] std::size_t output_bytes(const Signature& signature, std::int64_t rows);

/// Returns the cost of a block that computes each output from few values and saves nothing.
[[nodiscard]] BlockCost elementwise_cost(const Signature& signature, std::int64_t rows);

class Convolution;
class SpectralConvolution;
class KeyValueCache;
class OnnxLayer;
class SourceLayer;
struct BlockProduct;
struct RolloutStep;

/// The inputs that all operations of a step share.
struct StepContext {
  const Execution& exec;
  Engines engines;
  const std::uint64_t* step = nullptr;  // device memory: the step number, part of the random numbers' key
  std::uint64_t first_sample = 0;       // index in the global batch of the first sample
  bool training = true;  // false: evaluation, where statistics are constants; no dropout, unless `drops`
  KeyValueCache* cache = nullptr;        // the rows continue the cache's sample; inference only
  SumsOverRanks* ranks = nullptr;        // for blocks that exchange sums with other ranks; null: no exchange
  SampleRanks* sample_ranks = nullptr;   // for blocks of parts of samples; null: likewise
  const RolloutStep* rollout = nullptr;  // training through several copies of the chain
  bool drops = false;                    // dropout though not training, by `step` and `first_sample`
};

struct Norm;

/// The norm of a block's input, with which its forward pass begins. The preceding block can compute it in the
/// kernel that writes that input.
struct InputNorm {
  const Norm* norm = nullptr;
  ParameterTensors weights;  // of the norm
  Tensor normed;             // [rows, inputs], in the input's type
  std::byte* statistics = nullptr;
};

/// The memory of a block. `workspace` and `saved` hold at least the bytes that the block's cost states;
/// `saved` those of `variant`. Without `saved`, forward saves nothing.
struct BlockMemory {
  ParameterTensors weights;  // compute weights
  ConstTensor input;         // [rows, inputs]
  Tensor output;             // [rows, outputs]
  ConstTensor skip = {};     // [rows, skip_inputs]
  ParameterTensors buffers = {};
  std::byte* saved = nullptr;
  std::byte* workspace = nullptr;
  std::size_t variant = 0;
  bool is_recompute = false;             // forward has already run in this micro-batch with the same input
  const InputNorm* next_norm = nullptr;  // of the output: forward computes it too; see Block::computes_norm()
  bool has_norm = false;                 // the preceding block has computed input_norm()
};

struct BlockGradients {
  ParameterTensors weights;   // gradients; float or the compute type
  bool wants_weights = true;  // false: nothing reads them, and a block need not compute them
  bool accumulate = false;    // add to the contents of the gradient buffers
  Tensor output;              // d loss / d output, like the output; may be overwritten
  Tensor input;               // d loss / d input, like the input; empty if not needed
  Tensor skip = {};           // d loss / d skip, like the skip; empty if not needed
  bool add_to_skip = false;   // add to the gradient that later blocks have written
};

/// A pass of a block in training.
struct BlockPass {
  bool is_backward = false;
  std::size_t variant = 0;    // that forward saves, or backward reads
  bool wants_input = true;    // backward computes the gradient of the input
  bool is_recompute = false;  // forward has run before with the same input
};

class Block {
 public:
  virtual ~Block() = default;

  [[nodiscard]] virtual const Signature& signature() const = 0;
  [[nodiscard]] virtual std::vector<ParameterSpec> parameters() const { return {}; }
  [[nodiscard]] virtual std::vector<BufferSpec> buffers() const { return {}; }
  /// Returns the smallest micro-batch of a rank with which the block can be trained on this number of ranks.
  [[nodiscard]] virtual std::int64_t min_rows(int /*ranks*/) const { return 1; }
  /// Returns whether forward and backward exchange data with the other ranks.
  [[nodiscard]] virtual bool exchanges_in_passes() const { return false; }
  /// Returns the calls to the other ranks of a sample that a pass of `rows` > 0 rows makes, in their order.
  [[nodiscard]] virtual std::vector<SampleCall> sample_calls(std::int64_t /*rows*/,
                                                             const BlockPass& /*pass*/) const {
    return {};
  }
  /// Returns whether the gradients contain sums, apart from products(), whose order a library of the engine
  /// chooses.
  [[nodiscard]] virtual bool sums_by_library(const Engines& /*engines*/) const { return false; }
  /// Returns the convolution that the block computes, or null.
  [[nodiscard]] virtual const Convolution* convolution() const { return nullptr; }
  /// Returns the spectral convolution that the block computes, or null.
  [[nodiscard]] virtual const SpectralConvolution* spectral() const { return nullptr; }
  [[nodiscard]] virtual BlockCost cost(const Engines& engines, std::int64_t rows) const = 0;
  /// Returns the GEMMs of forward and backward, without recomputation.
  [[nodiscard]] virtual std::vector<BlockProduct> products(std::int64_t rows) const;

  /// Returns the norm with which forward begins in this memory, if it begins with one and does not cast its
  /// input.
  [[nodiscard]] virtual std::optional<InputNorm> input_norm(const StepContext& /*context*/,
                                                            const BlockMemory& /*memory*/) const {
    return std::nullopt;
  }
  /// Returns whether forward can compute the norm of its output (BlockMemory::next_norm).
  [[nodiscard]] virtual bool computes_norm() const { return false; }

  /// Appends what the block computes to an ONNX graph. Returns false if it cannot be written, and appends
  /// nothing. Only of blocks inside Mylos: OnnxLayer and SourceLayer are not part of its interface.
  virtual bool write_onnx(OnnxLayer& /*layer*/) const { return false; }
  /// Likewise to a network as source code.
  virtual bool write_source(SourceLayer& /*layer*/) const { return false; }

  virtual void forward(const StepContext& context, const BlockMemory& memory) const = 0;
  /// Reads input, skip, output and saved tensors of the same forward pass; does not change them.
  virtual void backward(const StepContext& context, const BlockMemory& memory,
                        const BlockGradients& gradients) const = 0;

  /// Joins the collective calls of forward and backward on a rank without rows.
  virtual void join_collectives(const StepContext& /*context*/, const ParameterTensors& /*buffers*/) const {}
  /// Updates the state buffers at the end of a step from the sums of all ranks, unless *apply is 0 (device
  /// memory).
  virtual void move_state(const Execution& /*exec*/, const ParameterTensors& /*buffers*/,
                          const std::int32_t* /*apply*/) const {}
};

}  // namespace mylos
