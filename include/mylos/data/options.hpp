// [data]: the sources of samples and the composition of batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/data/array_options.hpp"

namespace mylos {

/// The scaling of inputs, and of a regression's targets, by the training samples: none, to mean 0 and
/// standard deviation 1 by column or by channel of a grid, or to [0, 1].
enum class Normalize { none, standard, channel, minmax };

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(Normalize method) {
  constexpr std::string_view names[] = {"none", "standard", "channel", "minmax"};
  return names[static_cast<std::size_t>(method)];
}

/// What an epoch shuffles: samples, or blocks of adjacent samples, which reads less.
enum class Shuffle { samples, blocks };
/// The ragged end of an epoch: dropped, or joined with the beginning of the next.
enum class LastBatch { drop, join };
/// Where windows of tokens begin: at random, or each at the end of the one before it.
enum class WindowOrder { random, sequential };

/// The values that a crop reads outside a sample: zeros (in stored units), the value at the edge, or the
/// values inside, mirrored at the edge point.
enum class CropFill { zero, edge, reflect };
/// Whether a regression's targets move with the inputs. automatic: if they lie on the same grid.
enum class AugmentTargets { automatic, keep, move };

/// [data.augment]: each step transforms every training sample at random on its grid.
struct AugmentOptions {
  std::int64_t crop = 0;  // points added on each side before a random part of the sample's size is taken
  CropFill crop_fill = CropFill::zero;  // what a crop reads outside the sample
  std::int64_t shift = 0;               // maximum points along each extent; the shift is periodic
  bool rotate = false;                  // by a multiple of 90 degrees, in the plane of the last two extents
  bool flip_horizontal = false;         // along the last extent
  bool flip_vertical = false;           // along the second-to-last extent
  AugmentTargets targets = AugmentTargets::automatic;  // whether targets are transformed like the inputs

  /// Returns whether samples are transformed at all.
  [[nodiscard]] bool any() const {
    return crop > 0 || shift > 0 || rotate || flip_horizontal || flip_vertical;
  }
  bool operator==(const AugmentOptions&) const = default;
};

/// Files of samples: each entry is a path, or a pattern in which `*`, `?` and `[0-7]` stand for parts of the
/// names of files and folders. An entry that is the path of a file is not a pattern.
struct DataFiles {
  std::vector<std::string> names;  // paths and patterns, in the deck's order

  DataFiles() = default;
  /// One file or pattern; an empty name stands for none.
  DataFiles(const std::string& name) {
    if (!name.empty()) names.push_back(name);
  }
  /// One file or pattern; an empty name stands for none.
  DataFiles(const char* name) : DataFiles(std::string(name)) {}
  /// Several files or patterns.
  DataFiles(std::vector<std::string> several) : names(std::move(several)) {}
  /// Returns whether no file is named.
  [[nodiscard]] bool empty() const { return names.empty(); }
  /// Removes all names.
  void clear() { names.clear(); }
  /// Returns the names for messages: "run0.h5", or "run0.h5, run1.h5 and 3 more".
  [[nodiscard]] std::string text() const {
    constexpr std::size_t max_named = 2;
    std::string all;
    for (std::size_t i = 0; i < names.size() && i < max_named; ++i) all += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > max_named) all += " and " + std::to_string(names.size() - max_named) + " more";
    return all;
  }
  bool operator==(const DataFiles&) const = default;
};

/// The weight of a target's array.
struct VariableWeight {
  std::string array;  // its path in the files: "/sst"
  double weight = 1;
  bool operator==(const VariableWeight&) const = default;
};

/// [data.weights]: the weights of the grid's points and of variables in the loss.
struct WeightOptions {
  std::string file = {};                       // HDF5 or NetCDF-4; empty: no array has those of points
  std::string array = {};                      // its path in the file
  bool latitude = false;                       // points weigh by the cosine of their latitude
  std::vector<VariableWeight> variables = {};  // others have the weight 1

  /// Returns whether an array has the weights of points.
  [[nodiscard]] bool given() const { return !file.empty(); }
  /// Returns whether the deck has [data.weights].
  [[nodiscard]] bool any() const { return given() || latitude || !variables.empty(); }
  bool operator==(const WeightOptions&) const = default;
};

/// [data]: files, batches and scaling.
struct DataOptions {
  DataFiles train = {};                      // what the network is trained on
  DataFiles test = {};                       // what it is evaluated on; may be empty
  double validation = 0;                     // fraction of the training file held out, from its end
  std::int64_t batch = 256;                  // samples per step over all ranks
  std::int64_t micro_batch = 0;              // maximum samples of a rank at once; 0 = its local batch
  Normalize normalize = Normalize::none;     // scaling of the inputs, and of a regression's targets
  Shuffle shuffle = Shuffle::samples;        // of samples; windows of tokens have `window`
  LastBatch last_batch = LastBatch::drop;    // of an epoch; not of tokens
  WindowOrder window = WindowOrder::random;  // of token windows
  std::vector<std::int64_t> shape = {};  // of a sample: 1 to 3 extents, then channels; empty: from the data
  AugmentOptions augment = {};           // random transformations of training samples
  ArrayOptions arrays = {};              // without inputs: the files are prepared ones
  WeightOptions weights = {};            // of the grid's points in the loss

  bool operator==(const DataOptions&) const = default;
};

}  // namespace mylos
