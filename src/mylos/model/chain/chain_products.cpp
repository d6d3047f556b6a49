#include "mylos/model/chain/chain_products.hpp"

#include <algorithm>

namespace mylos {

std::vector<ChainProduct> products_of(const Chain& chain, std::int64_t rows) {
  std::vector<ChainProduct> all;
  const auto add = [&](std::size_t stage, std::vector<BlockProduct> products) {
    for (BlockProduct& product : products) all.push_back({stage, std::move(product)});
  };
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) add(i, chain.blocks[i]->products(rows));
  add(chain.blocks.size(), chain.head->products(rows));
  return all;
}

std::vector<GemmProblem> distinct_problems(const std::vector<ChainProduct>& products) {
  std::vector<GemmProblem> distinct;
  for (const ChainProduct& found : products) {
    const GemmProblem& problem = found.product.problem;
    const auto is_same = [&](const GemmProblem& other) { return same_product(other, problem); };
    if (std::none_of(distinct.begin(), distinct.end(), is_same)) distinct.push_back(problem);
  }
  return distinct;
}

}  // namespace mylos
