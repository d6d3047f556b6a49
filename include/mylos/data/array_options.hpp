// [data.arrays]: how N-dimensional arrays in HDF5 or NetCDF-4 files become samples.
//
// A sample is a window in time. Its inputs are `history` levels, oldest first, each with the channels of all
// `inputs` in order; the channels of `constants` follow. Its targets are the channels of all `targets`,
// `ahead` levels after the newest level of the inputs. Windows never cross a file, nor an index of the axis
// "sample".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// The axes with a meaning; all others are axes of the grid.
inline constexpr std::string_view sample_axis = "sample";
/// Levels in time, along which windows lie.
inline constexpr std::string_view time_axis = "time";
/// Values at a point.
inline constexpr std::string_view channel_axis = "channel";

/// Returns whether points of a sample's grid lie along the axis.
[[nodiscard]] constexpr bool is_grid_axis(std::string_view axis) {
  return axis != sample_axis && axis != time_axis && axis != channel_axis;
}

/// The axes of one array, in the file's order: {"time", "y", "x"}.
struct ArrayAxes {
  std::string array;              // its path in the files: "/u"
  std::vector<std::string> axes;  // "sample", "time", "channel", or any name of an axis of the grid
  bool operator==(const ArrayAxes&) const = default;
};

/// Where an array has a mask that is no array, but the missing values of the array itself.
inline constexpr std::string_view missing_values = "fill";

/// The mask of one array.
struct NamedMask {
  std::string array;  // its path in the files: "/sst"
  std::string mask;   // the path of the mask, or "fill"
  bool operator==(const NamedMask&) const = default;
};

/// A part of an axis, with the meaning of Python's slices: negative numbers count from the end, and parts
/// outside the axis are cut off. `step` is at least 1.
struct AxisSlice {
  std::string axis;                                  // its name in `axes`
  std::optional<std::int64_t> begin = std::nullopt;  // the first index; none: 0
  std::optional<std::int64_t> end = std::nullopt;    // one past the last index; none: the length
  std::int64_t step = 1;                             // between two indices
  bool operator==(const AxisSlice&) const = default;
};

/// state: the values of the later level; difference: that minus the values of the newest level of the inputs.
enum class TargetsAre { state, difference };

/// same: the coordinates of the grid's axes must be those of the training wherever files state them; ignore:
/// they are neither kept nor compared.
enum class FileCoordinates { same, ignore };

/// Of times of levels that are not a step apart. error: they are refused; split: no window crosses them;
/// ignore: they are not compared, and read by encodings alone.
enum class TimeGaps { error, split, ignore };

/// Channels of the inputs that are computed from coordinates: of the times of levels, and of the axes of the
/// grid in degrees_north and degrees_east.
enum class Encoding { day_of_year, hour, latitude, longitude };
[[nodiscard]] constexpr bool is_of_time(Encoding encoding) {
  return encoding == Encoding::day_of_year || encoding == Encoding::hour;
}
[[nodiscard]] constexpr const char* name_of(Encoding encoding) {
  constexpr const char* names[] = {"day_of_year", "hour", "latitude", "longitude"};
  return names[static_cast<std::size_t>(encoding)];
}

