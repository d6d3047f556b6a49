// What each kind of layer states of itself, in a header of its own in this folder: a struct with the options
// that only layers of this kind have, and
//
//   traits          what is known of the kind from the deck alone
//   keys()          the deck's keys for its options, a tuple of OwnKey; several kinds may have one key
//   append_to()     appends its blocks to a network; src/mylos/model/layers/KIND has it
//   ratio(axis)     if it makes the grid finer or coarser: PointRatio
//   stated()        if the defaults of some options depend on others: the same layer with all of them stated
//
// The list of all kinds is LayerKind (layers.hpp).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mylos/model/own_key.hpp"

namespace mylos {

class GrowingChain;
struct LayerOptions;

/// One value per axis of the grid. A single value applies to all axes; an empty list selects the default.
using PerAxis = std::vector<std::int64_t>;

/// What is known of a kind of layer from the deck alone.
struct LayerTraits {
  std::string_view name;          // in decks
  std::string_view meaning;       // for the manual, a sentence
  bool needs_grid = false;        // its input must be a grid; others read vectors too
  bool gives_vector = false;      // its output is a vector, whatever its input is
  bool computes_outputs = false;  // each from all channels, by weights; 'outputs' is their number
  bool has_weights = false;       // without its norm; those of a gated add come from its option
  bool may_have_outputs = false;  // takes 'outputs' without that
  bool fuses_activation = false;  // its block computes the activation too, if no norm lies between
  bool keeps_channels = false;    // each channel of the output comes from the channel of that number alone
  bool keeps_points = false;      // without strides, padding and even kernels
  bool reads_earlier = false;     // takes 'skip_from', an earlier layer whose output it reads
  bool restarts = false;          // continues from the layer in 'skip_from', not from its input
  bool takes_parts = false;       // computes the part of a sample that a rank holds (GridPart)
};

/// A layer's points along an axis: those of its input, times `more`, divided by `fewer`.
struct PointRatio {
  std::int64_t more = 1;
  std::int64_t fewer = 1;
};

/// Returns the value for one axis.
[[nodiscard]] inline std::int64_t along(const PerAxis& given, std::size_t axis, std::int64_t absent) {
  return given.empty() ? absent : given.size() == 1 ? given.front() : given[axis];
}

inline constexpr std::int64_t max_layer_width = 1 << 20;  // units or channels
inline constexpr std::int64_t max_kernel = 1023;          // points along an axis
inline constexpr std::int64_t max_modes = 65536;          // wave numbers along an axis

}  // namespace mylos
