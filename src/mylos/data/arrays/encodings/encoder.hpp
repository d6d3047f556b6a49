// Encoder: channels of samples that are computed from the coordinates of files (data.arrays.encodings).
//
//   day_of_year  sin and cos of 2 pi times the fraction of the year, from the time of a level
//   hour         sin and cos of 2 pi times the fraction of the day
//   latitude     sin, from the axis of the grid in degrees_north
//   longitude    sin and cos, from the axis in degrees_east
//
// Channels of time are part of each level of the inputs, after the arrays, and so are forcings of rollouts;
// those of places follow the constants. They are computed in double and rounded to float.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/array_options.hpp"
#include "mylos/data/coordinates/grid_axes.hpp"
#include "mylos/data/coordinates/level_times.hpp"

namespace mylos {

struct EncodedChannel {
  Encoding of = Encoding::day_of_year;
  bool is_cosine = false;
};

/// Returns the channels of those encodings that are of time, or of those that are of places.
[[nodiscard]] std::vector<EncodedChannel> encoded_channels(const std::vector<Encoding>& encodings,
                                                           bool of_time);
/// Returns "sin(day_of_year)".
[[nodiscard]] std::string name_of(const EncodedChannel& channel);

/// A channel of a sample that is encoded.
struct EncodedSource {
  EncodedChannel channel = {};
  std::int64_t level = 0;  // of those of time: counted from the window's first
  std::int64_t first = 0;  // channel of the sample
};

[[nodiscard]] bool encodes_places(const ArrayOptions& options);

/// Throws Error (data_mismatch), beginning with `path`, if encodings of time lack the times of levels.
void require_times(const std::vector<Encoding>& encodings, const LevelTimes& times, const std::string& path);

class Encoder {
 public:
  Encoder() = default;
  /// `axes`: of the grid with these extents. Throws Error (data_mismatch), beginning with `path`, if they
  /// lack coordinates of an encoding.
  Encoder(const std::vector<EncodedSource>& sources, const GridAxes& axes,
          const std::vector<std::int64_t>& extents, const std::string& path);

  /// Writes the channels into points [first, first + count) of a window, [point][channels]. `level`: its
  /// first one. `step_ms`: see LevelTimes::at().
  void write(const LevelTimes& times, std::int64_t level, double step_ms, std::int64_t first,
             std::int64_t count, std::int64_t channels, float* to) const;

  [[nodiscard]] std::int64_t memory_bytes() const;

 private:
  /// A channel that differs along one axis of the grid.
  struct AlongAxis {
    std::int64_t channel = 0;
    std::int64_t stride = 1;  // points from one coordinate to the next
    std::vector<float> values = {};
  };
  std::vector<EncodedSource> of_time_;
  std::vector<AlongAxis> of_places_;
};

}  // namespace mylos
