#include "mylos/model/chain/short_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mylos {
namespace {

/// Returns `ratio` times the width in whole channels, at least 1.
std::int64_t scaled_width(std::int64_t width, double ratio) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(ratio * static_cast<double>(width)));
}

class LayerList {
 public:
  explicit LayerList(const ModelOptions& model) : model_(model) {}

  [[nodiscard]] std::vector<LayerOptions> cnn() {
    for (std::size_t i = 0; i < model_.channels.size(); ++i) {
      add(convolution(fmt::format("conv{}", i + 1), model_.channels[i], usual_convolution()));
      add({.kind = kinds::MaxPool{}, .name = fmt::format("pool{}", i + 1)});
    }
    for (std::size_t i = 0; i < model_.hidden.size(); ++i) {
      add({.kind = kinds::Dense{},
           .name = fmt::format("hidden{}", i + 1),
           .outputs = model_.hidden[i],
           .activation = model_.activation,
           .dropout = model_.dropout});
    }
    add({.kind = kinds::Dense{}, .name = "head"});
    return std::move(layers_);
  }

  [[nodiscard]] std::vector<LayerOptions> resnet() {
    add(convolution("stem", model_.channels.front(), usual_convolution()));
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
    add({.kind = kinds::GlobalPool{}, .name = "pool", .dropout = model_.dropout});
    add({.kind = kinds::Dense{}, .name = "head"});
    return std::move(layers_);
  }

