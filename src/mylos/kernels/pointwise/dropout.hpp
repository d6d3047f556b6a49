// Dropout: which elements of a matrix survive, as a pure function of (stream, step, sample, column).
//
// Nothing is stored: backward and recomputation draw the same random words again, and any distribution of the
// samples over ranks or micro-batches drops the same elements (Srivastava et al. 2014, scaled at training
// time). Nor does the division of samples into boxes.
#pragma once

#include <cstdint>
#include <optional>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/base/numbers/random.hpp"

namespace mylos {

/// The parameters of dropout. Element (row, column) survives if the stream's word at (*step, first_sample +
/// row, column) is below (1 - probability) 2^32. It is then scaled by 1/(1 - probability).
struct Dropout {
  RandomStream stream;
  float probability = 0;  // of dropping an element, in [0, 1)
  const std::uint64_t* step =
      nullptr;  // device memory: read in the kernel, so that a captured step can be replayed
  std::uint64_t first_sample = 0;  // global batch index of the sample in row 0
  // The matrix's rows are the points of this box of the samples' grids, and `row` above is a point of the
  // batch, or with `columns_are_points` a sample, whose columns are the channels of all points of its grid.
  std::optional<GridBox> box = {};
  bool columns_are_points = false;

  [[nodiscard]] bool active() const { return probability > 0; }
};

}  // namespace mylos
