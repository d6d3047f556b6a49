#include "mylos/data/feed/augmentation.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/numbers/random_words.hpp"

namespace mylos {
namespace {

/// Returns an integer below `count`; each has probability 1 / count to within 2^-32.
std::int64_t number_below(std::int64_t count, std::uint32_t word) {
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(count) * word) >> 32);
}

/// Returns the source point of `i`: the nearest point inside, or the mirror image of `i` at the edge point,
/// for crops of at most extent - 1.
std::int64_t filled_from(CropFill fill, std::int64_t i, std::int64_t extent, std::int64_t outside) {
  if (i >= 0 && i < extent) return i;
  if (fill == CropFill::edge) return std::clamp<std::int64_t>(i, 0, extent - 1);
  if (fill == CropFill::reflect) return i < 0 ? -i : 2 * (extent - 1) - i;
  return outside;
}

std::int64_t points_of(const std::vector<std::int64_t>& grid) {
  return std::accumulate(grid.begin(), grid.end() - 1, std::int64_t{1}, std::multiplies<>());
}

/// Returns whether the grid, channels included, has this number of values, which must be small enough to
/// count.
bool has_numbers(const std::vector<std::int64_t>& grid, std::int64_t numbers) {
  std::int64_t rest = numbers;
  for (const std::int64_t extent : grid) {
    if (extent < 1 || rest % extent != 0) return false;
    rest /= extent;
  }
  return rest == 1;
}

/// Returns the keys of data.augment that move samples.
std::vector<std::string> keys_in_use(const AugmentOptions& options) {
  std::vector<std::string> keys;
  const auto add = [&](bool moves, const char* key) {
    if (moves) keys.push_back(fmt::format("data.augment.{}", key));
  };
  add(options.crop > 0, "crop");
  add(options.shift > 0, "shift");
  add(options.flip_horizontal, "flip_horizontal");
  add(options.flip_vertical, "flip_vertical");
  add(options.rotate, "rotate");
  return keys;
}

bool are_targets_moved(const AugmentOptions& options, const DatasetShape& shape,
                       const std::vector<std::int64_t>& grid) {
  if (shape.task != Task::regression || options.targets == AugmentTargets::keep) return false;
  return options.targets == AugmentTargets::move || shape.outputs % points_of(grid) == 0;
}

}  // namespace

void require_augmentable(const AugmentOptions& options, const DatasetShape& shape,
                         const std::vector<std::int64_t>& grid, const std::string& path,
                         const Places& places) {
  if (!options.any()) return;
  if (grid.size() < 2) {
    fail_input(errors::missing_dataset,
               "{}{}: has no attribute 'shape' of /, the grid of its samples, which data.augment needs; {}",
               place_of(places, keys_in_use(options)), path, how_to_give_a_grid);
  }
  const auto refuse = [&](const char* key, const std::string& needs) {
    const std::string name = fmt::format("data.augment.{}", key);
    fail_input(errors::data_mismatch, "{}{} needs {}; samples of {} are {}", place_of(places, {name}), name,
               needs, path, fmt::join(grid, " x "));
  };
  if (!has_numbers(grid, shape.features)) {
    fail_input(errors::data_mismatch, "data.augment: a sample of {} has {} numbers, but its grid is {}", path,
               shape.features, fmt::join(grid, " x "));
  }
  const std::int64_t smallest = *std::min_element(grid.begin(), grid.end() - 1);
  const std::int64_t max_crop = options.crop_fill == CropFill::reflect ? smallest - 1 : smallest;
  if (options.crop > max_crop) {
    refuse("crop",
           fmt::format("extents of at least {}", options.crop + (options.crop_fill == CropFill::reflect)));
  }
  if (options.shift >= smallest) refuse("shift", fmt::format("extents above {}", options.shift));
  const std::size_t extents = grid.size() - 1;
  if (options.flip_vertical && extents < 2) refuse("flip_vertical", "two extents");
  if (options.rotate && (extents < 2 || grid[extents - 1] != grid[extents - 2]))
    refuse("rotate", "two last extents that are equal");
  if (shape.task == Task::regression && options.targets == AugmentTargets::move &&
      shape.outputs % points_of(grid) != 0) {
    refuse("targets", fmt::format("the same number of targets at each of the grid's {} points, not {} in all",
                                  points_of(grid), shape.outputs));
  }
}

Augmentation::Augmentation(const AugmentOptions& options, const DatasetShape& shape,
                           const std::vector<std::int64_t>& grid, std::uint64_t seed)
    : options_(options),
      stream_(seed, RandomPurpose::augmentation, "data.augment"),
      first_axis_(axes - (grid.size() - 1)),
      moves_targets_(are_targets_moved(options, shape, grid)),
      input_point_columns_(shape.features / points_of(grid)),
      target_point_columns_(shape.outputs / points_of(grid)),
      input_point_bytes_(shape.input_bytes() / points_of(grid)),
      input_(static_cast<std::size_t>(shape.input_bytes())),
      targets_(static_cast<std::size_t>(moves_targets_ ? shape.truth_bytes() : 0)) {
  if (moves_targets_) target_point_bytes_ = shape.truth_bytes() / points_of(grid);
  std::copy(grid.begin(), grid.end() - 1, extents_.begin() + static_cast<std::ptrdiff_t>(first_axis_));
  for (std::size_t axis = 0; axis < axes; ++axis)
    source_[axis].resize(static_cast<std::size_t>(extents_[axis]));
}

