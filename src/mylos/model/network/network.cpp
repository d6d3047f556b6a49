#include "mylos/model/network/network.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/model/block/layer_shapes.hpp"
#include "mylos/model/chain/chain_branch.hpp"
#include "mylos/model/grid/convolution_block.hpp"
#include "mylos/model/grid/pool_block.hpp"
#include "mylos/model/grid/spectral_block.hpp"
#include "mylos/model/grid/upsample_block.hpp"
#include "mylos/model/layers/activation_block.hpp"
#include "mylos/model/layers/dense.hpp"
#include "mylos/model/layers/output_loss.hpp"
#include "mylos/model/layers/residual_output.hpp"
#include "mylos/model/network/layer_blocks.hpp"
#include "mylos/model/network/output_layer.hpp"

namespace mylos {
namespace {

constexpr const char* input_name = "input";
constexpr std::size_t max_blocks = 2000;  // planning time grows with the cube of the number of blocks

/// The shape and type of a boundary.
struct Place {
  std::size_t boundary = 0;
  GridShape grid;
  std::size_t axes = 0;  // of the grid; 0: a vector
  DType type = DType::fp32;
  [[nodiscard]] SampleShape sample() const { return {grid, axes}; }
};

/// Appends the blocks of the layers in sequence.
class NetworkBuilder {
 public:
  NetworkBuilder(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                 bool accumulates, bool input_gradients)
      : model_(model),
        precision_(precision),
        seed_(seed),
        accumulates_(accumulates),
        entry_type_(type_of_residual_input(model, precision)) {
    chain_.masters = precision.masters;
    chain_.input_gradients = input_gradients;
    last_.grid = {.channels = model.inputs};
    if (model.shape.size() > 1) {
      last_.grid = grid_of(model.shape);
      last_.axes = model.shape.size() - 1;
    }
    if (last_.grid.columns() != model.inputs)
      fail_input(errors::data_mismatch, "data.shape is {}, {} numbers, but a sample of the data has {}",
                 describe(last_.grid), last_.grid.columns(), model.inputs);
  }

  void add(const LayerOptions& layer, std::string name) {
    name_ = std::move(name);
    if (chain_.blocks.empty()) places_.insert({input_name, last_});
    if (places_.contains(name_)) refuse(errors::duplicate_key, "has the name of another layer or the input");
    switch (layer.kind) {
      case LayerKind::dense:
        add_dense(layer);
        break;
      case LayerKind::conv:
        add_convolution(layer);
        break;
      case LayerKind::spectral:
        add_spectral(layer);
        break;
      case LayerKind::max_pool:
        add_pool(layer, PoolType::max);
        break;
      case LayerKind::average_pool:
        add_pool(layer, PoolType::average);
        break;
      case LayerKind::global_pool:
        add_pool(layer, PoolType::global_average);
        break;
      case LayerKind::upsample:
        add_upsampling(layer);
        break;
      case LayerKind::add:
        add_join(layer, JoinType::add);
        break;
      case LayerKind::concat:
        add_join(layer, JoinType::concat);
        break;
      case LayerKind::branch:
        add_branch(layer);
        break;
      case LayerKind::coordinates:
        append(make_coordinates(input(), types(), last_.grid));
        break;
      case LayerKind::pad:
        append(make_margins(layer.kind, padded_by(layer, input()), input(), types(), last_.grid));
        break;
      case LayerKind::crop:
        add_crop(layer);
        break;
      case LayerKind::norm:
        if (layer.norm == NormType::none) refuse(errors::missing_key, "needs a 'norm'");
        break;
      case LayerKind::activation:
        if (layer.activation == Activation::none && layer.dropout == 0)
          refuse(errors::missing_key, "needs an 'activation' or a 'dropout'");
        break;
    }
    if (!has_fused_activation(layer)) {
      if (layer.norm != NormType::none) add_norm(layer);
      const bool has_more = layer.activation != Activation::none || layer.dropout > 0;
      if (has_more && !is_fused_with_norm(layer)) add_activation(layer);
    }
    chain_.grids.resize(chain_.blocks.size(), last_.grid);
    places_[name_] = last_;
  }

  Chain finish() {
    if (!left_.empty()) {
      name_ = left_.begin()->second;
      refuse(errors::bad_layer, "has an output that no layer reads: no later layer has it as 'skip_from'");
    }
    const Signature& last = chain_.blocks.back()->signature();
    const std::int64_t outputs = last.outputs / outputs_per_target(model_.loss);
    if (model_.outputs != 0 && outputs != model_.outputs) {
      fail_input(errors::bad_layer,
                 "the network's last layer, '{}', has {} outputs per sample, but the data has {} {}; {}",
                 name_, outputs, model_.outputs,
                 model_.loss == LossType::cross_entropy ? "classes" : "targets", how_to_give_outputs());
    }
    append_residual(chain_, model_, places_.at(input_name).sample(), last_.sample());
    chain_.grids.resize(chain_.blocks.size(), last_.grid);
    chain_.head = std::make_unique<OutputLoss>(model_, last.outputs, type_of_output(chain_), last_.sample());
    return std::move(chain_);
  }

