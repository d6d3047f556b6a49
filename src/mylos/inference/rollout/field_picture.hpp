// FieldPicture: one channel of a true and a predicted field, reduced to what a page can show.
//
// A field of one axis stays a line. Of a field of three axes the plane in the middle of the first one is
// taken. Axes of more than max_picture_side points are thinned to every n-th point. Values of planes are
// coded in 8 bits, truth and prediction by the same scale: code c of 0 ... 254 stands for low + c / 254 (high
// - low), 255 for a value that is not finite. The codes of the difference prediction - truth run from -span
// to span.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mylos/inference/scores/channel_points.hpp"

namespace mylos {

inline constexpr std::int64_t max_picture_side = 96;
inline constexpr std::int64_t max_picture_line = 512;

struct FieldPicture {
  std::string title;    // "sample 12", "member 0, step 20"
  std::string channel;  // its name
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t every = 1;   // points of the field for one of the picture, along each axis
  bool upward = false;      // the first row is the lowest one of the drawing
  std::int64_t plane = -1;  // of the first of three axes; -1: the field has fewer
  double low = 0;           // of the finite values of truth and prediction
  double high = 0;
  double span = 0;           // the largest finite difference
  std::vector<float> truth;  // [rows, columns]
  std::vector<float> predicted;
};

/// `truth` and `predicted` are [points, channels] of a grid with these extents; none: one point. Points of
/// weight 0 are NaN in the picture.
[[nodiscard]] FieldPicture make_picture(std::span<const std::int64_t> extents, std::int64_t channels,
                                        std::int64_t channel, std::span<const float> truth,
                                        std::span<const float> predicted, const MeasureWeights& weights = {});

/// Returns the codes of values, from `low` to `high`.
[[nodiscard]] std::vector<std::uint8_t> picture_codes(std::span<const float> values, double low, double high);

/// Returns the bytes in base 64 (RFC 4648).
[[nodiscard]] std::string base64(std::span<const std::uint8_t> bytes);

/// Returns `count` of the numbers 0 ... total - 1, ascending, chosen by the seed; all if there are no more.
[[nodiscard]] std::vector<std::int64_t> chosen_by_seed(std::uint64_t seed, std::int64_t total,
                                                       std::int64_t count);

}  // namespace mylos
