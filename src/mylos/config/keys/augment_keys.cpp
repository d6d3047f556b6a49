// [data.augment].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

Condition of_a_regression() {
  return {"targets (another model.loss than \"cross_entropy\")", {"model.loss"}, [](const Options& options) {
            return options.model.loss != LossType::cross_entropy;
          }};
}

}  // namespace

const std::vector<std::string>& augment_keys_of(ModelType type) {
  static const std::vector<std::string> all{
      "crop", "crop_fill", "shift", "rotate", "flip_horizontal", "flip_vertical", "targets"};
  static const std::vector<std::string> none;
  return type == ModelType::gpt ? none : all;
}

void add_augment_keys(Schema& schema) {
  Keys keys(
      schema, "data.augment",
      "Training samples on a grid, moved by chance: another way at each step, by the run's seed, the step "
      "and "
      "the sample's place in the batch alone, so the same on any number of ranks and after a restart. In "
      "this "
      "order, before data.normalize. Evaluations and predictions see the samples as they are.",
      [](auto& options) -> auto& { return options.data.augment; });
  keys.integer("crop", &AugmentOptions::crop, {0, max_features}, "points",
               "So many points are added on each side of each extent, and a part of the sample's size is cut "
               "out of it anywhere. At most the extent.");
  keys.choice(
      "crop_fill", &AugmentOptions::crop_fill,
      Words<CropFill>{{"zero", CropFill::zero}, {"edge", CropFill::edge}, {"reflect", CropFill::reflect}},
      "What the added points hold: 0 as in the file, the value of the nearest point, or those on the other "
      "side of it, mirrored.");
  keys.integer("shift", &AugmentOptions::shift, {0, max_features}, "points",
               "Along each extent by at most so many points, either way; what leaves on one side comes in on "
               "the other, as periodic fields want it. Below the extent.");
  keys.boolean("rotate", &AugmentOptions::rotate,
               "By 0, 90, 180 or 270 degrees in the plane of the last two extents, which are equal.");
  keys.boolean("flip_horizontal", &AugmentOptions::flip_horizontal,
               "One sample in two is mirrored along its last extent (left and right of an image).");
  keys.boolean("flip_vertical", &AugmentOptions::flip_vertical,
               "One sample in two is mirrored along the extent before the last (top and bottom).");
  keys.choice("targets", &AugmentOptions::targets,
              Words<AugmentTargets>{{"auto", AugmentTargets::automatic},
                                    {"keep", AugmentTargets::keep},
                                    {"move", AugmentTargets::move}},
              "A regression's targets: as they are, or moved as the inputs, of whose grid each point then "
              "has the same "
              "number of targets. auto: moved where they are that many. Components of vectors are moved, not "
              "turned.");
  keys.limit_to_types(augment_keys_of);
  keys.only_with(with_given("data.train"));
  keys.only_with({"crop_fill"}, with_more_than_0("data.augment.crop"));
  keys.only_with(
      {"targets"},
      {"samples that are moved (data.augment.crop, shift, rotate, flip_horizontal or flip_vertical)",
       {},
       [](const Options& options) { return options.data.augment.any(); }});
  keys.only_with({"targets"}, of_a_regression());
}

}  // namespace mylos
