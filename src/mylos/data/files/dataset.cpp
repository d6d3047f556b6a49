#include "mylos/data/files/dataset.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <sstream>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/data/files/data_file.hpp"
#include "mylos/data/files/dataset_rows.hpp"

namespace mylos {
namespace {

hdf5::File open_dataset(const std::string& path) {
  auto file = open_data_file(path);
  if (file.has_attribute("/", "format")) {
    const std::string format = file.text_attribute("/", "format");
    if (format != dataset_format)
      fail_input(errors::wrong_format, "{}: is a {} file, expected {}", path, printable(format),
                 dataset_format);
    const auto version = file.integer_attribute("/", "version");
    if (version < 1 || version > dataset_version) {
      fail_input(errors::unknown_version, "{}: {} version {}, expected at most {}", path, format, version,
                 dataset_version);
    }
  }
  if (!file.exists("/inputs")) {
    fail_input(errors::missing_dataset,
               "{}: has no dataset /inputs [samples, features]; `mylos prepare` makes data files", path);
  }
  return file;
}

Task task_of(const hdf5::File& file, GroundTruth truth) {
  const bool labels = file.exists("/labels");
  const bool targets = file.exists("/targets");
  if (!labels && !targets && truth == GroundTruth::required) {
    fail_input(
        errors::missing_dataset,
        "{}: has neither /labels [samples] nor /targets [samples, outputs], so that only `mylos predict` can "
        "use it; `mylos prepare csv` with --label or --targets, or `prepare idx` with a file of labels, "
        "makes "
        "one that has them",
        file.path());
  }
  if (labels && targets) {
    fail_input(errors::bad_dataset, "{}: has both /labels and /targets, expected one of them", file.path());
  }
  if (labels) return Task::classification;
  return targets ? Task::regression : Task::none;
}

std::int64_t stored_column(const ColumnOrder& order, std::int64_t column) {
  if (order.empty()) return column;
  const auto count = static_cast<std::int64_t>(order.size());  // columns, or channels of a point
  return column - column % count + order[static_cast<std::size_t>(column % count)];
}

/// Reorders the columns of rows, in place.
template <class T>
void put_in_order(const ColumnOrder& order, std::int64_t columns, std::span<T> rows) {
  if (order.empty()) return;
  std::vector<T> stored(static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < rows.size(); row += stored.size()) {
    std::copy_n(rows.data() + row, stored.size(), stored.data());
    for (std::int64_t i = 0; i < columns; ++i)
      rows[row + static_cast<std::size_t>(i)] = stored[static_cast<std::size_t>(stored_column(order, i))];
  }
}

}  // namespace

std::string DatasetIdentity::finish(const DatasetShape& shape) {
  const std::string dimensions =
      fmt::format("inputs {} {} {} {} {}", hdf5::name_in_files(shape.input_type), shape.samples,
                  shape.features, name_of_truth(shape.task), shape.outputs);
  Xxh128 digest;
  digest.update(dimensions.data(), dimensions.size());
  for (auto* part : {&inputs_, &truth_}) {
    const std::string text = part->digest();
    digest.update(text.data(), text.size());
  }
  return digest.digest();
}

Dataset::Dataset(const std::string& path, GroundTruth truth, Digests digests)
    : path_(path), file_(open_dataset(path)), digests_(digests) {
  shape_.task = task_of(file_, truth);
  open_inputs();
  if (task() != Task::none) open_truth();
  open_grid();
  open_names();
}

void Dataset::open_grid() {
  constexpr std::size_t max_extents = 4;  // networks on grids support no more
  if (!file_.has_attribute("/", "shape")) return;
  const std::string text = file_.text_attribute("/", "shape");
  std::istringstream words(text);
  std::int64_t numbers = 1;
  for (std::int64_t extent = 0; words >> extent;) {
    numbers = extent < 1 || extent > features() / std::max<std::int64_t>(numbers, 1) ? 0 : numbers * extent;
    grid_.push_back(extent);
  }
  if (!words.eof() || numbers != features()) {
    fail_input(errors::bad_dataset,
               "{}: attribute 'shape' of / is '{}', expected numbers whose product is the {} of a sample",
               path_, printable(text, 100), features());
  }
  if (grid_.size() == 2) grid_.push_back(1);
  if (grid_.size() < 2 || grid_.size() > max_extents) grid_.clear();
}

void Dataset::open_inputs() {
  const hdf5::Dataset inputs = file_.dataset("/inputs");
  inputs.require({DType::uint8, DType::fp32}, 2, "[samples, features]");
  shape_.input_type = *inputs.type();
  shape_.samples = inputs.dims()[0];
  shape_.features = inputs.dims()[1];
  if (samples() == 0 || features() == 0) {
    fail_input(errors::bad_dataset,
               "{}: dataset /inputs is [{}, {}], expected at least one sample and one feature", path_,
               samples(), features());
  }
  inputs_.emplace(file_, inputs, shape_.input_type, digests_);
}

void Dataset::open_truth() {
  const hdf5::Dataset truth = file_.dataset(fmt::format("/{}", name_of_truth(task())));
  if (task() == Task::classification) {
    truth.require({DType::int32, DType::int64, DType::uint8}, 1, "[samples]");
    shape_.outputs = file_.integer_attribute("/", "classes");
    if (outputs() < 1 || outputs() > max_classes) {
      fail_input(errors::bad_dataset, "{}: attribute 'classes' of / is {}, expected 1 to {}", path_,
                 outputs(), max_classes);
    }
  } else {
    truth.require({DType::fp32}, 2, "[samples, outputs]");
    shape_.outputs = truth.dims()[1];
    if (outputs() == 0)
      fail_input(errors::bad_dataset, "{}: dataset /targets is [{}, 0], expected at least one output", path_,
                 samples());
  }
  if (truth.dims()[0] != samples()) {
    fail_input(errors::bad_dataset, "{}: dataset {} has {} samples, /inputs has {}", path_, truth.path(),
               truth.dims()[0], samples());
  }
  const bool labels = task() == Task::classification;
  truth_.emplace(file_, truth, labels ? DType::int32 : DType::fp32, digests_);
}

std::vector<std::string> Dataset::class_names() const {
  if (task() != Task::classification) return {};
  std::vector<std::string> names = read_names(file_, "/class_names");
  if (!names.empty() && static_cast<std::int64_t>(names.size()) != outputs()) {
    fail_input(errors::bad_names, "{}: /class_names has {} names, one a line or in a list, for {} classes",
               path_, names.size(), outputs());
  }
  return names;
}

void Dataset::open_names() {
  const std::int64_t channels = grid_.empty() ? features() : grid_.back();
  const std::int64_t points = features() / channels;
  const auto open = [&](const char* path, std::int64_t columns, std::int64_t on_grid) {
    std::vector<std::string> names = read_names(file_, path);
    const auto count = static_cast<std::int64_t>(names.size());
    if (count == 0 || count == columns || count == on_grid) return names;
    fail_input(errors::bad_names, "{}: {} has {} names, one a line or in a list, expected {}{}", path_, path,
               count, columns,
               on_grid == columns ? "" : fmt::format(", or {} for the channels of a point", on_grid));
  };
  input_names_ = open("/input_names", features(), channels);
  if (task() != Task::regression) return;
  target_names_ = open("/target_names", outputs(), outputs() % points == 0 ? outputs() / points : outputs());
}

void Dataset::reorder(const ColumnOrder& inputs, const ColumnOrder& targets) {
  const auto apply = [](const ColumnOrder& order, ColumnOrder& known, std::vector<std::string>& names) {
    if (order.empty()) return;
    ColumnOrder all;
    std::vector<std::string> named;
    for (const std::int64_t column : order) {
      const auto i = static_cast<std::size_t>(column);
      all.push_back(known.empty() ? column : known[i]);
      named.push_back(names[i]);
    }
    known = std::move(all);
    names = std::move(named);
  };
  apply(inputs, input_order_, input_names_);
  apply(targets, target_order_, target_names_);
}

std::int64_t Dataset::stored_input(std::int64_t column) const {
  return stored_column(input_order_, column);
}

std::int64_t Dataset::stored_target(std::int64_t column) const {
  return stored_column(target_order_, column);
}

std::string Dataset::location_of_input(std::int64_t sample, std::int64_t column) const {
  return fmt::format("{}: /inputs row {}, column {} (counted from 0)", path_, sample, stored_input(column));
}

std::string Dataset::location_of_target(std::int64_t sample, std::int64_t column) const {
  return fmt::format("{}: /targets row {}, column {} (counted from 0)", path_, sample, stored_target(column));
}

void Dataset::read_inputs(std::int64_t first, std::int64_t count, void* destination) const {
  read_stored_inputs(first, count, destination);
  if (shape_.input_type == DType::uint8) {
    put_in_order(
        input_order_, features(),
        std::span(static_cast<std::uint8_t*>(destination), static_cast<std::size_t>(count * features())));
  } else {
    put_in_order(input_order_, features(),
                 std::span(static_cast<float*>(destination), static_cast<std::size_t>(count * features())));
  }
}

void Dataset::read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const {
  truth_->read(first, count, destination);
}

void Dataset::read_targets(std::int64_t first, std::int64_t count, float* destination) const {
  if (!truth_) return;
  read_stored_targets(first, count, destination);
  put_in_order(target_order_, outputs(), std::span(destination, static_cast<std::size_t>(count * outputs())));
}

void Dataset::read_stored_inputs(std::int64_t first, std::int64_t count, void* destination) const {
  inputs_->read(first, count, destination);
}

void Dataset::read_stored_targets(std::int64_t first, std::int64_t count, float* destination) const {
  truth_->read(first, count, destination);
}

std::int64_t Dataset::reading_bytes() const {
  return inputs_->memory_bytes() + (truth_ ? truth_->memory_bytes() : 0);
}

void Dataset::require_label(std::int64_t row, std::int32_t label) const {
  if (label >= 0 && label < outputs()) return;
  fail_input(errors::bad_label, "{}: /labels row {} (counted from 0) is {}, expected 0 to {}", path_, row,
             label, outputs() - 1);
}

bool Dataset::was_prepared() const {
  return file_.has_attribute("/", "identity") && file_.exists("/digests");
}

std::string Dataset::identity() const {
  const std::optional<std::string> stored = stored_identity();
  return stored ? *stored : computed_identity();
}

std::optional<std::string> Dataset::stored_identity() const {
  if (!was_prepared()) return std::nullopt;
  return file_.text_attribute("/", "identity");
}

void Dataset::require_valid_values() const {
  if (!was_prepared()) static_cast<void>(computed_identity());
}

std::string Dataset::computed_identity() const {
  DatasetIdentity identity;
  read_all([&](const std::byte* stored,
               std::int64_t count) { identity.add_inputs(stored, count * shape_.input_bytes()); },
           [&](const std::byte* stored, std::int64_t count) {
             identity.add_truth(stored, count * shape_.truth_bytes());
           });
  return identity.finish(shape_);
}

void Dataset::read_all(const TakeRows& take_inputs, const TakeRows& take_truth) const {
  const std::int64_t rows =
      std::min(samples(), rows_per_read(std::max(shape_.input_bytes(), shape_.truth_bytes())));
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(rows * std::max(shape_.input_bytes(), shape_.truth_bytes())));
  for (std::int64_t first = 0; first < samples(); first += rows) {
    const std::int64_t count = std::min(rows, samples() - first);
    read_stored_inputs(first, count, buffer.data());
    const auto* values = reinterpret_cast<const float*>(buffer.data());
    if (shape_.input_type == DType::fp32) require_finite(path_, "/inputs", values, first, count, features());
    take_inputs(buffer.data(), count);
    if (task() == Task::none) continue;
    if (task() == Task::classification) {
      auto* labels = reinterpret_cast<std::int32_t*>(buffer.data());
      read_labels(first, count, labels);
      for (std::int64_t i = 0; i < count; ++i) require_label(first + i, labels[i]);
    } else {
      read_stored_targets(first, count, reinterpret_cast<float*>(buffer.data()));
      require_finite(path_, "/targets", values, first, count, outputs());
    }
    take_truth(buffer.data(), count);
  }
}

}  // namespace mylos
