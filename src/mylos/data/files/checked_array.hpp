// CheckedArray: a dataset of a data file, which compares blocks of rows with the file's digests when they are
// read for the first time.
//
// Complete blocks are compared in the caller's memory. A block of which only a part is wanted is read
// completely, once; blocks are so small that this takes little longer. After its comparison a block is read
// as without digests. Digests are read when they are needed: memory holds one bit per block, one block, and
// the digests of one piece. Each rank compares the data that it reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mylos/data/files/block_digests.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class CheckedArray {
 public:
  /// Opens `array` of `file`; its elements are converted to the type `as` when they are read. Throws Error
  /// (bad_input), before memory is allocated, if the file has digests that do not fit the array.
  CheckedArray(const hdf5::File& file, const hdf5::Dataset& array, DType as,
               Digests digests = Digests::compared);

  [[nodiscard]] const hdf5::Dataset& dataset() const;

  /// Reads rows [first, first + count). Throws Error (bad_input) with the rows of a block that has changed
  /// since it was written. Threads may read concurrently; copies share the record of compared blocks.
  void read(std::int64_t first, std::int64_t count, void* destination) const;

  /// Returns the memory for the comparison.
  [[nodiscard]] std::int64_t memory_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mylos
