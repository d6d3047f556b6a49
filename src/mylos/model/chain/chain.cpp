#include "mylos/model/chain/chain.hpp"

#include <utility>

namespace mylos {
bool Chain::computes_in(DType type) const {
  for (const auto& block : blocks) {
    if (block->signature().compute_type == type) return true;
  }
  return head->signature().compute_type == type;
}

GridShape Chain::output_grid() const {
  GridShape grid = grids.back();
  grid.channels = outputs() / grid.points();
  return grid;
}

Skips Chain::all_skips() const {
  std::vector<std::size_t> sources;
  for (std::size_t block = 0; block < blocks.size(); ++block) sources.push_back(skip_of(block));
  return Skips(std::move(sources));
}

const Signature& Chain::signature(std::size_t stage) const {
  return stage < blocks.size() ? blocks[stage]->signature() : head->signature();
}

std::vector<ParameterSpec> Chain::stage_parameters(std::size_t stage) const {
  return stage < blocks.size() ? blocks[stage]->parameters() : head->parameters();
}

std::int64_t Chain::parameter_count() const {
  std::int64_t count = 0;
  for (std::size_t stage = 0; stage <= blocks.size(); ++stage) {
    for (const ParameterSpec& parameter : stage_parameters(stage)) count += parameter.size();
  }
  return count;
}

}  // namespace mylos
