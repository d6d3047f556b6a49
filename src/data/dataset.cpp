#include "mylos/data/dataset.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "data_file.hpp"
#include "mylos/base/text.hpp"

namespace mylos {
namespace {

/// Rows per read of a pass over the file: about 1 MiB.
std::int64_t rows_per_read(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, (std::int64_t{1} << 20) / row_bytes);
}

hdf5::File open_dataset(const std::string& path) {
  auto file = open_data_file(path);
  if (file.has_attribute("/", "format")) {
    const std::string format = file.text_attribute("/", "format");
    if (format != dataset_format)
      fail_input("{}: is a {} file, expected {}", path, printable(format), dataset_format);
    const auto version = file.integer_attribute("/", "version");
    if (version < 1 || version > dataset_version) {
      fail_input("{}: {} version {}, expected at most {}", path, format, version, dataset_version);
    }
  }
  if (!file.exists("/inputs")) {
    fail_input("{}: has no dataset /inputs [samples, features]; `mylos prepare` makes data files", path);
  }
  return file;
}

Task task_of(const hdf5::File& file, Answers answers) {
  const bool labels = file.exists("/labels");
  const bool targets = file.exists("/targets");
  if (!labels && !targets && answers == Answers::needed) {
    fail_input(
        "{}: has neither /labels [samples] nor /targets [samples, outputs], so it is for `mylos predict` "
        "alone; `mylos prepare csv` with --label or --targets, or `prepare idx` with a file of labels, makes "
        "one that has them",
        file.path());
  }
  if (labels && targets) {
    fail_input("{}: has both /labels and /targets, expected one of them", file.path());
  }
  if (labels) return Task::classification;
  return targets ? Task::regression : Task::none;
}

/// The dataset that holds the answers, without its slash.
const char* name_of_answers(Task task) {
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

/// Statistics of what is not finite would only spoil all rows, and a later message name the wrong one.
void require_finite(const std::string& path, const char* dataset, const float* values, std::int64_t first_row,
                    std::int64_t rows, std::int64_t columns) {
  const float* end = values + rows * columns;
  const float* bad = std::find_if(values, end, [](float value) { return !std::isfinite(value); });
  if (bad == end) return;
  fail_input("{}: {} row {}, column {} (counted from 0) is {}, expected a finite number", path, dataset,
             first_row + (bad - values) / columns, (bad - values) % columns, *bad);
}

bool may_lie_on(const SampleMeaning& trained, const std::vector<std::int64_t>& grid) {
  if (grid.empty() || grid == trained.grid || grid == trained.deck_grid) return true;
  return trained.grid.empty() && trained.deck_grid.size() != grid.size();
}

}  // namespace

std::string DatasetIdentity::finish(const DatasetShape& shape) {
  const std::string dimensions =
      fmt::format("inputs {} {} {} {} {}", hdf5::name_in_files(shape.input_type), shape.samples,
                  shape.features, name_of_answers(shape.task), shape.outputs);
  Xxh128 digest;
  digest.update(dimensions.data(), dimensions.size());
  for (auto* part : {&inputs_, &answers_}) {
    const std::string text = part->digest();
    digest.update(text.data(), text.size());
  }
  return digest.digest();
}

Dataset::Dataset(const std::string& path, Answers answers, Digests digests)
    : path_(path), file_(open_dataset(path)), digests_(digests) {
  shape_.task = task_of(file_, answers);
  open_inputs();
  if (task() != Task::none) open_answers();
  open_grid();
}

void Dataset::open_grid() {
  constexpr std::size_t most_extents = 4;  // networks on grids take no more
  if (!file_.has_attribute("/", "shape")) return;
  const std::string text = file_.text_attribute("/", "shape");
  std::istringstream words(text);
  std::int64_t numbers = 1;
  for (std::int64_t extent = 0; words >> extent;) {
    numbers = extent < 1 || extent > features() / std::max<std::int64_t>(numbers, 1) ? 0 : numbers * extent;
    grid_.push_back(extent);
  }
  if (!words.eof() || numbers != features()) {
    fail_input("{}: attribute 'shape' of / is '{}', expected numbers whose product is the {} of a sample",
               path_, printable(text, 100), features());
  }
  if (grid_.size() == 2) grid_.push_back(1);
  if (grid_.size() < 2 || grid_.size() > most_extents) grid_.clear();
}

void Dataset::open_inputs() {
  const hdf5::Dataset inputs = file_.dataset("/inputs");
  inputs.require({DType::uint8, DType::fp32}, 2, "[samples, features]");
  shape_.input_type = *inputs.type();
  shape_.samples = inputs.dims()[0];
  shape_.features = inputs.dims()[1];
  if (samples() == 0 || features() == 0) {
    fail_input("{}: dataset /inputs is [{}, {}], expected at least one sample and one feature", path_,
               samples(), features());
  }
  inputs_.emplace(file_, inputs, shape_.input_type, digests_);
}

void Dataset::open_answers() {
  const hdf5::Dataset answers = file_.dataset(fmt::format("/{}", name_of_answers(task())));
  if (task() == Task::classification) {
    answers.require({DType::int32, DType::int64, DType::uint8}, 1, "[samples]");
    shape_.outputs = file_.integer_attribute("/", "classes");
    if (outputs() < 1 || outputs() > most_classes) {
      fail_input("{}: attribute 'classes' of / is {}, expected 1 to {}", path_, outputs(), most_classes);
    }
  } else {
    answers.require({DType::fp32}, 2, "[samples, outputs]");
    shape_.outputs = answers.dims()[1];
    if (outputs() == 0)
      fail_input("{}: dataset /targets is [{}, 0], expected at least one output", path_, samples());
  }
  if (answers.dims()[0] != samples()) {
    fail_input("{}: dataset {} has {} samples, /inputs has {}", path_, answers.path(), answers.dims()[0],
               samples());
  }
  const bool labels = task() == Task::classification;
  answers_.emplace(file_, answers, labels ? DType::int32 : DType::fp32, digests_);
}

std::vector<std::string> Dataset::class_names() const {
  if (task() != Task::classification || !file_.exists("/class_names")) return {};
  std::vector<std::string> names;
  std::istringstream text(file_.dataset("/class_names").read_text());
  for (std::string name; std::getline(text, name);) names.push_back(name);
  if (static_cast<std::int64_t>(names.size()) != outputs()) {
    fail_input("{}: /class_names has {} names, one a line, for {} classes", path_, names.size(), outputs());
  }
  return names;
}

void Dataset::read_inputs(std::int64_t first, std::int64_t count, void* destination) const {
  inputs_->read(first, count, destination);
}

void Dataset::read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const {
  answers_->read(first, count, destination);
}

void Dataset::read_targets(std::int64_t first, std::int64_t count, float* destination) const {
  if (answers_) answers_->read(first, count, destination);
}

std::int64_t Dataset::checking_bytes() const {
  return inputs_->memory_bytes() + (answers_ ? answers_->memory_bytes() : 0);
}

ColumnStatistics Dataset::stored_statistics(const std::string& of, std::int64_t columns) const {
  const std::string group = "/statistics/" + of;
  const auto read = [&](const char* name) {
    const auto dataset = file_.dataset(group + "/" + name);
    dataset.require({DType::fp64}, 1, "[columns]");
    if (dataset.size() != columns) {
      fail_input("{}: dataset {} has {} columns, /{} has {}", path_, dataset.path(), dataset.size(), of,
                 columns);
    }
    std::vector<double> values(static_cast<std::size_t>(columns));
    CheckedArray(file_, dataset, DType::fp64, digests_).read(0, columns, values.data());
    return values;
  };
  ColumnStatistics statistics{read("mean"), read("std"), read("min"), read("max")};
  require_sensible(statistics, path_, group);
  return statistics;
}

ColumnStatistics Dataset::input_statistics(Split part) const {
  const bool is_all = part.count == samples();
  if (is_all && file_.exists("/statistics/inputs")) return stored_statistics("inputs", features());
  StatisticsAccumulator accumulator(features());
  const std::int64_t rows = std::min(part.count, rows_per_read(shape_.input_bytes()));
  std::vector<std::byte> buffer(static_cast<std::size_t>(rows * shape_.input_bytes()));
  const std::int64_t end = part.first + part.count;
  for (std::int64_t first = part.first; first < end; first += rows) {
    const std::int64_t count = std::min(rows, end - first);
    read_inputs(first, count, buffer.data());
    if (shape_.input_type == DType::uint8) {
      accumulator.add(reinterpret_cast<const std::uint8_t*>(buffer.data()), count);
    } else {
      const auto* values = reinterpret_cast<const float*>(buffer.data());
      require_finite(path_, "/inputs", values, first, count, features());
      accumulator.add(values, count);
    }
  }
  return accumulator.result();
}

ColumnStatistics Dataset::target_statistics(Split part) const {
  if (task() != Task::regression) fail_run("{}: has no targets", path_);
  const bool is_all = part.count == samples();
  if (is_all && file_.exists("/statistics/targets")) return stored_statistics("targets", outputs());
  StatisticsAccumulator accumulator(outputs());
  const std::int64_t rows = std::min(part.count, rows_per_read(shape_.answer_bytes()));
  std::vector<float> buffer(static_cast<std::size_t>(rows * outputs()));
  const std::int64_t end = part.first + part.count;
  for (std::int64_t first = part.first; first < end; first += rows) {
    const std::int64_t count = std::min(rows, end - first);
    read_targets(first, count, buffer.data());
    require_finite(path_, "/targets", buffer.data(), first, count, outputs());
    accumulator.add(buffer.data(), count);
  }
  return accumulator.result();
}

void Dataset::require_label(std::int64_t row, std::int32_t label) const {
  if (label >= 0 && label < outputs()) return;
  fail_input("{}: /labels row {} (counted from 0) is {}, expected 0 to {}", path_, row, label, outputs() - 1);
}

bool Dataset::was_prepared() const {
  return file_.has_attribute("/", "identity");
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
             identity.add_answers(stored, count * shape_.answer_bytes());
           });
  return identity.finish(shape_);
}

