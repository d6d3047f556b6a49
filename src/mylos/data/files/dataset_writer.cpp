#include "mylos/data/files/dataset_writer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/dataset_summary.hpp"
#include "mylos/data/files/meaning/column_names.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

namespace {

/// Returns the channels of a point if `sample_shape` is a grid; two numbers alone are an image with one
/// channel.
std::int64_t channels_of(const std::string& sample_shape) {
  std::istringstream words(sample_shape);
  const std::vector<std::int64_t> extents{std::istream_iterator<std::int64_t>(words), {}};
  if (extents.size() < 2) return 0;
  return extents.size() == 2 ? 1 : extents.back();
}

}  // namespace

struct DatasetWriter::State {
  State(const std::string& path, const DatasetShape& wanted, std::int64_t channels)
      : pending(path),
        file(hdf5::File::create(pending.temporary())),
        shape(wanted),
        summary(wanted, channels) {}

  PendingFile pending;
  hdf5::File file;
  DatasetShape shape;
  DatasetSummary summary;
  std::int64_t inputs_written = 0;
  std::int64_t truth_written = 0;
  std::int32_t max_label = 0;
};

DatasetWriter::DatasetWriter(const std::string& path, const DatasetShape& shape, const std::string& source,
                             const std::string& sample_shape)
    : state_(std::make_unique<State>(path, shape, channels_of(sample_shape))) {
  auto& file = state_->file;
  (void)file.create_dataset("/inputs", shape.input_type, {shape.samples, shape.features});
  if (shape.task == Task::classification) {
    (void)file.create_dataset("/labels", DType::int32, {shape.samples});
    file.write_attribute("/", "classes", shape.outputs);
  } else if (shape.task == Task::regression) {
    (void)file.create_dataset("/targets", DType::fp32, {shape.samples, shape.outputs});
  }
  state_->summary.create(file);
  file.write_attribute("/", "format", dataset_format);
  file.write_attribute("/", "version", dataset_version);
  file.write_attribute("/", "identity", std::string(Xxh128::hex_characters, '0'));
  file.write_attribute("/", "source", source);
  if (!sample_shape.empty()) file.write_attribute("/", "shape", sample_shape);
  file.reserve();
}

DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::name_classes(const std::vector<std::string>& names) {
  write_names(state_->file, "/class_names", names);
}

void DatasetWriter::name_inputs(const std::vector<std::string>& names) {
  write_names(state_->file, "/input_names", names);
}

void DatasetWriter::name_targets(const std::vector<std::string>& names) {
  write_names(state_->file, "/target_names", names);
}

void DatasetWriter::add_inputs(const std::uint8_t* values, std::int64_t count) {
  const std::int64_t features = state_->shape.features;
  state_->file.dataset("/inputs").write(state_->inputs_written * features, count * features, values);
  state_->summary.add_inputs(values, count);
  state_->inputs_written += count;
}

void DatasetWriter::add_inputs(const float* values, std::int64_t count) {
  const std::int64_t features = state_->shape.features;
  state_->file.dataset("/inputs").write(state_->inputs_written * features, count * features, values);
  state_->summary.add_inputs(values, count);
  state_->inputs_written += count;
}

void DatasetWriter::add_labels(const std::int32_t* values, std::int64_t count) {
  state_->file.dataset("/labels").write(state_->truth_written, count, values);
  state_->summary.add_truth(values, count);
  for (std::int64_t i = 0; i < count; ++i) state_->max_label = std::max(state_->max_label, values[i]);
  state_->truth_written += count;
}

void DatasetWriter::add_targets(const float* values, std::int64_t count) {
  const std::int64_t outputs = state_->shape.outputs;
  state_->file.dataset("/targets").write(state_->truth_written * outputs, count * outputs, values);
  state_->summary.add_truth(values, count);
  state_->truth_written += count;
}

void DatasetWriter::finish() {
  State& state = *state_;
  const std::int64_t truth = state.shape.task == Task::none ? 0 : state.shape.samples;
  if (state.inputs_written != state.shape.samples || state.truth_written != truth) {
    fail_run(errors::internal, "{}: {} inputs and {} labels or targets were given for {} samples",
             state.pending.temporary(), state.inputs_written, state.truth_written, state.shape.samples);
  }
  if (state.shape.task == Task::classification && state.shape.outputs == 0) {
    state.shape.outputs = state.max_label + std::int64_t{1};
    state.file.write_attribute("/", "classes", state.shape.outputs);
  }
  state.summary.write(state.file, state.shape.outputs);
  state.file.close();
  const Dataset written(state.pending.temporary(), GroundTruth::optional);
  written.read_all([](const std::byte*, std::int64_t) {}, [](const std::byte*, std::int64_t) {});
  state.pending.publish();
}

}  // namespace mylos
