// DatasetSummary: the metadata that a dataset file stores with its samples: statistics, identity, digests of
// blocks.
#pragma once

#include "mylos/data/files/block_digests.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/files/scaling/statistics.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class DatasetSummary {
 public:
  /// `channels`: of each point of the samples' grid; 0 if they do not lie on a grid.
  explicit DatasetSummary(const DatasetShape& shape, std::int64_t channels = 0);

  /// Creates the datasets in the file, whose size is then known.
  void create(hdf5::File& file) const;

  /// Adds the next `count` samples' inputs or ground truth in stored form. Inputs and ground truth must each
  /// be in order; they may alternate in any way.
  void add_inputs(const void* stored, std::int64_t count);
  void add_truth(const void* stored, std::int64_t count);

  /// Writes the summary after the last sample. `outputs`: the number of classes if it is known only now, or
  /// that of the shape.
  void write(hdf5::File& file, std::int64_t outputs);

 private:
  DatasetShape shape_;
  std::int64_t channels_;
  StatisticsAccumulator input_statistics_;
  StatisticsAccumulator target_statistics_;
  DatasetIdentity identity_;
  BlockDigests input_digests_;
  BlockDigests truth_digests_;
};

}  // namespace mylos