 private:
  /// Returns what would give the network the number of outputs that the data has.
  [[nodiscard]] std::string how_to_give_outputs() const {
    const std::int64_t points = last_.grid.points();
    if (last_.axes == 0 || model_.outputs % points != 0)
      return "a last dense layer without 'outputs' takes their number";
    return fmt::format(
        "on its grid of {} points it needs {} channels: 'outputs' of the last layer, or model.fields with "
        "model.type = \"unet\" or \"fno\"",
        points, model_.outputs / points);
  }

  template <class... Arguments>
  [[noreturn]] void refuse(ErrorId id, fmt::format_string<Arguments...> format, Arguments&&... of) const {
    fail_input(id, "model.layers: layer '{}' {}", name_, fmt::format(format, std::forward<Arguments>(of)...));
  }

  void append(std::unique_ptr<Block> block, std::size_t skip = no_skip) {
    if (chain_.blocks.size() == max_blocks) refuse(errors::too_large, "is beyond {} blocks", max_blocks);
    const std::string& name = block->signature().name;
    if (name == input_name || !names_.insert(name).second)
      refuse(errors::duplicate_key, "makes a block '{}', but a block of that name exists", name);
    last_.type = block->signature().output_type;
    chain_.blocks.push_back(std::move(block));
    chain_.skips.push_back(skip);
    last_.boundary = chain_.blocks.size();
  }

  [[nodiscard]] BlockTypes types() const {
    return {precision_, accumulates_, chain_.blocks.empty() ? entry_type_ : last_.type};
  }
  [[nodiscard]] DType type_without_weights(std::string_view kind) const {
    return types().without_weights(name_, kind);
  }

  [[nodiscard]] LayerInput input() const { return {name_, last_.grid, last_.axes}; }

  /// Returns whether the next block is the first one, and needs no gradient of its input.
  [[nodiscard]] bool is_first() const { return chain_.blocks.empty() && !chain_.input_gradients; }

  /// Sets the options that dense and convolution have in common.
  template <class ProductOptions>
  void set_product(ProductOptions& options, const LayerOptions& layer, std::string_view kind) const {
    types().set(options, name_, kind);
    options.first = is_first();
    options.seed = seed_;
    if (!has_fused_activation(layer)) return;
    options.activation = layer.activation;
    options.dropout = layer.dropout;
  }

  void add_dense(const LayerOptions& layer) {
    DenseOptions options;
    options.inputs = last_.grid.columns();
    options.outputs = layer.outputs > 0 ? layer.outputs : model_.outputs;
    if (options.inputs > max_numbers / std::max<std::int64_t>(1, options.outputs)) {
      refuse(errors::too_large,
             "has {} weights for each of {} outputs: more than the {} that a matrix may have", options.inputs,
             options.outputs, max_numbers);
    }
    set_product(options, layer, "linear");
    append(std::make_unique<Dense>(options));
    last_.grid = {.channels = options.outputs};
    last_.axes = 0;
  }

  void add_convolution(const LayerOptions& layer) {
    ConvolutionOptions options;
    options.shape = convolution_of(layer, input());
    options.bias = layer.bias;
    set_product(options, layer, "conv");
    append(std::make_unique<ConvolutionBlock>(options));
    last_.grid = output_grid(options.shape);
  }

  void add_spectral(const LayerOptions& layer) {
    SpectralOptions options;
    types().set(options, name_, "spectral");
    options.shape = spectral_of(layer, input());
    options.bias = layer.bias;
    options.first = is_first();
    append(std::make_unique<SpectralBlock>(options));
    last_.grid = output_grid(options.shape);
  }

  void add_pool(const LayerOptions& layer, PoolType pool) {
    PoolOptions options;
    options.name = name_;
    options.pool = pool;
    options.shape =
        pool == PoolType::global_average ? PoolShape{.input = last_.grid} : pool_of(layer, input());
    options.type = type_without_weights(name_of(layer.kind));
    auto block = std::make_unique<PoolBlock>(std::move(options));
    last_.grid = block->output();
    if (pool == PoolType::global_average) last_.axes = 0;
    append(std::move(block));
  }

