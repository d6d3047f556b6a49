#include "mylos/data/files/store_of_boxes.hpp"

#include <algorithm>
#include <cstring>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/data/files/dataset_rows.hpp"

namespace mylos {
namespace {

/// Labels are of complete samples, and so are targets that are not some numbers of each point.
void require_truth_on_grid(const SampleStore& whole, const GridBox& box) {
  if (whole.task() == Task::none) return;
  if (whole.task() == Task::regression && whole.outputs() % box.grid_points() == 0) return;
  fail_input(
      errors::bad_value,
      "{}: its samples have {}, which do not lie on the {} points of the inputs' grid, and the network "
      "computes numbers of each of these points, which mesh.space divides; use a network whose output "
      "is a vector (\"global_pool\", \"dense\")",
      whole.path(),
      whole.task() == Task::classification ? "labels" : fmt::format("{} targets", whole.outputs()),
      box.grid_points());
}

/// Returns the names of the columns of a box. Those of channels are the same for each.
std::vector<std::string> names_in_box(const std::vector<std::string>& names, std::int64_t columns,
                                      const GridBox& box) {
  return static_cast<std::int64_t>(names.size()) == columns ? cut(names, box) : names;
}

}  // namespace

StoreOfBoxes::StoreOfBoxes(const SampleStore& whole, const GridBox& box,
                           const std::vector<std::int64_t>& grid, bool whole_truth)
    : whole_(whole), box_(box), whole_truth_(whole_truth), shape_(whole.shape()), grid_(grid) {
  if (!whole_truth) require_truth_on_grid(whole, box);
  shape_.features = whole.features() / box.grid_points() * box.points();
  if (!whole_truth && whole.task() == Task::regression)
    shape_.outputs = whole.outputs() / box.grid_points() * box.points();
  const std::size_t lacking = box.count.size() + 1 - grid.size();
  for (std::size_t i = lacking; i < box.count.size(); ++i) grid_[i - lacking] = box.count[i];
  input_names_ = names_in_box(whole.input_names(), whole.features(), box);
  target_names_ =
      whole_truth ? whole.target_names() : names_in_box(whole.target_names(), whole.outputs(), box);
  const std::int64_t row = std::max(whole.shape().input_bytes(), whole.shape().truth_bytes());
  buffer_bytes_ = rows_per_read(row) * row;
  buffer_ = HostBytes("data rows of boxes", buffer_bytes_);
}

SampleMask StoreOfBoxes::mask() const {
  const SampleMask mask = whole_.mask();
  return {cut(mask.inputs, box_), whole_truth_ ? mask.targets : cut(mask.targets, box_)};
}

void StoreOfBoxes::reorder(const ColumnOrder& /*inputs*/, const ColumnOrder& /*targets*/) {
  refuse_whole("order of columns");
}

std::int64_t StoreOfBoxes::column_of_whole(std::int64_t column, std::int64_t columns_of_point) const {
  return box_.point_of_grid(column / columns_of_point) * columns_of_point + column % columns_of_point;
}

std::string StoreOfBoxes::location_of_input(std::int64_t sample, std::int64_t column) const {
  return whole_.location_of_input(sample, column_of_whole(column, features() / box_.points()));
}

std::string StoreOfBoxes::location_of_target(std::int64_t sample, std::int64_t column) const {
  if (whole_truth_) return whole_.location_of_target(sample, column);
  return whole_.location_of_target(sample, column_of_whole(column, outputs() / box_.points()));
}

template <class Read>
void StoreOfBoxes::read_boxes(std::int64_t first, std::int64_t count, std::int64_t point_bytes,
                              std::byte* destination, const Read& read) const {
  const std::lock_guard lock(mutex_);
  const std::int64_t row = box_.grid_points() * point_bytes;
  const std::int64_t line = box_.count[2] * point_bytes;
  const std::int64_t rows = buffer_bytes_ / row;
  for (std::int64_t done = 0; done < count; done += rows) {
    const std::int64_t some = std::min(rows, count - done);
    read(first + done, some, buffer_.data());
    for (std::int64_t i = 0; i < some; ++i, destination += box_.points() * point_bytes) {
      box_.for_lines([&](std::int64_t to, std::int64_t from) {
        std::memcpy(destination + to * point_bytes, buffer_.data() + i * row + from * point_bytes,
                    static_cast<std::size_t>(line));
      });
    }
  }
}

void StoreOfBoxes::read_inputs(std::int64_t first, std::int64_t count, void* destination) const {
  read_boxes(
      first, count, shape_.input_bytes() / box_.points(), static_cast<std::byte*>(destination),
      [&](std::int64_t from, std::int64_t some, std::byte* to) { whole_.read_inputs(from, some, to); });
}

void StoreOfBoxes::read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const {
  whole_.read_labels(first, count, destination);
}

void StoreOfBoxes::read_targets(std::int64_t first, std::int64_t count, float* destination) const {
  if (task() != Task::regression) return;
  if (whole_truth_) return whole_.read_targets(first, count, destination);
  read_boxes(first, count, shape_.truth_bytes() / box_.points(), reinterpret_cast<std::byte*>(destination),
             [&](std::int64_t from, std::int64_t some, std::byte* to) {
               whole_.read_targets(from, some, reinterpret_cast<float*>(to));
             });
}

ColumnStatistics StoreOfBoxes::input_statistics(Split /*part*/) const {
  refuse_whole("statistics");
}

ColumnStatistics StoreOfBoxes::target_statistics(Split /*part*/) const {
  refuse_whole("statistics");
}

std::string StoreOfBoxes::identity() const {
  refuse_whole("identity");
}

std::int64_t StoreOfBoxes::reading_bytes() const {
  return whole_.reading_bytes() + buffer_bytes_;
}

void StoreOfBoxes::refuse_whole(const char* what) const {
  fail_run(errors::internal, "{}: boxes of samples have no {}; the store of the whole samples has", path(),
           what);
}

}  // namespace mylos