/// [data.arrays]: which arrays of a file are inputs and targets, and what a sample is.
struct ArrayOptions {
  std::vector<std::string> inputs;          // paths of arrays in the files: "/u"; empty: no [data.arrays]
  std::vector<std::string> targets;         // likewise; empty: inputs alone
  std::vector<std::string> constants = {};  // arrays without the axis time: joined to every sample
  std::vector<Encoding> encodings = {};     // joined to every level, those of places to every sample
  /// Of every array that `axes_of` does not name. Constants lack its axes "sample" and "time".
  std::vector<std::string> axes = {};
  std::vector<ArrayAxes> axes_of = {};         // of arrays with other axes
  std::int64_t history = 1;                    // levels in time of the inputs
  std::int64_t ahead = 1;                      // levels from the newest one of the inputs to the targets
  std::int64_t every = 1;                      // levels from the beginning of a window to that of the next
  std::vector<AxisSlice> slice = {};           // of every array that has the axis
  TargetsAre targets_are = TargetsAre::state;  // what the network learns
  std::vector<std::string> differences = {};   // targets that are differences while others are states
  bool points_are_samples = false;             // each point of the grid is a sample
  TimeGaps gaps = TimeGaps::error;
  FileCoordinates coordinates = FileCoordinates::same;
  std::string mask = {};                      // of every input and target that `masks` does not name
  std::vector<NamedMask> masks = {};          // of single arrays
  std::vector<std::string> missing = {};      // inputs and targets that may have missing values at any level
  bool known_inputs = false;                  // the inputs say where those of `missing` have a value
  std::optional<double> fill = std::nullopt;  // data.fill: replaces NaN and fill values; nothing: an error
  std::string statistics = {};                // data.statistics: a file that caches them; empty: none

  /// Compares no times of other data where those of the training are not known.
  void compare_times_if(bool known) {
    if (!known && gaps == TimeGaps::error) gaps = TimeGaps::ignore;
  }
  /// Returns whether the deck has [data.arrays].
  [[nodiscard]] bool given() const { return !inputs.empty(); }
  /// Returns the axes of an array, in the file's order; empty if none are given.
  [[nodiscard]] std::vector<std::string> axes_for(std::string_view array) const {
    const auto named = std::find_if(axes_of.begin(), axes_of.end(),
                                    [&](const ArrayAxes& each) { return each.array == array; });
    if (named != axes_of.end()) return named->axes;
    std::vector<std::string> of_array = axes;
    if (std::find(constants.begin(), constants.end(), array) != constants.end())
      std::erase_if(of_array,
                    [](const std::string& axis) { return axis == sample_axis || axis == time_axis; });
    return of_array;
  }
  /// Returns the path of the mask of an array, "fill" for its missing values; empty if all points count.
  [[nodiscard]] std::string mask_of(std::string_view array) const {
    const auto named =
        std::find_if(masks.begin(), masks.end(), [&](const NamedMask& each) { return each.array == array; });
    if (named != masks.end()) return named->mask;
    return std::find(constants.begin(), constants.end(), array) == constants.end() ? mask : std::string();
  }
  /// Returns whether values of an array may be missing, at other points of each level.
  [[nodiscard]] bool may_be_missing(std::string_view array) const {
    return std::find(missing.begin(), missing.end(), array) != missing.end();
  }
  /// Returns whether those of one of the arrays may.
  [[nodiscard]] bool any_may_be_missing(const std::vector<std::string>& arrays) const {
    return std::any_of(arrays.begin(), arrays.end(),
                       [&](const std::string& array) { return may_be_missing(array); });
  }
  /// Returns whether a target is a difference.
  [[nodiscard]] bool is_difference(std::string_view array) const {
    return targets_are == TargetsAre::difference ||
           std::find(differences.begin(), differences.end(), array) != differences.end();
  }
  /// Returns the targets that are.
  [[nodiscard]] std::vector<std::string> all_differences() const {
    std::vector<std::string> all;
    std::copy_if(targets.begin(), targets.end(), std::back_inserter(all),
                 [&](const std::string& target) { return is_difference(target); });
    return all;
  }
  /// Returns whether any target is.
  [[nodiscard]] bool has_differences() const {
    return targets_are == TargetsAre::difference || !differences.empty();
  }
  /// Returns whether an array is the mask of one.
  [[nodiscard]] bool is_mask(std::string_view array) const {
    return array == mask ||
           std::any_of(masks.begin(), masks.end(), [&](const NamedMask& each) { return each.mask == array; });
  }
  bool operator==(const ArrayOptions&) const = default;
};

}  // namespace mylos
