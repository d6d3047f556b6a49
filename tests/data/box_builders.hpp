// Boxes of samples, cut out of whole ones number by number.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "data/arrays/array_builders.hpp"
#include "data/builders.hpp"
#include "mylos/base/grid_part.hpp"

namespace mylos::testing_support {

/// A table whose inputs are a grid of 4 x 6 points with 2 channels, with `targets` targets.
inline std::string write_grid(const std::string& path, std::int64_t samples, std::int64_t targets = 24,
                              const char* shape = "4 6 2") {
  write_table(path, samples, 48, targets);
  auto file = hdf5::File::edit(path);
  if (shape != nullptr) file.write_attribute("/", "shape", std::string(shape));
  file.close();
  return path;
}

/// Returns all parts of a grid that is divided so.
inline std::vector<GridPart> parts_of(const std::array<std::int64_t, 3>& boxes) {
  std::vector<GridPart> parts;
  for (std::int64_t z = 0; z < boxes[0]; ++z)
    for (std::int64_t y = 0; y < boxes[1]; ++y)
      for (std::int64_t x = 0; x < boxes[2]; ++x) parts.push_back({boxes, {z, y, x}});
  return parts;
}

/// Returns the numbers of one sample that lie in the box. `grid`: the extents, without channels.
template <class T>
std::vector<T> numbers_in_box(const std::vector<T>& sample, std::vector<std::int64_t> grid,
                              const GridPart& part) {
  while (grid.size() < 3) grid.insert(grid.begin(), 1);
  const auto channels = static_cast<std::int64_t>(sample.size()) / (grid[0] * grid[1] * grid[2]);
  const auto is_inside = [&](std::size_t axis, std::int64_t i) {
    return i * part.boxes[axis] / grid[axis] == part.at[axis];
  };
  std::vector<T> inside;
  for (std::int64_t z = 0; z < grid[0]; ++z)
    for (std::int64_t y = 0; y < grid[1]; ++y)
      for (std::int64_t x = 0; x < grid[2]; ++x)
        for (std::int64_t c = 0; c < channels && is_inside(0, z) && is_inside(1, y) && is_inside(2, x); ++c)
          inside.push_back(
              sample[static_cast<std::size_t>(((z * grid[1] + y) * grid[2] + x) * channels + c)]);
  return inside;
}

/// Compares every sample of each box with what the whole store reads.
inline void expect_boxes(const SampleStore& whole, const std::array<std::int64_t, 3>& boxes) {
  std::vector<std::int64_t> grid = whole.grid();
  grid.pop_back();
  const SampleMask mask = whole.mask();
  for (const GridPart& part : parts_of(boxes)) {
    SCOPED_TRACE(testing::Message() << "box " << part.at[0] << " " << part.at[1] << " " << part.at[2]);
    const auto box = whole.part(part);
    ASSERT_EQ(box->samples(), whole.samples());
    EXPECT_EQ(box->features() * part.count(), whole.features());
    EXPECT_EQ(box->outputs() * part.count(), whole.outputs());
    EXPECT_EQ(box->grid().back(), whole.grid().back());
    EXPECT_EQ(box->grid().size(), whole.grid().size());
    EXPECT_EQ(box->input_names(), whole.input_names());
    EXPECT_EQ(box->target_names(), whole.target_names());
    EXPECT_EQ(box->missing().inputs, whole.missing().inputs);
    EXPECT_EQ(box->missing().targets, whole.missing().targets);
    EXPECT_EQ(box->mask().inputs, numbers_in_box(mask.inputs, grid, part));
    EXPECT_EQ(box->mask().targets, numbers_in_box(mask.targets, grid, part));
    const auto expect_same = [](const std::vector<float>& read, const std::vector<float>& expected) {
      ASSERT_EQ(read.size(), expected.size());
      for (std::size_t i = 0; i < read.size(); ++i) {
        const bool are_missing = std::isnan(read[i]) && std::isnan(expected[i]);
        EXPECT_TRUE(are_missing || read[i] == expected[i]) << i << ": " << read[i] << ", not " << expected[i];
      }
    };
    for (std::int64_t sample = 0; sample < whole.samples(); ++sample) {
      expect_same(inputs_of(*box, sample), numbers_in_box(inputs_of(whole, sample), grid, part));
      expect_same(targets_of(*box, sample), numbers_in_box(targets_of(whole, sample), grid, part));
    }
  }
}

}  // namespace mylos::testing_support
