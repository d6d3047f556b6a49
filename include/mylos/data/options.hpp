// [data]: where samples come from and how a batch is made of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

enum class Normalize { none, standard, channel, minmax };

[[nodiscard]] constexpr std::string_view name_of(Normalize method) {
  constexpr std::string_view names[] = {"none", "standard", "channel", "minmax"};
  return names[static_cast<std::size_t>(method)];
}

enum class Shuffle { samples, blocks };
enum class LastBatch { drop, join };
enum class WindowOrder { random, sequential };

/// What a crop reads beyond a sample's edges: zeros, as stored; the value at the edge; the values on this
/// side of it, mirrored at the point on the edge.
enum class CropFill { zero, edge, reflect };
/// Whether a regression's targets are turned with the inputs. automatic: where they lie on the same grid.
enum class AugmentTargets { automatic, keep, move };

/// [data.augment]: training samples are seen anew at each step, each moved on its grid by chance.
struct AugmentOptions {
  std::int64_t crop = 0;  // points added on each side, of which a part of the sample's size is cut out
  CropFill crop_fill = CropFill::zero;
  std::int64_t shift = 0;  // most points along each extent; what leaves on one side comes in on the other
  bool rotate = false;     // by a multiple of 90 degrees, in the plane of the last two extents
  bool flip_horizontal = false;  // along the last extent
  bool flip_vertical = false;    // along the one before it
  AugmentTargets targets = AugmentTargets::automatic;

  [[nodiscard]] bool any() const {
    return crop > 0 || shift > 0 || rotate || flip_horizontal || flip_vertical;
  }
  bool operator==(const AugmentOptions&) const = default;
};

struct DataOptions {
  std::string train;
  std::string test;
  double validation = 0;         // fraction of the training file held out, taken from its end
  std::int64_t batch = 256;      // samples per step over all ranks
  std::int64_t micro_batch = 0;  // most samples a rank holds at once; 0 = its whole share
  Normalize normalize = Normalize::none;
  Shuffle shuffle = Shuffle::samples;
  LastBatch last_batch = LastBatch::drop;
  WindowOrder window = WindowOrder::random;  // of tokens
  std::vector<std::int64_t> shape = {};  // of a sample: 1 to 3 extents, then channels; empty: from the data
  AugmentOptions augment = {};

  bool operator==(const DataOptions&) const = default;
};

}  // namespace mylos