  void add_upsampling(const LayerOptions& layer) {
    UpsampleOptions options;
    options.name = name_;
    options.shape = upsampling_of(layer, input());
    options.type = type_without_weights("upsample");
    auto block = std::make_unique<UpsampleBlock>(std::move(options));
    last_.grid = block->output();
    append(std::move(block));
  }

  /// Returns the output of an earlier layer. `does`: what the current layer does with it.
  [[nodiscard]] const Place& output_of(const std::string& earlier, std::string_view does) const {
    const auto found = places_.find(earlier);
    if (found == places_.end())
      refuse(errors::unknown_name, "{} '{}', which is not an earlier layer", does, earlier);
    return found->second;
  }

  /// Returns the boundary that the layer reads besides its input.
  [[nodiscard]] Place skip_of(const LayerOptions& layer) {
    if (layer.skip_from.empty()) refuse(errors::missing_key, "needs 'skip_from', the layer that it reads");
    Place from = output_of(layer.skip_from, "reads");
    if (from.boundary >= last_.boundary) refuse(errors::bad_layer, "reads its input '{}'", layer.skip_from);
    if (from.boundary == 0) from.type = chain_.input_type();
    left_.erase(from.boundary);
    return from;
  }

  void add_branch(const LayerOptions& layer) {
    const Place from = skip_of(layer);
    const std::size_t left = last_.boundary;
    append(std::make_unique<ChainBranch>(ChainBranchOptions{.name = name_,
                                                            .inputs = last_.grid.columns(),
                                                            .skip_inputs = from.grid.columns(),
                                                            .input_type = last_.type,
                                                            .skip_type = from.type}),
           from.boundary);
    left_[left] = chain_.blocks[left - 1]->signature().name;
    last_.grid = from.grid;
    last_.axes = from.axes;
  }

  void add_join(const LayerOptions& layer, JoinType join) {
    const Place from = skip_of(layer);
    if (from.grid.extent != last_.grid.extent) require_levels(model_.chain, model_.shape);
    append(make_join(layer, join, input(), {from.grid, from.type}, types()), from.boundary);
    if (join == JoinType::add) return;
    last_.grid.channels += from.grid.channels;
    check_grid(last_.grid, fmt::format("model.layers: layer '{}'", name_).c_str());
  }

  void add_crop(const LayerOptions& layer) {
    if (layer.like.empty()) refuse(errors::missing_key, "needs 'like', the layer whose grid it takes");
    const Place& target = output_of(layer.like, "takes the grid of");
    if (target.axes == 0) refuse(errors::bad_layer, "'{}' gives a vector, not a grid", layer.like);
    append(
        make_margins(layer.kind, cropped_to(input(), layer.like, target.grid), input(), types(), last_.grid));
  }

  void add_norm(const LayerOptions& layer) {
    append(make_layer_norm(layer, layer.kind == LayerKind::norm ? name_ : name_ + ".norm", input(), types()));
  }

  void add_activation(const LayerOptions& layer) {
    ActivationOptions options;
    options.name = layer.kind == LayerKind::activation ? name_ : name_ + ".activation";
    options.width = last_.grid.columns();
    options.activation = layer.activation;
    options.dropout = layer.dropout;
    options.type = type_without_weights("activation");
    options.seed = seed_;
    append(std::make_unique<ActivationBlock>(std::move(options)));
  }

  const ModelOptions& model_;
  const PrecisionOptions& precision_;
  std::uint64_t seed_;
  bool accumulates_;
  std::optional<DType> entry_type_;  // of the input, if it differs from the first layer's
  Chain chain_;
  Place last_;
  std::set<std::string> names_;              // of all blocks
  std::string name_;                         // of the current layer
  std::map<std::string, Place> places_;      // the output of each earlier layer
  std::map<std::size_t, std::string> left_;  // boundaries that branches left and no layer has read yet
};

}  // namespace

Chain make_network(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                   bool accumulates, bool input_gradients) {
  if (model.chain.empty())
    fail_input(errors::missing_key, "model.type = \"chain\" needs at least one [[model.layers]]");
  NetworkBuilder builder(model, precision, seed, accumulates, input_gradients);
  const std::size_t output =
      outputs_per_target(model.loss) > 1 ? output_layer(model.chain) : model.chain.size();  // none is special
  for (std::size_t i = 0; i < model.chain.size(); ++i) {
    const LayerOptions& layer = model.chain[i];
    const std::string name = layer_name(model.chain, i);
    for (std::int64_t copy = 1; copy <= layer.repeat; ++copy) {
      const bool is_output = i == output && copy == layer.repeat;
      builder.add(is_output ? with_outputs_of_targets(layer, model) : layer,
                  layer.repeat == 1 ? name : fmt::format("{}.{}", name, copy));
    }
  }
  return builder.finish();
}

}  // namespace mylos
