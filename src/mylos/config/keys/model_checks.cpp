// Checks the keys of [model] against each other.
#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/numbers/target_channels.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/model/chain/short_forms.hpp"

namespace mylos {
namespace {

class ModelChecks : DeckMistakes {
 public:
  ModelChecks(const Options& options, const GivenPlaces& given, const std::string& file_name)
      : DeckMistakes(given, file_name), options_(options), given_(given) {}

  void model() const {
    const ModelType type = options_.model.type;
    layers_of_a_chain();
    quantiles();
    terms();
    nonnegative();
    if (type == ModelType::gpt) transformer();
    if (type == ModelType::chain) chain();
    if (is_short_form(type)) return;
    if (options_.model.norm == NormType::groupnorm || options_.model.norm == NormType::batchnorm) {
      fail(errors::keys_conflict, {"model.norm"},
           fmt::format("the type \"{}\" has no 'model.norm' = \"{}\"; it supports layernorm and rmsnorm",
                       name_of(type), name_of(options_.model.norm)));
    }
  }

 private:
  /// Refuses layer tables for other types than "chain"; for a transformer the key is a number.
  void terms() const {
    if (!std::holds_alternative<losses::Sum>(options_.model.loss) || !options_.model.terms.empty()) return;
    fail(errors::missing_key, {"model.loss"},
         "model.loss = \"sum\" needs at least one [[model.terms]], such as loss = \"mse\", channels = [0]");
  }

  void nonnegative() const {
    const DataOptions& data = options_.data;
    for (const std::string& target : options_.model.nonnegative) {
      const std::string_view name =
          std::string_view(target).substr(std::min(target.find_first_not_of('/'), target.size()));
      for (const std::string& array : data.arrays.targets) {
        if (!data.arrays.is_difference(array) || !is_channel_of(name, array)) continue;
        fail(errors::keys_conflict,
             {"model.nonnegative", "data.arrays.targets_are", "data.arrays.differences"},
             fmt::format("'model.nonnegative' bounds states, and the targets \"{}\" are differences",
                         printable(array)));
      }
    }
  }

  void quantiles() const {
    const auto* quantile = std::get_if<losses::Quantile>(&options_.model.loss);
    if (quantile == nullptr || quantile->are_levels_valid()) return;
    fail(errors::bad_value, {"model.quantiles"},
         fmt::format("'model.quantiles' are 1 to {} levels that ascend, such as [0.05, 0.5, 0.95]",
                     losses::max_quantiles));
  }

  void layers_of_a_chain() const {
    if (options_.model.chain.empty() || options_.model.type == ModelType::chain) return;
    const char* first = "model.layers.1";
    fail(errors::keys_conflict, {given_.contains(first) ? first : "model.layers"},
         fmt::format("[[model.layers]] needs model.type = \"chain\", and the type is \"{}\"",
                     name_of(options_.model.type)));
  }

  /// Returns whether the layer's output certainly has the points of its input.
  static bool keeps_points(const LayerOptions& layer) {
    const auto* conv = std::get_if<kinds::Conv>(&layer.kind);
    if (conv == nullptr) return traits_of(layer.kind).keeps_points;
    const bool is_odd =
        std::all_of(conv->kernel.begin(), conv->kernel.end(), [](std::int64_t k) { return k % 2 == 1; });
    return is_odd && !conv->transposed && conv->stride.empty() && conv->padding.empty();
  }

  /// Refuses modes that do not fit 'data.shape', as far as the deck alone shows it; with other grids, the
  /// network is refused later. `key`: of the layer. `on_samples`: its grid has the points of a sample.
  void modes_fit(const PerAxis& given, const std::string& name, const char* key, bool on_samples) const {
    const std::vector<std::int64_t>& shape = options_.data.shape;
    if (shape.size() < 2) return;
    const std::size_t axes = shape.size() - 1;
    if (given.size() != 1 && given.size() != axes) {
      fail(errors::bad_layer, {key},
           fmt::format("layer '{}' has {} numbers in 'modes', and the grid of 'data.shape' has {}; give 1{}",
                       name, given.size(), axes == 1 ? "1 axis" : fmt::format("{} axes", axes),
                       axes == 1 ? "" : fmt::format(" or {}", axes)));
    }
    for (std::size_t axis = 0; on_samples && axis < axes; ++axis) {
      const std::int64_t modes = along(given, axis, 0);
      if (modes <= shape[axis]) continue;
      fail(errors::bad_layer, {key},
           fmt::format("layer '{}' has {} modes along axis {} of 'data.shape', which has {} points; the "
                       "largest number allowed is {}",
                       name, modes, axis + 1, shape[axis], shape[axis]));
    }
  }

  void chain() const {
    const ModelOptions& model = options_.model;
    bool on_samples = true;
    if (model.chain.empty()) {
      fail(errors::missing_key, {"model.type", "model.layers"},
           "the type \"chain\" needs layers, one table [[model.layers]] for each");
    }
    for (std::size_t i = 0; i < model.chain.size(); ++i) {
      const LayerOptions& layer = model.chain[i];
      const std::string place = fmt::format("model.layers.{}", i + 1);
      const char* key = given_.contains(place) ? place.c_str() : "model.layers";
      const std::string name = layer_name(model.chain, i);
      const auto* spectral = std::get_if<kinds::Spectral>(&layer.kind);
      const bool needs_outputs = traits_of(layer.kind).computes_outputs;
      if (spectral != nullptr && spectral->modes.empty()) {
        fail(errors::missing_key, {key},
             fmt::format("layer '{}' needs 'modes', the wave numbers that it keeps along each axis", name));
      }
      if (spectral != nullptr) modes_fit(spectral->modes, name, key, on_samples);
      on_samples = on_samples && keeps_points(layer);
      if (i + 1 == model.chain.size()) sums(layer, name, key);
      if (needs_outputs && layer.outputs == 0 && !takes_outputs_of_data(model.chain, i)) {
        fail(errors::missing_key, {key},
             fmt::format("layer '{}' needs 'outputs'; only for a last dense layer the data determine them",
                         name));
      }
      for (std::size_t before = 0; before < i; ++before) {
        if (layer_name(model.chain, before) == name)
          fail(errors::duplicate_key, {key},
               fmt::format("layers {} and {} are both named '{}'", before + 1, i + 1, name));
      }
    }
  }

