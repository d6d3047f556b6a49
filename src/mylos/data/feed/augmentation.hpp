// Augmentation: a training sample on a grid, moved by chance (data.augment).
//
//   moved = flip(rotate(shift(crop(sample))))
//
// crop:   crop(sample)[i] = sample[i + offset - crop] along each extent, offset one of 0 .. 2 crop; what lies
//         outside is filled (CropFill).
// shift:  shift(sample)[i] = sample[(i - by) mod extent], by one of -shift .. shift.
// rotate: by 90 degrees `turns` times, as numpy.rot90 does over the last two extents.
// flip:   flip(sample)[i] = sample[extent - 1 - i], each with probability 1/2.
//
// The choices are words of the counter-based generator, keyed by the run's seed, the step and the sample's
// index in the global batch: neither ranks, micro-batches nor a restart change them. With words w0 .. w3 of
// block 0 and v0 .. v2 of block 1: offset along extent e = floor(w_e (2 crop + 1) / 2^32), by = floor(v_e
// (2 shift + 1) / 2^32) - shift, and of w3 the lowest two bits are the turns, the next two the flips,
// horizontal and vertical. A word is used only where its option is on.
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

/// Throws Error (bad_input) where samples of `path` cannot be moved so: they have no grid (`grid`: extents,
/// then channels; empty), or its extents are too small, too few, or not equal. `places`: of the deck.
void require_augmentable(const AugmentOptions& options, const DatasetShape& shape,
                         const std::vector<std::int64_t>& grid, const std::string& path,
                         const Places& places = {});

class Augmentation {
 public:
  /// Of samples that require_augmentable lets pass.
  Augmentation(const AugmentOptions& options, const DatasetShape& shape,
               const std::vector<std::int64_t>& grid, std::uint64_t seed);

  struct Stored {
    const std::byte* input;
    const std::byte* answer;
  };
  /// The sample as it is seen at `step` as number `sample` of the global batch. It is valid until the next
  /// call; nothing is allocated.
  [[nodiscard]] Stored moved(const Stored& stored, std::int64_t step, std::int64_t sample);

  /// Where the last sample has the input or target that is at `column` in moved(): for messages.
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
  std::array<std::int64_t, axes> extents_{1, 1, 1};  // the last are the grid's; 1 before them
  std::size_t first_axis_ = 0;                       // the grid's first
  bool moves_targets_ = false;
  std::int64_t input_point_columns_ = 0;
  std::int64_t target_point_columns_ = 0;
  std::int64_t input_point_bytes_ = 0;
  std::int64_t target_point_bytes_ = 0;

  // Of the sample that is moved: where along each extent a point comes from, and how the last two are turned.
  std::array<std::vector<std::int64_t>, axes> source_;
  unsigned turns_ = 0;
  bool mirror_columns_ = false;
  bool mirror_rows_ = false;

  std::vector<std::byte> input_;
  std::vector<std::byte> targets_;
};

}  // namespace mylos
