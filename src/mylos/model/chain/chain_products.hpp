// The GEMMs of a chain, by stage.
#pragma once

#include "mylos/model/block/block_product.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

struct ChainProduct {
  std::size_t stage = 0;
  BlockProduct product;
};

/// Returns the GEMMs of a micro-batch of `rows` rows, in the order of the stages.
[[nodiscard]] std::vector<ChainProduct> products_of(const Chain& chain, std::int64_t rows);

/// Returns the distinct problems (same_product()).
[[nodiscard]] std::vector<GemmProblem> distinct_problems(const std::vector<ChainProduct>& products);

}  // namespace mylos
