// Checks of [data.arrays]: which axes and arrays its keys name.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_grid_axes = 3;  // that networks support
constexpr const char* axes_key = "data.arrays.axes";

bool is_among(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Returns the axes of the grid, sorted by name.
std::set<std::string> grid_axes(const std::vector<std::string>& axes) {
  std::set<std::string> found;
  std::copy_if(axes.begin(), axes.end(), std::inserter(found, found.end()),
               [](const std::string& axis) { return is_grid_axis(axis); });
  return found;
}

std::string text_of_axes(const std::set<std::string>& axes) {
  return axes.empty() ? "none" : fmt::format("{}", fmt::join(axes, ", "));
}

class ArrayChecks : DeckMistakes {
 public:
  ArrayChecks(const Options& options, const GivenPlaces& given, const std::string& file_name)
      : DeckMistakes(given, file_name),
        arrays_(options.data.arrays),
        weights_(options.data.weights),
        augments_(options.data.augment.any()) {
    for (const auto* group : {&arrays_.inputs, &arrays_.targets, &arrays_.constants})
      all_.insert(all_.end(), group->begin(), group->end());
  }

  void arrays() const {
    if (arrays_.targets.empty()) {
      fail(errors::missing_key, {"data.arrays.inputs"},
           "'data.arrays.targets' is missing: the arrays that the network predicts");
    }
    for (const std::string& constant : arrays_.constants) {
      if (!is_among(arrays_.inputs, constant) && !is_among(arrays_.targets, constant)) continue;
      fail(errors::keys_conflict, {"data.arrays.constants"},
           fmt::format("'data.arrays.constants' has \"{}\", which is also one of the inputs or targets",
                       printable(constant)));
    }
  }

  void axes() const {
    for (const ArrayAxes& each : arrays_.axes_of) {
      if (is_among(all_, each.array) || arrays_.is_mask(each.array)) continue;
      if (!weights_.given() || each.array != weights_.array) {
        fail(
            errors::key_without_effect, {axes_key},
            fmt::format(
                "'data.arrays.axes' has an entry for \"{}\", which is none of the inputs, targets, constants "
                "and masks, nor 'data.weights.array'",
                printable(each.array)));
      }
      axes_of_weights(each);
    }
    for (const std::string& array : all_) {
      if (!arrays_.axes_for(array).empty()) continue;
      fail(errors::missing_key, {"data.arrays.inputs", axes_key},
           fmt::format("the axes of \"{}\" are missing: 'data.arrays.axes' = \"time y x\" gives them for all "
                       "arrays, {{ \"{}\" = \"time y x\" }} for one",
                       printable(array), printable(array)));
    }
    for (const std::string& constant : arrays_.constants) {
      const std::vector<std::string> of_constant = arrays_.axes_for(constant);
      for (const std::string_view axis : {sample_axis, time_axis}) {
        if (!is_among(of_constant, axis)) continue;
        fail(
            errors::keys_conflict, {axes_key, "data.arrays.constants"},
            fmt::format("\"{}\" of 'data.arrays.constants' has the axis \"{}\"; constants have none, list it "
                        "with the inputs",
                        printable(constant), axis));
      }
    }
    same_axes();
  }

  void coordinates() const {
    if (!arrays_.points_are_samples || arrays_.coordinates == FileCoordinates::same) return;
    fail(errors::key_without_effect, {"data.arrays.coordinates"},
         "'data.arrays.coordinates' has an effect only on samples that are grids; leave it out with "
         "'data.arrays.points_are_samples'");
  }

  void encodings() const {
    for (const Encoding encoding : arrays_.encodings) {
      const std::string has = fmt::format("'data.arrays.encodings' has \"{}\"", name_of(encoding));
      const std::vector<std::string> axes = arrays_.axes_for(arrays_.inputs.front());
      if (is_of_time(encoding) ? !is_among(axes, time_axis) : grid_axes(axes).empty()) {
        fail(errors::keys_conflict, {"data.arrays.encodings", axes_key},
             fmt::format("{}, but \"{}\" has no {}", has, printable(arrays_.inputs.front()),
                         is_of_time(encoding) ? "axis \"time\"" : "axis of a grid"));
      }
      if (is_of_time(encoding) || arrays_.coordinates == FileCoordinates::same) continue;
      fail(errors::keys_conflict, {"data.arrays.encodings", "data.arrays.coordinates"},
           has +
               ", which is computed from coordinates that 'data.arrays.coordinates' = \"ignore\" does not "
               "compare");
    }
  }

  void masks() const {
    if (arrays_.mask.empty() && arrays_.masks.empty()) return;
    for (const NamedMask& each : arrays_.masks) {
      if (is_among(all_, each.array)) continue;
      fail(errors::key_without_effect, {"data.arrays.mask"},
           fmt::format("'data.arrays.mask' has an entry for \"{}\", which is none of the inputs, targets and "
                       "constants",
                       printable(each.array)));
    }
    const auto conflict = [&](const char* key, const std::string& why) {
      fail(errors::keys_conflict, {"data.arrays.mask", key},
           fmt::format("'data.arrays.mask' and '{}': {}", key, why));
    };
    if (arrays_.points_are_samples)
      conflict("data.arrays.points_are_samples",
               "points that are samples have no mask yet; leave one of the two out");
    if (augments_)
      conflict("data.augment",
               "the transformations would move values, and the mask stays where it is; leave "
               "one of the two out");
    if (!arrays_.fill) return;
    for (const std::string& array : all_) {
      if (arrays_.mask_of(array) != missing_values) continue;
      conflict("data.fill", fmt::format("the missing values of \"{}\" are its mask, and cannot be replaced",
                                        printable(array)));
    }
  }

  void missing() const {
    for (const std::string& array : arrays_.missing) {
      if (!is_among(arrays_.inputs, array) && !is_among(arrays_.targets, array)) {
        fail(errors::key_without_effect, {"data.arrays.missing"},
             fmt::format("'data.arrays.missing' has \"{}\", which is none of the inputs and targets",
                         printable(array)));
      }
      if (arrays_.mask_of(array) == missing_values) {
        fail(errors::keys_conflict, {"data.arrays.missing", "data.arrays.mask"},
             fmt::format(
                 "'data.arrays.missing' has \"{}\", whose missing values are its mask, and must be the "
                 "same at all levels; give the mask as an array of the files, or leave it out",
                 printable(array)));
      }
    }
    if (arrays_.known_inputs && !arrays_.any_may_be_missing(arrays_.inputs)) {
      fail(errors::key_without_effect, {"data.arrays.known_inputs"},
           "'data.arrays.known_inputs' needs inputs that may be missing, and none is in "
           "'data.arrays.missing'");
    }
    if (!arrays_.missing.empty() && arrays_.fill) {
      fail(errors::keys_conflict, {"data.arrays.missing", "data.fill"},
           "'data.fill' replaces missing values, and those of 'data.arrays.missing' stay missing; leave one "
           "of the two out");
    }
  }

  void weights() const {
    for (const VariableWeight& each : weights_.variables) {
      if (is_among(arrays_.targets, each.array)) continue;
      fail(errors::key_without_effect, {"data.weights.variables"},
           fmt::format("'data.weights.variables' has an entry for \"{}\", which is none of the targets",
                       printable(each.array)));
    }
    if (!arrays_.points_are_samples || (!weights_.latitude && weights_.variables.empty())) return;
    fail(errors::keys_conflict, {"data.weights", "data.arrays.points_are_samples"},
         "'data.weights.latitude' and 'data.weights.variables' are of samples on a grid; leave them out with "
         "'data.arrays.points_are_samples'");
  }

  void slices() const {
    std::set<std::string> known;
    for (const std::string& array : all_) {
      const std::vector<std::string> axes = arrays_.axes_for(array);
      known.insert(axes.begin(), axes.end());
    }
    for (const AxisSlice& slice : arrays_.slice) {
      if (known.contains(slice.axis)) continue;
      fail(errors::key_without_effect, {"data.arrays.slice"},
           fmt::format("'data.arrays.slice' has the axis \"{}\", which no array has; the axes are {}",
                       printable(slice.axis), fmt::join(known, ", ")));
    }
  }

  void differences() const {
    if (!arrays_.has_differences()) return;
    const bool are_listed = !arrays_.differences.empty();
    const char* key = are_listed ? "data.arrays.differences" : "data.arrays.targets_are";
    const std::string what =
        are_listed ? fmt::format("'{}'", key) : fmt::format("'{}' = \"difference\"", key);
    for (const std::string& array : arrays_.differences) {
      if (is_among(arrays_.targets, array)) continue;
      fail(errors::key_without_effect, {key},
           fmt::format("{} has \"{}\", which is none of the targets", what, printable(array)));
    }
    for (const std::string& target : arrays_.targets) {
      if (is_among(arrays_.inputs, target) || !arrays_.is_difference(target)) continue;
      fail(errors::keys_conflict, {key, "data.arrays.targets"},
           fmt::format("{} needs the targets among the inputs, and \"{}\" is not", what, printable(target)));
    }
    if (arrays_.ahead > 0) return;
    fail(errors::keys_conflict, {key, "data.arrays.ahead"},
         fmt::format("{} needs 'data.arrays.ahead' above 0: all differences would be 0", what));
  }

 private:
  void axes_of_weights(const ArrayAxes& weights) const {
    const std::set<std::string> grid = grid_axes(arrays_.axes_for(arrays_.inputs.front()));
    if (weights.axes.size() == grid.size() && grid_axes(weights.axes) == grid) return;
    fail(errors::keys_conflict, {axes_key},
         fmt::format("\"{}\" of 'data.weights' has the axes {}; expected those of the grid in any order: {}",
                     printable(weights.array), fmt::join(weights.axes, ", "), text_of_axes(grid)));
  }

  /// Arrays lie on the grid of the first input, or on some of its axes, if they are no targets. Those that
  /// are not constant have the same of "sample" and "time".
  void same_axes() const {
    const std::string& first = arrays_.inputs.front();
    const std::vector<std::string> of_first = arrays_.axes_for(first);
    const std::set<std::string> grid = grid_axes(of_first);
    if (grid.size() > max_grid_axes && !arrays_.points_are_samples) {
      fail(errors::bad_value, {axes_key},
           fmt::format("\"{}\" has {} axes of a grid ({}); networks support at most {}. Only axes with the "
                       "names \"sample\", \"time\" and \"channel\" are others",
                       printable(first), grid.size(), fmt::join(grid, ", "), max_grid_axes));
    }
    for (const std::string& array : all_) {
      const std::vector<std::string> axes = arrays_.axes_for(array);
      const std::set<std::string> own = grid_axes(axes);
      const bool is_repeated = std::ranges::includes(grid, own) && !is_among(arrays_.targets, array);
      if (own != grid && !is_repeated) {
        fail(errors::keys_conflict, {axes_key},
             fmt::format(
                 "\"{}\" and \"{}\" have other axes of a grid ({} and {}); targets have all axes of the "
                 "first input's grid, other arrays have all or some of them",
                 printable(first), printable(array), text_of_axes(grid), text_of_axes(own)));
      }
      if (is_among(arrays_.constants, array)) continue;
      for (const std::string_view axis : {sample_axis, time_axis}) {
        if (is_among(axes, axis) == is_among(of_first, axis)) continue;
        const bool has = is_among(axes, axis);
        fail(errors::keys_conflict, {axes_key},
             fmt::format("\"{}\" has the axis \"{}\" but \"{}\" does not; an array without it is one of "
                         "'data.arrays.constants'",
                         printable(has ? array : first), axis, printable(has ? first : array)));
      }
    }
  }

  const ArrayOptions& arrays_;
  const WeightOptions& weights_;
  bool augments_;
  std::vector<std::string> all_;
};

}  // namespace

void check_arrays(const Options& options, const GivenPlaces& given, const std::string& file_name) {
  if (!options.data.arrays.given()) return;
  const ArrayChecks checks(options, given, file_name);
  checks.arrays();
  checks.axes();
  checks.slices();
  checks.differences();
  checks.coordinates();
  checks.encodings();
  checks.masks();
  checks.missing();
  checks.weights();
}

}  // namespace mylos
