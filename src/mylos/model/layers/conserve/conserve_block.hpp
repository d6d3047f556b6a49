// ConserveBlock: sets the weighted sums of its input's channels over the points to those of an earlier
// boundary, or to 0 (kernels/grid/point_sums.hpp). It has no trained weights and saves nothing.
//
// Sums and differences are in double, so that y has the sums up to the rounding of its numbers. Only a float
// y keeps them over many applications.
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/kernels/grid/point_sums.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct ConserveOptions {
  std::string name;
  GridShape grid;                  // of x and y
  std::int64_t skip_channels = 0;  // of the earlier boundary; 0: the sums are 0
  SumChannels channels = {};
  std::vector<double> row_weights = {};  // along the grid's first axis; empty: all are 1
  std::int64_t rows = 1;                 // extent of that axis
  DType input_type = DType::fp32;        // of x, converted to `type`
  DType skip_type = DType::fp32;         // likewise of the earlier boundary
  DType type = DType::fp32;
};

class ConserveBlock final : public Block {
 public:
  explicit ConserveBlock(ConserveOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<BufferSpec> buffers() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  [[nodiscard]] PointSums sums(const ParameterTensors& buffers) const;
  [[nodiscard]] float weight(std::int64_t row) const {
    return static_cast<float>(options_.row_weights[static_cast<std::size_t>(row)]);
  }

  ConserveOptions options_;
  std::string weights_name_;
  double total_ = 0;  // of the weights of all points
  Signature signature_;
};

}  // namespace mylos
