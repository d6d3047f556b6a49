// DatasetWriter: makes a dataset file from a stream of samples. The file appears under its name when it is
// complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mylos/data/files/dataset_format.hpp"

namespace mylos {

class DatasetWriter {
 public:
  /// Creates a temporary file and reserves its space. Classification with outputs = 0: the largest label
  /// determines the number of classes. Task::none: no ground truth is added. `source` states the origin of
  /// the samples, `sample_shape` ("28 28", or empty) the shape of a sample's features.
  DatasetWriter(const std::string& path, const DatasetShape& shape, const std::string& source,
                const std::string& sample_shape = "");
  ~DatasetWriter();

  /// Sets the names of the classes 0, 1, 2 ...: names without line breaks.
  void name_classes(const std::vector<std::string>& names);
  /// Set the names of the columns, without line breaks.
  void name_inputs(const std::vector<std::string>& names);
  void name_targets(const std::vector<std::string>& names);

  /// Add the next `count` samples' inputs or ground truth. Inputs and ground truth must each be in order;
  /// they may alternate in any way. The caller checks the values, because it can name the origin of a wrong
  /// one.
  void add_inputs(const std::uint8_t* values, std::int64_t count);
  void add_inputs(const float* values, std::int64_t count);
  void add_labels(const std::int32_t* values, std::int64_t count);
  void add_targets(const float* values, std::int64_t count);

  /// Writes statistics, digests and identity, reads the file back, and publishes it.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
