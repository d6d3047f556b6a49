// Rehearsal: some blocks of a chain with their weights, moments and activations, whose operations are run
// and timed individually. Blocks do not read one another's outputs: every input is noise.
#pragma once

#include <functional>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/config/options.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/precision/gradient_check.hpp"

namespace mylos {

/// Byte offsets in the arena.
struct RehearsalLayout {
  struct BlockOffsets {
    std::size_t input = 0;
    std::size_t output = 0;
    std::size_t saved = 0;
    std::size_t skip = 0;
  };
  std::vector<BlockOffsets> blocks;
  std::size_t variants = 1;  // maximum over blocks
  // Shared by all blocks, as in a step.
  std::size_t noise = 0;  // floats, for inputs, gradients and targets
  std::int64_t noise_count = 0;
  std::size_t labels = 0;
  std::size_t output_gradient = 0;
  std::size_t input_gradient = 0;
  std::size_t skip_gradient = 0;
  std::size_t workspace = 0;
  std::size_t bytes = 0;
};

class Rehearsal {
 public:
  /// Allocates memory_bytes(). `engines` must outlive it. `accumulates`: the step has several micro-batches.
  /// `clock`: returns milliseconds.
  Rehearsal(const Options& options, Chain chain, const Engines& engines, std::int64_t rows, bool accumulates,
            std::function<double()> clock);
  [[nodiscard]] static std::size_t memory_bytes(const OptimizerOptions& optimizer, const Chain& chain,
                                                const Engines& engines, std::int64_t rows);
  /// Returns the bytes accessed between a block's forward and its backward: activations, weights and
  /// gradients of all blocks.
  [[nodiscard]] static std::size_t bytes_between_uses(const Chain& chain, const Engines& engines,
                                                      std::int64_t rows);

  [[nodiscard]] const Chain& chain() const { return chain_; }
  [[nodiscard]] std::size_t variants() const { return layout_.variants; }
  [[nodiscard]] std::int64_t parameters() const { return parameters_.layout().elements; }

  /// Return milliseconds. backward() requires a preceding forward() of the same block and variant.
  [[nodiscard]] double forward(std::size_t block, std::size_t variant);
  [[nodiscard]] double loss();
  [[nodiscard]] double backward(std::size_t block, std::size_t variant);
  /// Returns the milliseconds of check and update of all weights.
  [[nodiscard]] double check_and_update();

 private:
  [[nodiscard]] std::byte* at(std::size_t offset) const { return arena_.data() + offset; }
  [[nodiscard]] Tensor tensor(std::size_t offset, DType type, std::int64_t columns) const;
  [[nodiscard]] BlockMemory memory_of(std::size_t block, std::size_t variant) const;
  void copy_noise(const Tensor& target) const;
  template <class Work>
  [[nodiscard]] double time_of(const Work& work) const;

  Execution exec_;
  Engines engines_;
  Chain chain_;
  std::int64_t rows_;
  bool accumulates_;
  std::function<double()> clock_;
  RehearsalLayout layout_;
  ParameterStore parameters_;
  BufferStore buffers_;
  std::vector<float> divisors_;
  Optimizer optimizer_;
  GradientCheck check_;
  AgreementBuffer agreement_{0, 1};
  Arena arena_;
  Kokkos::View<UpdateControl, Device> control_{"calibration"};
  Kokkos::View<std::uint64_t, Device> step_{"calibration"};
  Kokkos::View<float, Device> scale_{"calibration"};
  Kokkos::View<LossSums, Device> sums_{"calibration"};
  StepContext context_;
};

}  // namespace mylos
