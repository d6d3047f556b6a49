// The HDF5 file of a checkpoint while it is written: groups, attributes and texts, and a place for each
// array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// The arrays' datasets are not open: HDF5 keeps some 10 KB for each that is, and deep networks have
/// thousands of them.
struct OpenFile {
  hdf5::File file;
  std::vector<std::int64_t> array_offsets;  // in the file, by the state's arrays; any number for an empty one
  std::vector<hdf5::Dataset> texts;         // in the state's order
};

/// More than the file will take, so that creating its structure cannot meet a full disk either.
[[nodiscard]] std::int64_t generous_bytes(const CheckpointState& state);
/// HDF5 has no text without a byte.
[[nodiscard]] std::int64_t bytes_in_file(const StateText& text);

/// No text that would not be read back as it is.
void require_writable(const CheckpointState& state);

/// All structure and all texts; the disk space for the arrays is reserved.
[[nodiscard]] OpenFile begin_file(const std::string& path, const CheckpointHeader& header,
                                  const CheckpointState& state);
/// Called after every dataset that is made or changed, with their number: HDF5 keeps the structure of what is
/// not flushed.
void flush_some(hdf5::File& file, std::size_t done);
void end_file(OpenFile& open);

}  // namespace mylos
