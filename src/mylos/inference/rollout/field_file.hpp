// FieldFile: predicted fields in the layout of the data that they were predicted from.
//
// The file has the arrays that the network predicts, at their paths in the data, with the same order of axes,
// the same attributes and the same coordinates (as dimension scales, so that NetCDF-4's readers find them).
// Numbers are float64 where the data are, else float32: integers that the data scale are not packed again,
// and the attributes that say how they are packed or filled are left out. Numbers that a mask leaves out are
// _FillValue. Axes of the grid have the extents
// of the deck's slices. The time axis has the levels that are written; their times are those of the data,
// which are continued at the usual distance of its levels; if there is only one and the shape has no step
// of levels, there are none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/data/arrays/array_store.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

/// A further array of the file for each array that the network predicts, which has its layout.
struct FieldPart {
  std::string suffix;              // of its name: "_lower"
  std::optional<double> coverage;  // its attribute of this name
  std::optional<double> quantile;  // likewise: the level
  bool is_of_mean = false;         // of the forecasts, and so without their axis
};

struct FieldFileShape {
  std::vector<std::string> arrays;    // in the order of the network's outputs
  std::vector<std::int64_t> members;  // the index of each along the axis "sample" of the data, after slicing
  bool is_one_start = true;           // all members begin at the same level, so that the levels have times
  std::vector<std::int64_t> levels;   // the index of each along the axis "time" of the data, from 0
  std::string checkpoint;             // by which the fields were predicted
  std::vector<FieldPart> parts = {};  // besides the predictions themselves
  LevelStep level_step = {};   // of the training: the distance of later times if the data have one level
  std::int64_t forecasts = 1;  // of each member; of several, arrays have an axis "member" in front
};

class FieldFile {
 public:
  /// Creates the temporary file of `path`, with room on the disk for all levels. `like`: a store of the data,
  /// whose first file gives the layout; it must outlive the object. Arrays without an axis "sample" get an
  /// axis for the members in front, without coordinates, where there are several. Throws Error: bad_input
  /// where a part has the name of another array, failed where the disk has no room.
  FieldFile(const std::string& path, const ArrayStore& like, const FieldFileShape& shape);
  ~FieldFile();
  FieldFile(const FieldFile&) = delete;
  FieldFile& operator=(const FieldFile&) = delete;

  /// Writes the field [points, outputs] of a member and a level, counted from 0, in any order. The channels
  /// of the arrays follow each other. To be called for each member, level, part and forecast: part 0 are the
  /// predictions, then come the parts of the shape.
  void write(std::int64_t member, std::int64_t level, std::span<const float> field, std::size_t part = 0,
             std::int64_t forecast = 0);
  /// The same of one of the boxes of a field, which are to be written all.
  void write_box(const GridPart& box, std::int64_t member, std::int64_t level, std::span<const float> field,
                 std::size_t part = 0, std::int64_t forecast = 0);
  /// After the last field.
  void close();
  /// Waits for the disk and gives the file its name, without HDF5 or MPI.
  void publish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
