// OpenArray: one array of one file, read level by level as [level][point of the grid][channel].
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/array_options.hpp"
#include "mylos/data/arrays/layout/axes.hpp"
#include "mylos/data/arrays/numbers/number_conversion.hpp"
#include "mylos/io/hdf5/hdf5_array.hpp"

namespace mylos {

/// What the windows need to know of an array; 1 where it has no such axis.
struct StoredExtents {
  std::int64_t trajectories = 1;
  std::int64_t levels = 1;
  std::vector<std::int64_t> grid = {};
  std::int64_t channels = 1;

  [[nodiscard]] std::int64_t points() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : grid) product *= extent;
    return product;
  }
};

/// Which numbers of a level of an array stand for something; empty: all.
struct ArrayMask {
  std::vector<std::uint8_t> counts;  // [points, channels]: 1, or 0 for those that do not
  bool is_of_missing = false;        // the others must be missing at all levels
  [[nodiscard]] bool empty() const { return counts.empty(); }
};

class OpenArray {
 public:
  /// Opens the array at `path`. Throws Error (bad_input) with file and array.
  OpenArray(const hdf5::File& file, const std::string& path, const ArrayOptions& options,
            const ReadGrid& grid);

  [[nodiscard]] const hdf5::Array& array() const { return array_; }
  [[nodiscard]] const std::vector<SlicedAxis>& axes() const { return axes_; }
  [[nodiscard]] const StoredExtents& extents() const { return extents_; }
  [[nodiscard]] const std::vector<hdf5::Attribute>& attributes() const { return attributes_; }
  [[nodiscard]] const NumberConversion& conversion() const { return conversion_; }
  /// Returns whether float32 holds all values exactly.
  [[nodiscard]] bool is_exact_in_float() const;

  /// Returns the bytes of the caller's buffer for reading `levels` levels; 0 if none is needed, because the
  /// stored numbers are the results.
  [[nodiscard]] std::int64_t buffer_bytes(std::int64_t levels) const;
  /// Reads levels [first, first + count) of a trajectory, as float or double; numbers that the mask leaves
  /// out become 0. Those that are missing become NaN if the options say that they may be. Throws Error
  /// (bad_input) with file, array and index if they cannot be read, a value is not finite, one is missing
  /// that may not be, or one is not missing that the mask says is.
  template <class Result>
  void read(std::int64_t trajectory, std::int64_t first, std::int64_t count, std::byte* buffer,
            Result* result, const ArrayMask& mask = {}) const;
  /// Reads the first level and returns for each of its numbers whether it is there: not missing, nor NaN.
  [[nodiscard]] std::vector<std::uint8_t> present_in_first_level() const;

  /// Returns the number of levels that are read together fastest, and the level at which such a run may
  /// begin (counted from the first used).
  struct Run {
    std::int64_t levels = 1;
    std::int64_t shift = 0;
  };
  [[nodiscard]] Run natural_run() const;

  /// Returns "run0.h5: array /u[12, 0, 5] (stored indices, counted from 0)".
  [[nodiscard]] std::string location(std::int64_t trajectory, std::int64_t level, std::int64_t point,
                                     std::int64_t channel) const;

 private:
  struct Selection {
    hdf5::Array::Box box;
    std::vector<ConversionLoop> loops;
  };
  [[nodiscard]] Selection select(std::int64_t trajectory, std::int64_t first, std::int64_t count) const;
  [[nodiscard]] bool is_stored_as_read(const Selection& selection, bool wide) const;
  /// Reads the selection; `stored` are its stored numbers afterwards. Returns whether all are finite.
  template <class Result>
  [[nodiscard]] bool load(const Selection& selection, const std::string& where, std::byte* buffer,
                          Result* result, std::int64_t size, const void*& stored) const;
  [[noreturn]] void fail_value(const Selection& selection, std::int64_t trajectory, std::int64_t first,
                               std::int64_t index, const void* stored) const;
  [[noreturn]] void fail_moved(std::int64_t trajectory, std::int64_t first, std::int64_t index,
                               double value) const;
  /// Returns the location of number `index` of the levels from `first` on.
  [[nodiscard]] std::string location_of_number(std::int64_t trajectory, std::int64_t first,
                                               std::int64_t index) const;
  /// Whether the axis is read with the indices between those that are used, which is faster.
  [[nodiscard]] bool is_read_dense(std::size_t axis) const;

  std::string where_;
  hdf5::Array array_;
  std::vector<hdf5::Attribute> attributes_;
  std::vector<SlicedAxis> axes_;
  StoredExtents extents_;
  NumberConversion conversion_;
  bool may_be_missing_;
};

}  // namespace mylos
