#include "mylos/model/chain/short_forms.hpp"

#include <fmt/format.h>

namespace mylos {
namespace {

class LayerList {
 public:
  explicit LayerList(const ModelOptions& model) : model_(model) {}

  [[nodiscard]] std::vector<LayerOptions> cnn() {
    for (std::size_t i = 0; i < model_.channels.size(); ++i) {
      add(convolution(fmt::format("conv{}", i + 1), model_.channels[i]));
      add({.kind = LayerKind::max_pool, .name = fmt::format("pool{}", i + 1)});
    }
    for (std::size_t i = 0; i < model_.hidden.size(); ++i) {
      add({.kind = LayerKind::dense,
           .name = fmt::format("hidden{}", i + 1),
           .outputs = model_.hidden[i],
           .activation = model_.activation,
           .dropout = model_.dropout});
    }
    add({.kind = LayerKind::dense, .name = "head"});
    return std::move(layers_);
  }

  [[nodiscard]] std::vector<LayerOptions> resnet() {
    add(convolution("stem", model_.channels.front()));
    std::int64_t channels = model_.channels.front();
    for (std::size_t stage = 0; stage < model_.channels.size(); ++stage) {
      for (std::int64_t block = 1; block <= model_.blocks; ++block) {
        const std::int64_t outputs = model_.channels[stage];
        const std::int64_t stride = stage > 0 && block == 1 ? 2 : 1;
        add_residual_block(fmt::format("stage{}_{}", stage + 1, block), outputs, stride,
                           outputs != channels || stride > 1);
        channels = outputs;
      }
    }
    add({.kind = LayerKind::global_pool, .name = "pool", .dropout = model_.dropout});
    add({.kind = LayerKind::dense, .name = "head"});
    return std::move(layers_);
  }

  [[nodiscard]] std::vector<LayerOptions> unet() {
    const std::size_t levels = model_.channels.size();
    for (std::size_t level = 0; level < levels; ++level) {
      const bool is_deepest = level + 1 == levels;
      const std::string name = is_deepest ? "deepest" : fmt::format("down{}", level + 1);
      add_convolutions(name, model_.channels[level]);
      if (!is_deepest) add({.kind = LayerKind::max_pool, .name = name + "_pool"});
    }
    for (std::size_t level = levels - 1; level-- > 0;) {
      const std::string name = fmt::format("up{}", level + 1);
      add({.kind = LayerKind::conv,
           .name = name + "_double",
           .outputs = model_.channels[level],
           .kernel = {2},
           .stride = {2},
           .padding = {0},
           .transposed = true});
      add({.kind = LayerKind::concat,
           .name = name + "_beside",
           .skip_from = fmt::format("down{}_{}", level + 1, model_.blocks)});
      add_convolutions(name, model_.channels[level]);
    }
    add({.kind = LayerKind::conv, .name = "head", .outputs = model_.fields});
    return std::move(layers_);
  }

 private:
  void add(LayerOptions layer) { layers_.push_back(std::move(layer)); }

  /// Returns a convolution with norm and activation.
  [[nodiscard]] LayerOptions convolution(std::string name, std::int64_t outputs) const {
    LayerOptions layer{.kind = LayerKind::conv, .name = std::move(name), .outputs = outputs};
    layer.kernel = {model_.kernel};
    layer.edges = model_.edges;
    layer.bias = model_.norm != NormType::batchnorm;  // batch normalisation would remove a bias
    layer.norm = model_.norm;
    layer.activation = model_.activation;
    return layer;
  }

  void add_convolutions(const std::string& name, std::int64_t outputs) {
    for (std::int64_t i = 1; i <= model_.blocks; ++i) {
      LayerOptions layer = convolution(fmt::format("{}_{}", name, i), outputs);
      layer.dropout = model_.dropout;
      add(std::move(layer));
    }
  }

  void add_residual_block(const std::string& name, std::int64_t outputs, std::int64_t stride, bool projects) {
    const std::string from = layers_.back().name;
    std::string connection = from;
    if (projects) {
      connection = name + "_shortcut";
      LayerOptions shortcut = convolution(connection, outputs);
      shortcut.kernel = {1};
      shortcut.stride = {stride};
      shortcut.activation = Activation::none;
      add(std::move(shortcut));
      add({.kind = LayerKind::branch, .name = name + "_branch", .skip_from = from});
    }
    LayerOptions first = convolution(name + "_conv1", outputs);
    first.stride = {stride};
    add(std::move(first));
    LayerOptions second = convolution(name + "_conv2", outputs);
    second.activation = Activation::none;
    add(std::move(second));
    add({.kind = LayerKind::add,
         .name = name,
         .activation = model_.activation,
         .skip_from = std::move(connection)});
  }

  const ModelOptions& model_;
  std::vector<LayerOptions> layers_;
};

std::vector<LayerOptions> layers_of(const ModelOptions& model) {
  LayerList list(model);
  switch (model.type) {
    case ModelType::cnn:
      return list.cnn();
    case ModelType::resnet:
      return list.resnet();
    default:
      return list.unet();
  }
}

}  // namespace

ModelOptions expand_short_form(ModelOptions model) {
  if (!is_short_form(model.type)) return model;
  ModelOptions chain = model;
  chain.type = ModelType::chain;
  chain.chain = layers_of(model);
  const ModelOptions usual;  // resets the options that the layers now state
  chain.hidden = usual.hidden;
  chain.activation = usual.activation;
  chain.norm = usual.norm;
  chain.dropout = usual.dropout;
  chain.channels = usual.channels;
  chain.blocks = usual.blocks;
  chain.kernel = usual.kernel;
  chain.edges = usual.edges;
  chain.fields = usual.fields;
  return chain;
}

}  // namespace mylos
