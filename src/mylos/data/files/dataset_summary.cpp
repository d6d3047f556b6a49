#include "mylos/data/files/dataset_summary.hpp"

#include <algorithm>

#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {
namespace {

constexpr const char* statistics_names[] = {"mean", "std", "min", "max"};

std::string path_of_statistics(const std::string& of, const char* name) {
  return "/statistics/" + of + "/" + name;
}

BlockDigests digests_of_column() {
  return {rows_per_digest(sizeof(double)), sizeof(double)};
}

void create_statistics(hdf5::File& file, const std::string& of, std::int64_t columns) {
  for (const char* name : statistics_names) {
    const std::string path = path_of_statistics(of, name);
    (void)file.create_dataset(path, DType::fp64, {columns});
    digests_of_column().create(file, path, columns);
  }
}

void write_statistics(hdf5::File& file, const std::string& of, const ColumnStatistics& statistics) {
  const std::vector<double>* columns[] = {&statistics.mean, &statistics.deviation, &statistics.minimum,
                                          &statistics.maximum};
  for (int i = 0; i < 4; ++i) {
    const std::string path = path_of_statistics(of, statistics_names[i]);
    auto dataset = file.dataset(path);
    dataset.write(0, dataset.size(), columns[i]->data());
    BlockDigests digests = digests_of_column();
    digests.add(columns[i]->data(), dataset.size());
    digests.write(file, path);
  }
}

/// Returns the rows of a block, the same for inputs and ground truth, which are read together.
std::int64_t block_rows(const DatasetShape& shape) {
  return rows_per_digest(std::max(shape.input_bytes(), shape.truth_bytes()));
}

const char* path_of_truth(const DatasetShape& shape) {
  return shape.task == Task::classification ? "/labels" : "/targets";
}

}  // namespace

DatasetSummary::DatasetSummary(const DatasetShape& shape, std::int64_t channels)
    : shape_(shape),
      channels_(channels),
      input_statistics_(shape.features),
      target_statistics_(shape.task == Task::regression ? shape.outputs : 0),
      input_digests_(block_rows(shape), shape.input_bytes()),
      truth_digests_(block_rows(shape), shape.truth_bytes()) {}

void DatasetSummary::create(hdf5::File& file) const {
  create_statistics(file, "inputs", shape_.features);
  if (channels_ > 0) create_statistics(file, "channels", channels_);
  input_digests_.create(file, "/inputs", shape_.samples);
  if (shape_.task == Task::none) return;
  if (shape_.task == Task::regression) create_statistics(file, "targets", shape_.outputs);
  truth_digests_.create(file, path_of_truth(shape_), shape_.samples);
}

void DatasetSummary::add_inputs(const void* stored, std::int64_t count) {
  if (shape_.input_type == DType::uint8) {
    input_statistics_.add(static_cast<const std::uint8_t*>(stored), count);
  } else {
    input_statistics_.add(static_cast<const float*>(stored), count);
  }
  identity_.add_inputs(stored, count * shape_.input_bytes());
  input_digests_.add(stored, count);
}

void DatasetSummary::add_truth(const void* stored, std::int64_t count) {
  if (shape_.task == Task::regression) target_statistics_.add(static_cast<const float*>(stored), count);
  identity_.add_truth(stored, count * shape_.truth_bytes());
  truth_digests_.add(stored, count);
}

void DatasetSummary::write(hdf5::File& file, std::int64_t outputs) {
  const ColumnStatistics of_inputs = input_statistics_.result();
  write_statistics(file, "inputs", of_inputs);
  if (channels_ > 0) write_statistics(file, "channels", channel_statistics(of_inputs, channels_));
  input_digests_.write(file, "/inputs");
  if (shape_.task == Task::regression) write_statistics(file, "targets", target_statistics_.result());
  if (shape_.task != Task::none) truth_digests_.write(file, path_of_truth(shape_));
  shape_.outputs = outputs;
  file.write_attribute("/", "identity", identity_.finish(shape_));
}

}  // namespace mylos
