#include "random_chains.hpp"

#include <cmath>
#include <string>

#include "mylos/base/alignment.hpp"

namespace mylos::test {

ChainCost random_chain(std::mt19937_64& generator, const RandomChainShape& shape) {
  const auto draw = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(generator);
  };
  const auto bytes = [&](std::size_t least) { return draw(least, shape.max_units) * shape.unit_bytes; };
  const auto time = [&](std::size_t least, std::size_t most) {
    return static_cast<double>(draw(least, most));
  };

  ChainCost cost;
  cost.input_bytes = shape.input_in_arena ? bytes(1) : 0;
  for (std::size_t i = 0; i < shape.blocks; ++i) {
    StageCost block{
        bytes(1), bytes(0) / 2 / shape.unit_bytes * shape.unit_bytes, {}, time(1, 9), time(1, 18)};
    const std::size_t variants = draw(1, shape.max_variants);
    std::size_t saved = bytes(0);
    double recompute = 0;
    for (std::size_t v = 0; v < variants; ++v) {
      block.variants.push_back({std::to_string(v), saved, bytes(0), recompute});
      saved = saved / 2 / shape.unit_bytes * shape.unit_bytes;
      recompute += time(1, 5);
    }
    if (i > 0 && shape.skips > 0 && std::bernoulli_distribution(shape.skips)(generator)) {
      block.skip = draw(0, i - 1);
    }
    cost.blocks.push_back(block);
  }
  cost.loss_workspace = bytes(0);
  cost.loss_time = time(0, 3);
  return cost;
}

ChainCost repeated_chain(const ChainCost& pattern, std::size_t blocks) {
  ChainCost cost = pattern;
  const std::size_t period = pattern.blocks.size();
  for (std::size_t i = period; i < blocks; ++i) {
    cost.blocks.push_back(pattern.blocks[i % period]);
    if (cost.blocks[i].skip != no_skip) cost.blocks[i].skip += i - i % period;
  }
  return cost;
}

ChainCost gpt_chain(std::mt19937_64& generator, std::size_t layers, double width_bytes, double spread) {
  std::uniform_real_distribution<double> exponent(-1, 1);
  const auto bytes = [&](double widths) {
    return aligned_bytes(
        static_cast<std::size_t>(widths * width_bytes * std::pow(spread, exponent(generator))));
  };
  ChainCost cost;
  for (std::size_t i = 0; i < layers; ++i) {
    cost.blocks.push_back(
        {bytes(1), bytes(0.1), {{"all", bytes(5), bytes(1), 0}, {"lean", bytes(4), bytes(2), 0.2}}, 4, 8});
    cost.blocks.push_back(
        {bytes(1), bytes(0.1), {{"all", bytes(9), bytes(4), 0}, {"lean", bytes(4), bytes(8), 0.5}}, 5, 10});
  }
  cost.loss_workspace = bytes(2);
  cost.loss_time = 2;
  return cost;
}

}  // namespace mylos::test
