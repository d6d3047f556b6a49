// The HDF5 file of a checkpoint during writing: groups, attributes and texts, and space for each array.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/state.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// A file being written. The arrays' datasets are not kept open: HDF5 uses about 10 KB for each open one, and
/// deep networks have thousands.
struct OpenFile {
  hdf5::File file;
  std::vector<std::int64_t> array_offsets;  // of the state's arrays, in the file; undefined for an empty one
  std::vector<hdf5::Dataset> texts;         // in the order of the state
};

/// Returns the stored bytes of a text, at least 1: HDF5 has no empty text type.
[[nodiscard]] std::int64_t bytes_in_file(const StateText& text);

/// Throws Error if a text would not be read back unchanged.
void require_writable(const CheckpointState& state);

/// Creates the file with all structure and all texts, and reserves the disk space of the arrays.
[[nodiscard]] OpenFile begin_file(const std::string& path, const CheckpointHeader& header,
                                  const CheckpointState& state);
/// Flushes the file from time to time. Called after every dataset created or changed, with their number: HDF5
/// keeps unflushed structure in memory.
void flush_some(hdf5::File& file, std::size_t done);
void end_file(OpenFile& open);

}  // namespace mylos