void Dataset::read_all(const TakeRows& take_inputs, const TakeRows& take_answers) const {
  const std::int64_t rows =
      std::min(samples(), rows_per_read(std::max(shape_.input_bytes(), shape_.answer_bytes())));
  std::vector<std::byte> buffer(
      static_cast<std::size_t>(rows * std::max(shape_.input_bytes(), shape_.answer_bytes())));
  for (std::int64_t first = 0; first < samples(); first += rows) {
    const std::int64_t count = std::min(rows, samples() - first);
    read_inputs(first, count, buffer.data());
    const auto* values = reinterpret_cast<const float*>(buffer.data());
    if (shape_.input_type == DType::fp32) require_finite(path_, "/inputs", values, first, count, features());
    take_inputs(buffer.data(), count);
    if (task() == Task::none) continue;
    if (task() == Task::classification) {
      auto* labels = reinterpret_cast<std::int32_t*>(buffer.data());
      read_labels(first, count, labels);
      for (std::int64_t i = 0; i < count; ++i) require_label(first + i, labels[i]);
    } else {
      read_targets(first, count, reinterpret_cast<float*>(buffer.data()));
      require_finite(path_, "/targets", values, first, count, outputs());
    }
    take_answers(buffer.data(), count);
  }
}

void require_same_meaning(const SampleMeaning& trained, const Dataset& other) {
  if (!may_lie_on(trained, other.grid())) {
    fail_input("{}: its samples lie on a grid of {}, those of {} on one of {}; both must lie on the same",
               other.path(), fmt::join(other.grid(), " x "), trained.data,
               fmt::join(trained.grid.empty() ? trained.deck_grid : trained.grid, " x "));
  }
  const std::vector<std::string> names = other.class_names();
  for (std::size_t i = 0; i < std::min(names.size(), trained.class_names.size()); ++i) {
    if (names[i] == trained.class_names[i]) continue;
    fail_input(
        "{}: class {} (counted from 0) is '{}', and '{}' in {}; labels must mean the same classes: `mylos "
        "prepare images` with --classes-of {} numbers them alike",
        other.path(), i, printable(names[i]), printable(trained.class_names[i]), trained.data, trained.file);
  }
}

