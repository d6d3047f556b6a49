// SampleLayout: from which arrays and levels the channels of a sample come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/array_options.hpp"
#include "mylos/data/arrays/encodings/encoder.hpp"
#include "mylos/data/arrays/files/open_array.hpp"
#include "mylos/data/arrays/layout/rollout_layout.hpp"
#include "mylos/data/files/dataset_format.hpp"

namespace mylos {

/// Adjacent channels of a sample that come from one level of one array.
struct ChannelSource {
  std::size_t array = 0;
  std::int64_t level = 0;                            // counted from the window's first
  std::optional<std::int64_t> minus = std::nullopt;  // the level that is subtracted
  std::int64_t first = 0;                            // channel of the sample
  std::int64_t count = 0;
};

/// Adjacent channels of the inputs that are 1 where others have values, and 0 where these are missing.
struct KnownSource {
  std::int64_t values = 0;    // first channel of these in the sample; of a prediction, at its newest level
  bool is_predicted = false;  // of a state after a step of a rollout: it has all that its mask lets count
  std::int64_t first = 0;     // channel of the sample
  std::int64_t count = 0;
};

struct SampleLayout {
  std::vector<std::string> arrays;           // inputs, targets that are no inputs, constants
  std::size_t first_constant = 0;            // constants follow
  std::vector<StoredExtents> extents = {};   // of each array, in the first file
  std::vector<hdf5::NumberType> types = {};  // of each array
  std::vector<bool> exact_in_float = {};     // of each array: float32 holds its values, in all files
  std::vector<std::int64_t> grid = {};       // extents of the grid
  /// Of each array: the distance of its points along each axis of the grid, 0 along those that it lacks;
  /// empty if it has all.
  std::vector<std::vector<std::int64_t>> own_strides = {};
  std::int64_t span = 1;   // levels of a window
  std::int64_t every = 1;  // levels between windows
  RolloutLayout rollout = {};
  std::vector<ChannelSource> inputs = {};
  std::vector<ChannelSource> targets = {};
  std::vector<KnownSource> known = {};        // channels of the inputs that say where others are known
  std::vector<EncodedSource> encoded = {};    // channels of the inputs that come from no array
  std::vector<std::string> input_names = {};  // of channels
  std::vector<std::string> target_names = {};

  [[nodiscard]] bool is_constant(std::size_t array) const { return array >= first_constant; }
  /// Returns the point of an array that a point of the grid reads.
  [[nodiscard]] std::int64_t own_point(std::size_t array, std::int64_t point) const {
    const std::vector<std::int64_t>& strides = own_strides[array];
    if (strides.empty()) return point;
    std::int64_t own = 0;
    for (std::size_t k = grid.size(); k-- > 0; point /= grid[k]) own += point % grid[k] * strides[k];
    return own;
  }
};

/// Returns the arrays in the order of SampleLayout.
[[nodiscard]] std::vector<std::string> arrays_of(const ArrayOptions& options);

/// Returns the layout of samples for rollouts of `steps` steps. Throws Error (bad_input) if the arrays do not
/// fit each other or the options do not fit the axes.
[[nodiscard]] SampleLayout sample_layout(const ArrayOptions& options, std::int64_t steps,
                                         const std::vector<OpenArray>& first_file);

/// Returns the sizes of samples of `windows` windows, each of `points` samples. Throws Error (too_large) if
/// they cannot be counted. `name`: of the store.
[[nodiscard]] DatasetShape shape_of_samples(const SampleLayout& layout, std::int64_t windows,
                                            std::int64_t points, const std::string& name);

/// Throws Error (too_little_data): a file has no window. `in_parts`: its levels have gaps in time.
[[noreturn]] void refuse_too_short(const SampleLayout& layout, const ArrayOptions& options,
                                   std::int64_t levels, bool in_parts, const std::string& path);

/// Throws Error (bad_input), naming both files, if an array of another file has other extents than that of
/// the first, apart from trajectories and levels.
void require_same_extents(const SampleLayout& layout, const std::string& first_file,
                          const std::vector<OpenArray>& arrays);

}  // namespace mylos
