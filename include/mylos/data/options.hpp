// [data]: where samples come from and how a batch is made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

enum class Normalize { none, standard, minmax };
enum class Shuffle { samples, blocks };
enum class LastBatch { drop, join };
enum class WindowOrder { random, sequential };

struct DataOptions {
  std::string train;
  std::string test;
  double validation = 0;         // fraction of the training file held out, taken from its end
  std::int64_t batch = 256;      // samples per step over all ranks
  std::int64_t micro_batch = 0;  // most samples a rank holds at once; 0 = its whole share
  Normalize normalize = Normalize::none;
  Shuffle shuffle = Shuffle::samples;
  LastBatch last_batch = LastBatch::drop;
  WindowOrder window = WindowOrder::random;  // of tokens
  std::vector<std::int64_t> shape = {};  // of a sample: 1 to 3 extents, then channels; empty: from the data

  bool operator==(const DataOptions&) const = default;
};

}  // namespace mylos
