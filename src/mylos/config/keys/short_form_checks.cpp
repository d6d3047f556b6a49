// Checks the keys of the short forms of networks on grids (short_forms.hpp) against each other.
#include <fmt/format.h>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/model/chain/short_forms.hpp"

namespace mylos {
namespace {

class ShortFormChecks : DeckMistakes {
 public:
  ShortFormChecks(const Options& options, const GivenPlaces& given, const std::string& file_name)
      : DeckMistakes(given, file_name), options_(options), given_(given) {}

  void short_form() const {
    const ModelOptions& model = options_.model;
    if (model.type == ModelType::vit) return vision_transformer();
    if (model.fields == 0) {
      fail(errors::bad_value, {"model.fields"},
           fmt::format("'model.fields' = 0 is for the type \"vit\"; the type \"{}\" needs at least 1",
                       name_of(model.type)));
    }
    if (model.type == ModelType::fno) return fourier_operator();
    if (model.channels.empty()) {
      fail(errors::missing_key, {"model.type", "model.channels"},
           fmt::format("the type \"{}\" needs 'model.channels', a list of one number or more",
                       name_of(model.type)));
    }
    const auto layers = 4 * model.blocks * static_cast<std::int64_t>(model.channels.size());
    if (layers > max_layers) {
      fail(errors::keys_conflict, {"model.blocks", "model.channels"},
           fmt::format("'model.blocks' = {} in each of {} stages are more than {} layers", model.blocks,
                       model.channels.size(), max_layers));
    }
    require_layers({"model.channels"});
    const auto groups = LayerOptions{}.norm_groups;
    for (const std::int64_t channels : model.channels) {
      if (model.norm != NormType::groupnorm || channels % groups == 0) continue;
      fail(errors::keys_conflict, {"model.type", "model.norm", "model.channels"},
           fmt::format(
               "'model.norm' = \"groupnorm\"{} takes {} groups of channels, which do not divide the {} of "
               "'model.channels'; give multiples of {}, or another 'model.norm'",
               given_.contains("model.norm") ? ""
                                             : fmt::format(", the default of \"{}\",", name_of(model.type)),
               groups, channels, groups));
    }
  }

 private:
  void fourier_operator() const {
    const ModelOptions& model = options_.model;
    if (model.modes.empty()) {
      fail(errors::missing_key, {"model.type"},
           "the type \"fno\" needs 'model.modes', the wave numbers to keep along each axis: [12, 12]");
    }
    if (model.width == 0) {
      fail(errors::missing_key, {"model.type"},
           "the type \"fno\" needs 'model.width', the channels of its blocks");
    }
    for (const auto& [key, ratio] :
         {std::pair{"lifting", model.lifting}, std::pair{"projection", model.projection},
          std::pair{"channel_mlp", model.channel_mlp}}) {
      if (ratio * static_cast<double>(model.width) <= static_cast<double>(max_width)) continue;
      fail(errors::keys_conflict, {fmt::format("model.{}", key).c_str(), "model.width"},
           fmt::format("'model.{}' = {} times the {} channels of 'model.width' are more than {}", key, ratio,
                       model.width, max_width));
    }
    constexpr std::int64_t layers_of_block = 7;
    if (layers_of_block * model.blocks > max_layers) {
      fail(errors::keys_conflict, {"model.blocks"},
           fmt::format("'model.blocks' = {} stands for more than {} layers", model.blocks, max_layers));
    }
    require_layers({"model.blocks"});
  }

  void vision_transformer() const {
    const ModelOptions& model = options_.model;
    if (model.patch.empty()) {
      fail(errors::missing_key, {"model.type"},
           "the type \"vit\" needs 'model.patch', the points of a patch along each axis: [4, 4]");
    }
    for (const auto& [path, value] :
         {std::pair{"model.width", model.width}, std::pair{"model.heads", model.heads}}) {
      if (value == 0)
        fail(errors::missing_key, {"model.type"}, fmt::format("the type \"vit\" needs '{}'", path));
    }
    if (model.width % model.heads != 0) {
      fail(errors::keys_conflict, {"model.heads", "model.width"},
           fmt::format("'model.heads' is {}, which does not divide the {} of 'model.width'", model.heads,
                       model.width));
    }
    if (model.channel_mlp == 0)
      fail(errors::bad_value, {"model.channel_mlp"}, "'model.channel_mlp' = 0 is for the type \"fno\"");
    if (model.norm == NormType::none)
      fail(errors::keys_conflict, {"model.norm"}, "the type \"vit\" needs a 'model.norm'");
    if (model.channel_mlp * static_cast<double>(model.width) > static_cast<double>(max_width) ||
        3 * model.width > max_width) {
      fail(errors::keys_conflict, {"model.width", "model.channel_mlp"},
           fmt::format("'model.width' = {} makes layers of more than {} channels: 3 times as many, and "
                       "'model.channel_mlp' times",
                       model.width, max_width));
    }
    patches_fit();
    constexpr std::int64_t layers_of_block = 9;
    if (layers_of_block * model.blocks > max_layers) {
      fail(errors::keys_conflict, {"model.blocks"},
           fmt::format("'model.blocks' = {} stands for more than {} layers", model.blocks, max_layers));
    }
    require_layers({"model.blocks"});
  }

  /// Refuses patches that do not divide 'data.shape', whose last points they would leave out.
  void patches_fit() const {
    const std::vector<std::int64_t>& shape = options_.data.shape;
    const PerAxis& patch = options_.model.patch;
    if (shape.size() < 2 || (patch.size() != 1 && patch.size() != shape.size() - 1)) return;
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
      if (shape[axis] % along(patch, axis, 1) == 0) continue;
      fail(errors::keys_conflict, {"model.patch", "data.shape"},
           fmt::format("'model.patch' = {} does not divide the {} points of axis {} of 'data.shape'",
                       along(patch, axis, 1), shape[axis], axis + 1));
    }
  }

  void require_layers(std::initializer_list<const char*> keys) const {
    const ModelOptions& model = options_.model;
    const std::size_t count = expand_short_form(model).chain.size();
    if (count <= max_layers) return;
    fail(errors::keys_conflict, keys,
         fmt::format("the type \"{}\" stands for {} layers here, more than {}", name_of(model.type), count,
                     max_layers));
  }

  const Options& options_;
  const GivenPlaces& given_;
};

}  // namespace

void check_short_form(const Options& options, const GivenPlaces& given, const std::string& file_name) {
  ShortFormChecks(options, given, file_name).short_form();
}

}  // namespace mylos
