// The HDF5 file of a checkpoint while it is written: groups, attributes and texts, and a place for each
// array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/checkpoint/state.hpp"
#include "mylos/io/hdf5.hpp"
#include "writing_group.hpp"

namespace mylos {

/// Its datasets, open on all ranks, in the order of the state's arrays and texts.
struct OpenFile {
  hdf5::File file;
  std::vector<hdf5::Dataset> arrays;
  std::vector<hdf5::Dataset> texts;
};

/// More than the file will take, so that creating its structure cannot meet a full disk either.
[[nodiscard]] std::int64_t generous_bytes(const CheckpointState& state);
/// HDF5 has no text without a byte.
[[nodiscard]] std::int64_t bytes_in_file(const StateText& text);

/// All structure and all texts; the disk space for the arrays is reserved.
[[nodiscard]] OpenFile begin_file(const WritingGroup& ranks, const std::string& path,
                                  const CheckpointHeader& header, const CheckpointState& state);
void end_file(OpenFile& open);

}  // namespace mylos
