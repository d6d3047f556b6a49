// [data.augment].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

Condition of_a_regression() {
  return {"targets (another model.loss than \"cross_entropy\")", {"model.loss"}, [](const Options& options) {
            return options.model.prediction() != Prediction::classes;
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
      "Random transformations of training samples on a grid, new ones at each step. They depend only on the "
      "run's seed, the step and the sample's index in the batch, so that they are the same on any number of "
      "ranks and after a restart. They are applied in the order of this table, before data.normalize. "
      "Evaluations and predictions use the samples unchanged.",
      [](auto& options) -> auto& { return options.data.augment; });
  keys.integer("crop", &AugmentOptions::crop, {0, max_features}, "points",
               "Number of points added on each side of each extent before a part of the sample's size is "
               "taken at a random offset. At most the extent.");
  keys.choice(
      "crop_fill", &AugmentOptions::crop_fill,
      Words<CropFill>{{"zero", CropFill::zero}, {"edge", CropFill::edge}, {"reflect", CropFill::reflect}},
      "Values of the added points. zero: 0 in the file's units; edge: the value of the nearest point; "
      "reflect: the values inside, mirrored at the edge.");
  keys.integer("shift", &AugmentOptions::shift, {0, max_features}, "points",
               "Maximum shift along each extent, in either direction. Points shifted out on one side enter "
               "on the other, as required for periodic fields. Below the extent.");
  keys.boolean(
      "rotate", &AugmentOptions::rotate,
      "Rotates by 0, 90, 180 or 270 degrees in the plane of the last two extents, which must be equal.");
  keys.boolean("flip_horizontal", &AugmentOptions::flip_horizontal,
               "Mirrors one sample in two along its last extent (left and right of an image).");
  keys.boolean("flip_vertical", &AugmentOptions::flip_vertical,
               "Mirrors one sample in two along its second-to-last extent (top and bottom).");
  keys.choice("targets", &AugmentOptions::targets,
              Words<AugmentTargets>{{"auto", AugmentTargets::automatic},
                                    {"keep", AugmentTargets::keep},
                                    {"move", AugmentTargets::move}},
              "A regression's targets. keep: unchanged; move: transformed like the inputs, which requires "
              "the same number of targets at each grid point; auto: move if there are that many. Components "
              "of vectors are moved, not rotated.");
  keys.limit_to_types(augment_keys_of);
  keys.only_with(with_given("data.train"));
  keys.only_with({"crop_fill"}, with_more_than_0("data.augment.crop"));
  keys.only_with({"targets"},
                 {"augmented samples (data.augment.crop, shift, rotate, flip_horizontal or flip_vertical)",
                  {},
                  [](const Options& options) { return options.data.augment.any(); }});
  keys.only_with({"targets"}, of_a_regression());
}

}  // namespace mylos
