// Creates HDF5 files after checking the disk's free space. HDF5 reports a full disk late and imprecisely; and
// if it cannot flush a file while closing it, a signal ends the process.
#pragma once

#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Creates pending.temporary() after checking that the disk can hold this number of data bytes, their digests
/// (1/16,000 of the bytes of full blocks) and the file's structure. Throws Error (failed) of reserve_space.
[[nodiscard]] inline hdf5::File create_with_room(const PendingFile& pending, std::int64_t data_bytes) {
  constexpr std::int64_t structure_bytes = std::int64_t{256} << 10;
  reserve_space(pending.temporary(), data_bytes + data_bytes / 8192 + structure_bytes);
  return hdf5::File::create(pending.temporary());  // releases the reserved space
}

/// Allocates the disk space of all datasets created so far.
inline void keep_room(hdf5::File& file) {
  file.flush();
  reserve_space(file.path(), file.bytes());
}

}  // namespace mylos
