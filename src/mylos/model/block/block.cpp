#include "mylos/model/block.hpp"

#include "mylos/base/alignment.hpp"
#include "mylos/model/block/block_product.hpp"

namespace mylos {

std::size_t output_bytes(const Signature& signature, std::int64_t rows) {
  return aligned_bytes(static_cast<std::size_t>(rows * signature.outputs) * size_of(signature.output_type));
}

BlockCost elementwise_cost(const Signature& signature, std::int64_t rows) {
  const auto flops = static_cast<double>(rows * signature.outputs);
  return {.output_bytes = output_bytes(signature, rows),
          .variants = {{.name = "all"}},
          .forward_flops = flops,
          .backward_flops = flops};
}

std::vector<BlockProduct> Block::products(std::int64_t /*rows*/) const {
  return {};
}

}  // namespace mylos
