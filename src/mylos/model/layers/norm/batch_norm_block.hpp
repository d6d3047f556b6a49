// BatchNormBlock: normalises each channel of a grid, or each feature of a vector, over the samples of a
// micro-batch and all their points; then applies an activation (kernels/norm/batch_norm.hpp).
//
// gamma and beta are the parameters "weight" and "bias". Evaluation uses the running mean and variance. Each
// applied step moves these by `momentum` towards the statistics of all its samples, over micro-batches and
// ranks as over one batch (buffers.hpp). The block stores a micro-batch's mean and 1/deviation until its
// backward pass, so that recomputation reads them and needs neither sums nor an exchange. A micro-batch of
// boxes of samples, which ranks hold, has the statistics of all boxes of its samples.
#pragma once

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/kernels/options.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct BatchNormOptions {
  std::string name;
  GridShape grid;  // a vector: one point with the features as channels
  float momentum = 0.1f;
  float epsilon = 1e-5f;
  bool over_ranks = false;                   // statistics over the micro-batches of all ranks
  bool over_boxes = false;                   // else over those of the ranks of a sample
  Activation activation = Activation::none;  // its derivative must follow from its output
  DType input_type = DType::fp32;            // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
};

struct NormBackward;

class BatchNormBlock final : public Block {
 public:
  explicit BatchNormBlock(BatchNormOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] std::vector<BufferSpec> buffers() const override;
  [[nodiscard]] std::int64_t min_rows(int ranks) const override {
    const bool has_others =
        options_.grid.points() > 1 || options_.over_boxes || (options_.over_ranks && ranks > 1);
    return has_others ? 1 : 2;
  }
  [[nodiscard]] bool exchanges_in_passes() const override { return options_.over_ranks; }
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;
  void join_collectives(const StepContext& context, const ParameterTensors& buffers) const override;
  void move_state(const Execution& exec, const ParameterTensors& buffers,
                  const std::int32_t* apply) const override;

 private:
  struct Forward;
  [[nodiscard]] NormBackward backward_pieces(std::int64_t rows, std::byte* workspace) const;
  [[nodiscard]] Tensor points_of(const Tensor& matrix) const;
  void running_input_gradient(const StepContext& context, const BlockMemory& memory, const Tensor& dy,
                              const Tensor& dx) const;
  void add_up(const StepContext& context, const Tensor& sums) const;
  void take_statistics(const StepContext& context, const ConstTensor& x, const ParameterTensors& buffers,
                       std::byte* workspace) const;

  BatchNormOptions options_;
  Signature signature_;
};

}  // namespace mylos
