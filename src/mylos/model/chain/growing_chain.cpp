#include "mylos/model/chain/growing_chain.hpp"

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/chain/parts.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_blocks = 2000;  // planning time grows with the cube of the number of blocks

}  // namespace

GrowingChain::GrowingChain(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                           bool accumulates, bool input_gradients, std::optional<DType> entry)
    : model_(model), precision_(precision), seed_(seed), accumulates_(accumulates), entry_type_(entry) {
  chain_.masters = precision.masters;
  chain_.input_gradients = input_gradients;
  first_.grid = {.channels = model.inputs};
  if (model.shape.size() > 1) {
    first_.grid = grid_of(model.shape);
    first_.axes = model.shape.size() - 1;
  }
  if (first_.grid.columns() != model.inputs)
    fail_input(errors::data_mismatch, "data.shape is {}, {} numbers, but a sample of the data has {}",
               describe(first_.grid), first_.grid.columns(), model.inputs);
  first_.grid = box_of(first_.grid, first_.axes, model.part);
  last_ = first_;
  places_.insert({input_name, first_});
}

void GrowingChain::begin_layer(std::string name) {
  name_ = std::move(name);
  if (places_.contains(name_)) refuse(errors::duplicate_key, "has the name of another layer or the input");
}

void GrowingChain::end_layer() {
  chain_.grids.resize(chain_.blocks.size(), last_.grid);
  places_[name_] = last_;
}

Chain GrowingChain::take() {
  if (!left_.empty()) {
    name_ = left_.begin()->second;
    refuse(errors::bad_layer, "has an output that no layer reads: no later layer has it as 'skip_from'");
  }
  return std::move(chain_);
}

BlockTypes GrowingChain::types() const {
  return {precision_, accumulates_, chain_.blocks.empty() ? entry_type_ : last_.type};
}

void GrowingChain::append(std::unique_ptr<const Block> block, const GridShape& grid, std::size_t axes,
                          std::size_t skip) {
  if (chain_.blocks.size() == max_blocks) refuse(errors::too_large, "is beyond {} blocks", max_blocks);
  const std::string& name = block->signature().name;
  if (name == input_name || !names_.insert(name).second)
    refuse(errors::duplicate_key, "makes a block '{}', but a block of that name exists", name);
  last_.type = block->signature().output_type;
  chain_.blocks.push_back(std::move(block));
  chain_.skips.push_back(skip);
  last_.boundary = chain_.blocks.size();
  last_.grid = grid;
  last_.axes = axes;
}

const LayerOutput& GrowingChain::output_of(const std::string& earlier, std::string_view does) const {
  const auto found = places_.find(earlier);
  if (found == places_.end())
    refuse(errors::unknown_name, "{} '{}', which is not an earlier layer", does, earlier);
  return found->second;
}

LayerOutput GrowingChain::skip_of(const LayerOptions& layer) {
  if (layer.skip_from.empty()) refuse(errors::missing_key, "needs 'skip_from', the layer that it reads");
  LayerOutput from = output_of(layer.skip_from, "reads");
  if (from.boundary >= last_.boundary) refuse(errors::bad_layer, "reads its input '{}'", layer.skip_from);
  if (from.boundary == 0) from.type = chain_.input_type();
  left_.erase(from.boundary);
  return from;
}

void GrowingChain::leave_input() {
  left_[last_.boundary] = chain_.blocks[last_.boundary - 1]->signature().name;
}

}  // namespace mylos