  /// Sums of a network's outputs are those of its data only if both have the same shift and scale.
  void sums(const LayerOptions& layer, const std::string& name, const char* key) const {
    const DataOptions& data = options_.data;
    const auto* conserve = std::get_if<kinds::Conserve>(&layer.kind);
    const bool keeps = conserve != nullptr;
    if (!keeps && !std::holds_alternative<kinds::ZeroSum>(layer.kind)) return;
    if (!options_.model.nonnegative.empty()) {
      fail(errors::keys_conflict, {key, "model.nonnegative"},
           fmt::format("layer '{}' sets sums, which 'model.nonnegative' would change", name));
    }
    if (!data.arrays.mask.empty() || !data.arrays.masks.empty()) {
      fail(errors::keys_conflict, {key, "data.arrays.mask"},
           fmt::format("layer '{}' sums over all points, and 'data.arrays.mask' leaves some out", name));
    }
    if (data.arrays.any_may_be_missing(data.arrays.inputs)) {
      fail(errors::keys_conflict, {key, "data.arrays.missing"},
           fmt::format("layer '{}' sums over all points, and inputs of 'data.arrays.missing' lack some",
                       name));
    }
    if (keeps && options_.model.residual) {
      fail(errors::keys_conflict, {key, "model.residual"},
           fmt::format(
               "layer '{}' keeps the sums of its own outputs, to which 'model.residual' adds the input; use "
               "kind = \"zero_sum\"",
               name));
    }
    const bool is_in_order = data.arrays.targets == data.arrays.inputs &&
                             (data.arrays.history == 1 || (keeps && conserve->channels.empty())) &&
                             data.arrays.encodings.empty();
    const bool pairs_by_number = keeps && conserve->from_channels.empty() && layer.skip_from == "input";
    if (pairs_by_number && !data.arrays.inputs.empty() && !is_in_order) {
      fail(errors::keys_conflict, {key, "data.arrays.targets"},
           fmt::format(
               "layer '{}' keeps the sums of channels of the same numbers, and 'data.arrays.targets' are not "
               "'data.arrays.inputs' in their order at one level; give 'from_channels'",
               name));
    }
    if (data.normalize == Normalize::none) return;
    if (!keeps && !options_.model.residual) {
      fail(
          errors::keys_conflict, {key, "data.normalize"},
          fmt::format("layer '{}' gives outputs whose sums are 0 after 'data.normalize', not in the units of "
                      "the data; use \"none\", or 'model.residual', which adds them to the input",
                      name));
    }
    if (data.arrays.inputs.empty()) {
      fail(errors::keys_conflict, {key, "data.normalize"},
           fmt::format(
               "layer '{}' keeps sums, but 'data.normalize' scales inputs and targets by statistics of "
               "their own; use \"none\", or [data.arrays], which scales an array once",
               name));
    }
    if (!data.arrays.has_differences()) return;
    fail(errors::keys_conflict, {key, "data.arrays.targets_are", "data.arrays.differences"},
         fmt::format("layer '{}' keeps sums of states, and the targets are differences "
                     "('data.arrays.targets_are' or 'data.arrays.differences'); use states",
                     name));
  }

  void transformer() const {
    const ModelOptions& model = options_.model;
    for (const auto& [path, value] :
         {std::pair{"model.layers", model.layers}, std::pair{"model.heads", model.heads},
          std::pair{"model.width", model.width}, std::pair{"model.context", model.context}}) {
      if (value == 0)
        fail(errors::missing_key, {"model.type"}, fmt::format("the type \"gpt\" needs '{}'", path));
    }
    if (model.width % model.heads != 0) {
      fail(errors::keys_conflict, {"model.heads", "model.width"},
           fmt::format("'model.heads' is {}, which does not divide the {} of 'model.width'", model.heads,
                       model.width));
    }
    const std::int64_t head_width = model.width / model.heads;
    if (model.positions == PositionType::rotary && head_width % 2 != 0) {
      fail(errors::keys_conflict, {"model.positions", "model.heads", "model.width"},
           fmt::format("rotary positions rotate pairs of features, but a head has {} (model.width / "
                       "model.heads); make it even",
                       head_width));
    }
    if (model.norm == NormType::none) {
      fail(errors::keys_conflict, {"model.norm"},
           "the type \"gpt\" needs 'model.norm' \"layernorm\" or \"rmsnorm\"");
    }
  }

  const Options& options_;
  const GivenPlaces& given_;
};

}  // namespace

void check_model(const Options& options, const GivenPlaces& given, const std::string& file_name) {
  ModelChecks(options, given, file_name).model();
  if (is_short_form(options.model.type)) check_short_form(options, given, file_name);
}

}  // namespace mylos
