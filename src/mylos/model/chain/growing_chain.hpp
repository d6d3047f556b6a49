// GrowingChain: the chain of a network while its layers are added, one after the other. A kind of layer
// (model/layers) finds its input here, and the outputs of earlier layers, and appends its blocks. Of a part
// of the samples (ModelOptions::part) all grids are a rank's boxes.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/block_types.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/chain/levels.hpp"

namespace mylos {

/// The name by which layers read the network's input.
inline constexpr const char* input_name = "input";

/// The output of a layer: a boundary of the chain.
struct LayerOutput {
  std::size_t boundary = 0;
  GridShape grid;
  std::size_t axes = 0;  // of the grid; 0: a vector
  DType type = DType::fp32;
};

class GrowingChain {
 public:
  /// Keeps references to the options. `entry`: the type of the input, if it is not the first layer's.
  GrowingChain(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
               bool accumulates, bool input_gradients, std::optional<DType> entry);

  /// Begins a layer. Throws Error (bad_input) if another one has its name, as the functions below do if the
  /// layer does not fit.
  void begin_layer(std::string name);
  void end_layer();
  /// Refuses boundaries that no layer reads, and returns the chain, without a head.
  [[nodiscard]] Chain take();

  /// Returns the output of the last layer, and the network's input.
  [[nodiscard]] const LayerOutput& last() const { return last_; }
  [[nodiscard]] const LayerOutput& first() const { return first_; }

  // The layer that is being added.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] LayerInput input() const { return {name_, last_.grid, last_.axes}; }
  [[nodiscard]] BlockTypes types() const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] const ModelOptions& model() const { return model_; }
  /// Returns the block before the next one, or null.
  [[nodiscard]] const Block* last_block() const {
    return chain_.blocks.empty() ? nullptr : chain_.blocks.back().get();
  }
  /// Returns whether the next block is the first one, and needs no gradient of its input.
  [[nodiscard]] bool is_first() const { return chain_.blocks.empty() && !chain_.input_gradients; }
  /// Returns `outputs`, or where it is 0 the number that the data require.
  [[nodiscard]] std::int64_t outputs_or_targets(std::int64_t outputs) const {
    return outputs > 0 ? outputs : model_.outputs;
  }
  /// Sets the options that the blocks of dense layers and convolutions have in common.
  template <class ProductOptions>
  void set_product(ProductOptions& options, const LayerOptions& layer, std::string_view kind) const {
    types().set(options, name_, kind);
    options.first = is_first();
    options.seed = seed_;
    if (!has_fused_activation(layer)) return;
    options.activation = layer.activation;
    options.dropout = layer.dropout;
  }

  /// Appends a block whose output has this grid and number of axes, and which also reads the boundary `skip`.
  void append(std::unique_ptr<const Block> block, const GridShape& grid, std::size_t axes,
              std::size_t skip = no_skip);
  /// Appends a block whose output has as many axes as its input.
  void append(std::unique_ptr<const Block> block, const GridShape& grid) {
    append(std::move(block), grid, last_.axes);
  }

  /// Returns the output of an earlier layer. `does`: what the current layer does with it.
  [[nodiscard]] const LayerOutput& output_of(const std::string& earlier, std::string_view does) const;
  /// Returns the boundary that the layer reads besides its input, 'skip_from'.
  [[nodiscard]] LayerOutput skip_of(const LayerOptions& layer);
  /// Leaves the layer's input to a later layer, which must read it as its 'skip_from'.
  void leave_input();
  /// Refuses networks whose levels cannot have the same points (require_levels()).
  void require_levels_fit() const { require_levels(model_.chain, model_.shape); }

  template <class... Arguments>
  [[noreturn]] void refuse(ErrorId id, fmt::format_string<Arguments...> format, Arguments&&... of) const {
    fail_input(id, "model.layers: layer '{}' {}", name_, fmt::format(format, std::forward<Arguments>(of)...));
  }

 private:
  const ModelOptions& model_;
  const PrecisionOptions& precision_;
  std::uint64_t seed_;
  bool accumulates_;
  std::optional<DType> entry_type_;  // of the input, if it differs from the first layer's
  Chain chain_;
  LayerOutput first_;
  LayerOutput last_;
  std::set<std::string> names_;                // of all blocks
  std::string name_;                           // of the current layer
  std::map<std::string, LayerOutput> places_;  // the output of each earlier layer
  std::map<std::size_t, std::string> left_;    // boundaries that branches left and no layer has read yet
};

}  // namespace mylos
