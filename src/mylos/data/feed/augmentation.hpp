// Augmentation: random transformations of training samples on grids (data.augment).
//
//   moved = flip(rotate(shift(crop(sample))))
//
// crop:   crop(sample)[i] = sample[i + offset - crop] along each extent, with offset in 0 .. 2 crop; values
//         outside are filled (CropFill).
// shift:  shift(sample)[i] = sample[(i - by) mod extent], with by in -shift .. shift.
// rotate: by 90 degrees `turns` times, as numpy.rot90 does over the last two extents.
// flip:   flip(sample)[i] = sample[extent - 1 - i], each with probability 1/2.
//
// The random choices are words of the counter-based generator, with the run's seed, the step and the sample's
// index in the global batch as key: ranks, micro-batches and restarts do not change them. With words w0 .. w3
// of block 0 and v0 .. v2 of block 1: offset along extent e = floor(w_e (2 crop + 1) / 2^32), by = floor(v_e
// (2 shift + 1) / 2^32) - shift. The lowest two bits of w3 are the turns, the next two the flips, horizontal
// and vertical. A word is used only if its option is on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/places.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/options.hpp"

namespace mylos {

/// Throws Error (bad_input) if the options cannot be applied to the samples of `path`: without a grid
/// (`grid`: extents, then channels; empty: none), or with extents that are too small, too few or unequal.
/// `places`: locations of the deck's keys.
void require_augmentable(const AugmentOptions& options, const DatasetShape& shape,
                         const std::vector<std::int64_t>& grid, const std::string& path,
                         const Places& places = {});

class Augmentation {
 public:
  /// The samples must pass require_augmentable().
  Augmentation(const AugmentOptions& options, const DatasetShape& shape,
               const std::vector<std::int64_t>& grid, std::uint64_t seed);

  struct Stored {
    const std::byte* input;
    const std::byte* truth;
  };
  /// Returns the sample `sample` of the global batch as transformed for `step`. It is valid until the next
  /// call. Allocates nothing.
  [[nodiscard]] Stored moved(const Stored& stored, std::int64_t step, std::int64_t sample);

  /// Returns the stored column that is at `column` of the last moved() sample: for messages.
  [[nodiscard]] std::int64_t stored_input(std::int64_t column) const;
  [[nodiscard]] std::int64_t stored_target(std::int64_t column) const;

  [[nodiscard]] static std::int64_t memory_bytes(const DatasetShape& shape,
                                                 const std::vector<std::int64_t>& grid);

 private:
  static constexpr std::size_t axes = 3;
  static constexpr std::int64_t outside = -1;

  void choose(std::int64_t step, std::int64_t sample);
  [[nodiscard]] std::int64_t source_of(std::int64_t plane, std::int64_t i, std::int64_t j) const;
  [[nodiscard]] std::int64_t stored_column(std::int64_t column, std::int64_t columns) const;
  void move(const std::byte* from, std::byte* to, std::int64_t point_bytes) const;

  AugmentOptions options_;
  RandomStream stream_;
  std::array<std::int64_t, axes> extents_{1, 1, 1};  // the grid's extents are the last; 1 before them
  std::size_t first_axis_ = 0;                       // the grid's first
  bool moves_targets_ = false;
  std::int64_t input_point_columns_ = 0;
  std::int64_t target_point_columns_ = 0;
  std::int64_t input_point_bytes_ = 0;
  std::int64_t target_point_bytes_ = 0;

  // Of the current sample: the source index along each extent, and the rotation of the last two.
  std::array<std::vector<std::int64_t>, axes> source_;
  unsigned turns_ = 0;
  bool mirror_columns_ = false;
  bool mirror_rows_ = false;

  std::vector<std::byte> input_;
  std::vector<std::byte> targets_;
};

}  // namespace mylos