void require_same_shape(const Dataset& train, const Dataset& other,
                        const std::vector<std::int64_t>& deck_grid) {
  if (train.features() != other.features()) {
    fail_input("{}: has {} features per sample, {} has {}", other.path(), other.features(), train.path(),
               train.features());
  }
  if (train.task() != other.task()) {
    fail_input("{}: holds {}, {} holds {}", other.path(), name_of_answers(other.task()), train.path(),
               name_of_answers(train.task()));
  }
  if (train.outputs() != other.outputs()) {
    fail_input("{}: has {} {}, {} has {}", other.path(), other.outputs(),
               other.task() == Task::regression ? "targets per sample" : "classes", train.path(),
               train.outputs());
  }
  require_same_meaning({.data = train.path(),
                        .grid = train.grid(),
                        .deck_grid = deck_grid,
                        .class_names = train.class_names(),
                        .file = train.path()},
                       other);
}

Splits split_samples(std::int64_t samples, double validation_fraction) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    fail_input("data.validation = {}, expected at least 0 and below 1", validation_fraction);
  }
  const auto held_out =
      static_cast<std::int64_t>(std::llround(validation_fraction * static_cast<double>(samples)));
  if (held_out >= samples || (validation_fraction > 0 && held_out == 0)) {
    fail_input("data.validation = {} leaves no sample of {} for {}", validation_fraction, samples,
               held_out == 0 ? "validation" : "training");
  }
  return {{0, samples - held_out}, {samples - held_out, held_out}};
}

}  // namespace mylos
