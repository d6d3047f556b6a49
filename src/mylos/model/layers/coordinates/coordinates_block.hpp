// CoordinatesBlock: appends the position of each grid point to its channels (kernels/grid/coordinates.hpp),
// so that a network can depend on the position. It has no weights and saves nothing.
#pragma once

#include "mylos/kernels/grid/coordinates.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct CoordinatesOptions {
  std::string name;
  GridShape grid;            // of the input
  std::size_t axes = 1;      // of the grid: its last ones
  DType type = DType::fp32;  // of input and output
  GridPart part = {};        // the grid is a rank's box of a sample's
};

class CoordinatesBlock final : public Block {
 public:
  /// Throws Error (bad_input) if kernels cannot count the output's numbers.
  explicit CoordinatesBlock(CoordinatesOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const GridShape& output() const { return output_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  CoordinatesOptions options_;
  GridShape output_;
  Signature signature_;
};

}  // namespace mylos
