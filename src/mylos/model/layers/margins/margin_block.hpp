// MarginBlock: pads the grid of each sample with what lies beyond its edges, or crops it to a smaller one
// (kernels/grid/margins.hpp). It has no weights and saves nothing.
#pragma once

#include "mylos/kernels/grid/margins.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

enum class MarginChange { pad, crop };

struct MarginOptions {
  std::string name;
  MarginChange change = MarginChange::pad;
  MarginShape shape;
  PaddingKinds edges = {};   // of a pad; other kinds than zeros have margins of one width at both ends
  DType type = DType::fp32;  // of input and output
};

class MarginBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape) and check(edges).
  explicit MarginBlock(MarginOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  /// Returns the grid of the output.
  [[nodiscard]] GridShape output() const;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  /// Returns whether it adds zeros alone, or crops.
  [[nodiscard]] bool is_plain() const { return options_.edges == PaddingKinds(); }
  [[nodiscard]] GridEdges edges() const {
    return {options_.shape.inner, options_.shape.before, options_.edges};
  }

  MarginOptions options_;
  Signature signature_;
};

}  // namespace mylos
