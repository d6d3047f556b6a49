// CheckedArray: a dataset of a data file, whose blocks of rows are compared with the file's digests when they
// are read for the first time.
//
// Whole blocks are compared where they were read to. Of a block of which only a part is wanted, all is read,
// once: a block is so small that this takes hardly longer. Once a block is compared, it is read as without
// digests. Digests are read when they are needed: what stays in memory is a bit per block, the room for one
// block and for the digests of a piece. Each rank compares what it reads itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mylos/data/files/block_digests.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

class CheckedArray {
 public:
  /// `array` of `file`, its elements converted to the type `as` when they are read. Throws Error (bad_input)
  /// where the file has digests, but none that fit the array, before memory is taken.
  CheckedArray(const hdf5::File& file, const hdf5::Dataset& array, DType as,
               Digests digests = Digests::compared);

  [[nodiscard]] const hdf5::Dataset& dataset() const;

  /// Rows [first, first + count). Throws Error (bad_input) with the rows of a block that is not as it was
  /// written. Threads may read at the same time; copies share what they know of the blocks.
  void read(std::int64_t first, std::int64_t count, void* destination) const;

  /// Memory for comparing.
  [[nodiscard]] std::int64_t memory_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mylos