Augmentation::Stored Augmentation::moved(const Stored& stored, std::int64_t step, std::int64_t sample) {
  choose(step, sample);
  move(stored.input, input_.data(), input_point_bytes_);
  if (!moves_targets_) return {input_.data(), stored.truth};
  move(stored.truth, targets_.data(), target_point_bytes_);
  return {input_.data(), targets_.data()};
}

void Augmentation::choose(std::int64_t step, std::int64_t sample) {
  const auto words_of = [&](std::uint32_t block) {
    return stream_.block(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(sample), block);
  };
  const RandomBlock first = words_of(0);
  const RandomBlock second = words_of(1);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t extent = extents_[axis];
    std::int64_t offset = 0;
    std::int64_t by = 0;
    if (axis >= first_axis_) {
      const std::size_t word = axis - first_axis_;
      if (options_.crop > 0) offset = number_below(2 * options_.crop + 1, first.word[word]) - options_.crop;
      if (options_.shift > 0) by = number_below(2 * options_.shift + 1, second.word[word]) - options_.shift;
    }
    for (std::int64_t i = 0; i < extent; ++i) {
      const std::int64_t shifted = (i - by + extent) % extent;
      source_[axis][static_cast<std::size_t>(i)] =
          filled_from(options_.crop_fill, shifted + offset, extent, outside);
    }
  }
  const std::uint32_t bits = first.word[3];
  turns_ = options_.rotate ? bits & 3U : 0;
  mirror_columns_ = options_.flip_horizontal && (bits & 4U) != 0;
  mirror_rows_ = options_.flip_vertical && (bits & 8U) != 0;
}

/// Returns the source point of (plane, i, j), or `outside`.
std::int64_t Augmentation::source_of(std::int64_t plane, std::int64_t i, std::int64_t j) const {
  const std::int64_t rows = extents_[1];
  const std::int64_t columns = extents_[2];
  const std::int64_t row = mirror_rows_ ? rows - 1 - i : i;
  const std::int64_t column = mirror_columns_ ? columns - 1 - j : j;
  // rot90(m)[row, column] = m[column, last - row]
  std::int64_t at_row = row;
  std::int64_t at_column = column;
  if (turns_ == 1) {
    at_row = column;
    at_column = columns - 1 - row;
  } else if (turns_ == 2) {
    at_row = rows - 1 - row;
    at_column = columns - 1 - column;
  } else if (turns_ == 3) {
    at_row = rows - 1 - column;
    at_column = row;
  }
  const std::int64_t from_plane = source_[0][static_cast<std::size_t>(plane)];
  const std::int64_t from_row = source_[1][static_cast<std::size_t>(at_row)];
  const std::int64_t from_column = source_[2][static_cast<std::size_t>(at_column)];
  if (from_plane == outside || from_row == outside || from_column == outside) return outside;
  return (from_plane * rows + from_row) * columns + from_column;
}

void Augmentation::move(const std::byte* from, std::byte* to, std::int64_t point_bytes) const {
  const auto bytes = static_cast<std::size_t>(point_bytes);
  for (std::int64_t plane = 0; plane < extents_[0]; ++plane) {
    for (std::int64_t i = 0; i < extents_[1]; ++i) {
      for (std::int64_t j = 0; j < extents_[2]; ++j, to += point_bytes) {
        const std::int64_t point = source_of(plane, i, j);
        if (point == outside) {
          std::memset(to, 0, bytes);
        } else {
          std::memcpy(to, from + point * point_bytes, bytes);
        }
      }
    }
  }
}

std::int64_t Augmentation::stored_column(std::int64_t column, std::int64_t columns) const {
  const std::int64_t point = column / columns;
  const std::int64_t plane = extents_[1] * extents_[2];
  const std::int64_t source =
      source_of(point / plane, point % plane / extents_[2], point % plane % extents_[2]);
  return source == outside ? column : source * columns + column % columns;
}

std::int64_t Augmentation::stored_input(std::int64_t column) const {
  return stored_column(column, input_point_columns_);
}

std::int64_t Augmentation::stored_target(std::int64_t column) const {
  return moves_targets_ ? stored_column(column, target_point_columns_) : column;
}

std::int64_t Augmentation::memory_bytes(const DatasetShape& shape, const std::vector<std::int64_t>& grid) {
  std::int64_t extents = 0;
  for (std::size_t axis = 0; axis + 1 < grid.size(); ++axis) extents += grid[axis];
  return shape.input_bytes() + shape.truth_bytes() +
         extents * static_cast<std::int64_t>(sizeof(std::int64_t));
}

}  // namespace mylos
