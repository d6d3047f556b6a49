// PoolBlock: the maximum or average of windows of a sample's grid, or the average over all of it
// (kernels/grid/pooling.hpp). It has no weights; a maximum's backward reads what forward read and wrote,
// and nothing else is kept.
#pragma once

#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/model/block/block.hpp"

namespace mylos {

enum class PoolType { max, average, global_average };

struct PoolOptions {
  std::string name;
  PoolType pool = PoolType::max;
  PoolShape shape;           // global_average: its input alone
  DType type = DType::fp32;  // of input and output
};

class PoolBlock final : public Block {
 public:
  /// Throws Error (bad_input) as check(shape) does.
  explicit PoolBlock(PoolOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const GridShape& output() const { return output_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return {}; }
  [[nodiscard]] BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  PoolOptions options_;
  GridShape output_;
  Signature signature_;
};

}  // namespace mylos
