#include "mylos/data/files/sample_store.hpp"

#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/data/files/store_of_boxes.hpp"

namespace mylos {
namespace {

/// Returns the extents of a grid without its channels.
std::vector<std::int64_t> extents_of(std::vector<std::int64_t> grid) {
  if (!grid.empty()) grid.pop_back();
  return grid;
}

}  // namespace

const GridAxes& SampleStore::axes() const {
  static const GridAxes none;
  return none;
}

const char* name_of_truth(Task task) {
  switch (task) {
    case Task::classification:
      return "labels";
    case Task::regression:
      return "targets";
    case Task::none:
      break;
  }
  return "nothing";
}

std::shared_ptr<SampleStore> SampleStore::part(const GridPart& part, const std::vector<std::int64_t>& grid,
                                               bool whole_truth) const {
  const std::vector<std::int64_t>& known = grid.empty() ? this->grid() : grid;
  const GridBox box = box_of(part, extents_of(known), path());
  if (whole_truth) return std::make_shared<StoreOfBoxes>(*this, box, known, true);
  return boxes(part, known);
}

std::shared_ptr<SampleStore> SampleStore::boxes(const GridPart& part,
                                                const std::vector<std::int64_t>& grid) const {
  return std::make_shared<StoreOfBoxes>(*this, box_of(part, extents_of(grid), path()), grid, false);
}

Splits split_samples(std::int64_t samples, double validation_fraction) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    fail_input(errors::bad_value, "data.validation = {}, expected at least 0 and below 1",
               validation_fraction);
  }
  const auto held_out =
      static_cast<std::int64_t>(std::llround(validation_fraction * static_cast<double>(samples)));
  if (held_out >= samples || (validation_fraction > 0 && held_out == 0)) {
    fail_input(errors::too_little_data, "data.validation = {} leaves no sample of {} for {}",
               validation_fraction, samples, held_out == 0 ? "validation" : "training");
  }
  return {{0, samples - held_out}, {samples - held_out, held_out}};
}

}  // namespace mylos