  [[nodiscard]] std::vector<LayerOptions> unet() {
    const std::size_t levels = model_.channels.size();
    for (std::size_t level = 0; level < levels; ++level) {
      const bool is_deepest = level + 1 == levels;
      const std::string name = is_deepest ? "deepest" : fmt::format("down{}", level + 1);
      add_convolutions(name, model_.channels[level]);
      if (!is_deepest) add({.kind = kinds::MaxPool{}, .name = name + "_pool"});
    }
    for (std::size_t level = levels - 1; level-- > 0;) {
      const std::string name = fmt::format("up{}", level + 1);
      add({.kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true},
           .name = name + "_double",
           .outputs = model_.channels[level]});
      add({.kind = kinds::Concat{.skip_first = model_.skip_first},
           .name = name + "_beside",
           .skip_from = fmt::format("down{}_{}", level + 1, model_.blocks)});
      add_convolutions(name, model_.channels[level]);
    }
    add({.kind = kinds::Conv{}, .name = "head", .outputs = model_.fields});
    return std::move(layers_);
  }

  [[nodiscard]] std::vector<LayerOptions> fno() {
    const bool has_margins =
        std::any_of(model_.padding.begin(), model_.padding.end(), [](double margin) { return margin > 0; });
    if (model_.coordinates) add({.kind = kinds::Coordinates{}, .name = "coordinates"});
    add(pointwise("lift1", scaled_width(model_.width, model_.lifting), model_.activation));
    add(pointwise("lift2", model_.width));
    if (has_margins) add({.kind = kinds::Pad{.margin = model_.padding}, .name = "pad"});
    for (std::int64_t block = 1; block <= model_.blocks; ++block)
      add_fourier_block(fmt::format("block{}", block),
                        block < model_.blocks ? model_.activation : Activation::none);
    if (has_margins) add({.kind = kinds::Crop{.like = "lift2"}, .name = "crop"});
    add(pointwise("project1", scaled_width(model_.width, model_.projection), model_.activation));
    add(pointwise("head", model_.fields));
    return std::move(layers_);
  }

  [[nodiscard]] std::vector<LayerOptions> vit() {
    const kinds::Conv patches{.kernel = model_.patch, .stride = model_.patch, .padding = {0}};
    add(pointwise("patches", model_.width, Activation::none, patches));
    add({.kind = kinds::Positions{}, .name = "positions", .dropout = model_.dropout});
    for (std::int64_t block = 1; block <= model_.blocks; ++block)
      add_transformer_block(fmt::format("block{}", block));
    add_own_norm("norm");
    if (model_.fields > 0) {
      kinds::Conv back = patches;
      back.transposed = true;
      add(pointwise("head", model_.fields, Activation::none, back));
    } else {
      add({.kind = kinds::GlobalPool{}, .name = "pool"});
      add({.kind = kinds::Dense{}, .name = "head"});
    }
    return std::move(layers_);
  }

 private:
  void add(LayerOptions layer) { layers_.push_back(std::move(layer)); }

  /// Returns the convolution that all layers of the network have.
  [[nodiscard]] kinds::Conv usual_convolution() const {
    // Batch normalisation would remove a bias.
    return {.bias = model_.conv_bias.value_or(model_.norm != NormType::batchnorm),
            .kernel = {model_.kernel},
            .edges = model_.edges};
  }

  /// Returns a convolution with norm and activation.
  [[nodiscard]] LayerOptions convolution(std::string name, std::int64_t outputs, kinds::Conv kind) const {
    return {.kind = std::move(kind),
            .name = std::move(name),
            .outputs = outputs,
            .norm = model_.norm,
            .activation = model_.activation};
  }

  void add_convolutions(const std::string& name, std::int64_t outputs) {
    for (std::int64_t i = 1; i <= model_.blocks; ++i) {
      LayerOptions layer = convolution(fmt::format("{}_{}", name, i), outputs, usual_convolution());
      layer.dropout = model_.dropout;
      add(std::move(layer));
    }
  }

  void add_residual_block(const std::string& name, std::int64_t outputs, std::int64_t stride, bool projects) {
    const std::string from = layers_.back().name;
    std::string connection = from;
    if (projects) {
      connection = name + "_shortcut";
      kinds::Conv projection = usual_convolution();
      projection.kernel = {1};
      projection.stride = {stride};
      LayerOptions shortcut = convolution(connection, outputs, std::move(projection));
      shortcut.activation = Activation::none;
      add(std::move(shortcut));
      add({.kind = kinds::Branch{}, .name = name + "_branch", .skip_from = from});
    }
    kinds::Conv first = usual_convolution();
    first.stride = {stride};
    add(convolution(name + "_conv1", outputs, std::move(first)));
    LayerOptions second = convolution(name + "_conv2", outputs, usual_convolution());
    second.activation = Activation::none;
    add(std::move(second));
    add({.kind = kinds::Add{},
         .name = name,
         .activation = model_.activation,
         .skip_from = std::move(connection)});
  }

  [[nodiscard]] static LayerOptions pointwise(std::string name, std::int64_t outputs,
                                              Activation activation = Activation::none,
                                              kinds::Conv kind = {}) {
    return {.kind = std::move(kind), .name = std::move(name), .outputs = outputs, .activation = activation};
  }

  void set_norm(LayerOptions& layer) const {
    layer.norm = model_.norm;
    if (model_.norm == NormType::groupnorm) layer.norm_groups = 1;
  }

  void add_fourier_block(const std::string& name, Activation activation) {
    const std::string from = layers_.back().name;
    add(pointwise(name + "_linear", model_.width, Activation::none, {.bias = false}));
    add({.kind = kinds::Branch{}, .name = name + "_branch", .skip_from = from});
    LayerOptions spectral{
        .kind = kinds::Spectral{.modes = model_.modes}, .name = name + "_spectral", .outputs = model_.width};
    set_norm(spectral);
    add(std::move(spectral));
    add({.kind = kinds::Add{},
         .name = name + "_sum",
         .activation = activation,
         .skip_from = name + "_linear"});
    if (model_.channel_mlp > 0) return add_channel_mlp(name, from, activation);
    if (model_.norm == NormType::none && activation == Activation::none) return;
    // As neuraloperator: a block without a channel MLP has the second norm and the second activation.
    LayerOptions second{.kind = kinds::Activation{}, .name = name, .activation = activation};
    if (model_.norm != NormType::none) {
      second.kind = kinds::Norm{};
      set_norm(second);
    }
    add(std::move(second));
  }

  /// Adds a norm as a layer of its own.
  void add_own_norm(const std::string& name) {
    LayerOptions norm{.kind = kinds::Norm{}, .name = name};
    set_norm(norm);
    add(std::move(norm));
  }

  void add_transformer_block(const std::string& name) {
    const std::string from = layers_.back().name;
    add_own_norm(name + "_norm1");
    add(pointwise(name + "_qkv", 3 * model_.width));
    add({.kind = kinds::Attention{.heads = model_.heads}, .name = name + "_attention"});
    LayerOptions mixed = pointwise(name + "_heads", model_.width);
    mixed.dropout = model_.dropout;
    add(std::move(mixed));
    add({.kind = kinds::Add{}, .name = name + "_sum", .skip_from = from});
    add_own_norm(name + "_norm2");
    LayerOptions hidden = pointwise(name + "_mlp1", mlp_width(), model_.activation);
    hidden.dropout = model_.dropout;
    add(std::move(hidden));
    LayerOptions out = pointwise(name + "_mlp2", model_.width);
    out.dropout = model_.dropout;
    add(std::move(out));
    add({.kind = kinds::Add{}, .name = name, .skip_from = name + "_sum"});
  }

  [[nodiscard]] std::int64_t mlp_width() const {
    const double hidden = std::nearbyint(model_.channel_mlp * static_cast<double>(model_.width));
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(hidden));
  }

  void add_channel_mlp(const std::string& name, const std::string& from, Activation activation) {
    add(pointwise(name + "_mlp1", mlp_width(), model_.activation));
    add(pointwise(name + "_mlp2", model_.width));
    LayerOptions sum{
        .kind = kinds::Add{.gated = true}, .name = name, .activation = activation, .skip_from = from};
    set_norm(sum);
    add(std::move(sum));
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
    case ModelType::fno:
      return list.fno();
    case ModelType::vit:
      return list.vit();
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
  chain.conv_bias = usual.conv_bias;
  chain.skip_first = usual.skip_first;
  chain.fields = usual.fields;
  chain.width = usual.width;
  chain.heads = usual.heads;
  chain.patch = usual.patch;
  chain.modes = usual.modes;
  chain.lifting = usual.lifting;
  chain.projection = usual.projection;
  chain.channel_mlp = usual.channel_mlp;
  chain.padding = usual.padding;
  chain.coordinates = usual.coordinates;
  return chain;
}

}  // namespace mylos
