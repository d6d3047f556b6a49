// [data]: the sources of samples and the composition of batches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/data/array_options.hpp"

namespace mylos {

enum class Normalize { none, standard, channel, minmax };

[[nodiscard]] constexpr std::string_view name_of(Normalize method) {
  constexpr std::string_view names[] = {"none", "standard", "channel", "minmax"};
  return names[static_cast<std::size_t>(method)];
}

enum class Shuffle { samples, blocks };
enum class LastBatch { drop, join };
enum class WindowOrder { random, sequential };

/// The values that a crop reads outside a sample: zeros (in stored units), the value at the edge, or the
/// values inside, mirrored at the edge point.
enum class CropFill { zero, edge, reflect };
/// Whether a regression's targets move with the inputs. automatic: if they lie on the same grid.
enum class AugmentTargets { automatic, keep, move };

/// [data.augment]: each step transforms every training sample at random on its grid.
struct AugmentOptions {
  std::int64_t crop = 0;  // points added on each side before a random part of the sample's size is taken
  CropFill crop_fill = CropFill::zero;
  std::int64_t shift = 0;        // maximum points along each extent; the shift is periodic
  bool rotate = false;           // by a multiple of 90 degrees, in the plane of the last two extents
  bool flip_horizontal = false;  // along the last extent
  bool flip_vertical = false;    // along the second-to-last extent
  AugmentTargets targets = AugmentTargets::automatic;

  [[nodiscard]] bool any() const {
    return crop > 0 || shift > 0 || rotate || flip_horizontal || flip_vertical;
  }
  bool operator==(const AugmentOptions&) const = default;
};

struct DataOptions {
  std::string train;
  std::string test;
  double validation = 0;         // fraction of the training file held out, from its end
  std::int64_t batch = 256;      // samples per step over all ranks
  std::int64_t micro_batch = 0;  // maximum samples of a rank at once; 0 = its local batch
  Normalize normalize = Normalize::none;
  Shuffle shuffle = Shuffle::samples;
  LastBatch last_batch = LastBatch::drop;
  WindowOrder window = WindowOrder::random;  // of token windows
  std::vector<std::int64_t> shape = {};  // of a sample: 1 to 3 extents, then channels; empty: from the data
  AugmentOptions augment = {};
  ArrayOptions arrays = {};  // without inputs: the files are prepared ones

  bool operator==(const DataOptions&) const = default;
};

}  // namespace mylos
