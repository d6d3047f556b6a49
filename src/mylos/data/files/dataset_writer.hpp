// DatasetWriter: makes a dataset file from a stream of samples; it appears when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mylos/data/files/dataset_format.hpp"

namespace mylos {

class DatasetWriter {
 public:
  /// Creates the file beside its name and reserves its space. Classification with outputs = 0: as many
  /// classes as the largest label needs. Task::none: no answers are added. `source` says where the samples
  /// come from, `sample_shape` ("28 28", or empty) what the features of a sample are.
  DatasetWriter(const std::string& path, const DatasetShape& shape, const std::string& source,
                const std::string& sample_shape = "");
  ~DatasetWriter();

  /// What the classes 0, 1, 2 ... are called: names without line breaks.
  void name_classes(const std::vector<std::string>& names);
  /// What the columns are called, likewise.
  void name_inputs(const std::vector<std::string>& names);
  void name_targets(const std::vector<std::string>& names);

  /// The next `count` samples' inputs or answers; each kind in order, the kinds in any order. Values are
  /// checked by the caller, who can say where a wrong one comes from.
  void add_inputs(const std::uint8_t* values, std::int64_t count);
  void add_inputs(const float* values, std::int64_t count);
  void add_labels(const std::int32_t* values, std::int64_t count);
  void add_targets(const float* values, std::int64_t count);

  /// Statistics, digests, identity, publication.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
