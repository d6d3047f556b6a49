// DatasetSummary: what a dataset file says of its samples beside them: statistics, identity, digests of
// blocks.
#pragma once

#include "mylos/data/files/block_digests.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/files/statistics.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class DatasetSummary {
 public:
  /// `channels`: of each point of the grid on which samples lie; 0 where they lie on none.
  explicit DatasetSummary(const DatasetShape& shape, std::int64_t channels = 0);

  /// Room in the file, whose size is then known.
  void create(hdf5::File& file) const;

  /// The next `count` samples' inputs or answers as they are stored; each kind in order, the kinds in any
  /// order.
  void add_inputs(const void* stored, std::int64_t count);
  void add_answers(const void* stored, std::int64_t count);

  /// After the last sample. `outputs`: classes that are known only now, or those of the shape.
  void write(hdf5::File& file, std::int64_t outputs);

 private:
  DatasetShape shape_;
  std::int64_t channels_;
  StatisticsAccumulator input_statistics_;
  StatisticsAccumulator target_statistics_;
  DatasetIdentity identity_;
  BlockDigests input_digests_;
  BlockDigests answer_digests_;
};

}  // namespace mylos
