// HDF5 files for which the disk has room. HDF5 would say little of a full disk, and late; and a file that it
// cannot bring to the disk when it is closed ends the process by a signal.
#pragma once

#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// The file as pending.temporary(), once the disk has held so many bytes of data, their digests (a 16,000th
/// of what they are of, where blocks are full) and the file's structure. Throws Error (failed) of
/// reserve_space.
[[nodiscard]] inline hdf5::File create_with_room(const PendingFile& pending, std::int64_t data_bytes) {
  constexpr std::int64_t structure_bytes = std::int64_t{256} << 10;
  reserve_space(pending.temporary(), data_bytes + data_bytes / 8192 + structure_bytes);
  return hdf5::File::create(pending.temporary());  // gives the space back
}

/// Takes the space of all that was created in the file so far.
inline void keep_room(hdf5::File& file) {
  file.flush();
  reserve_space(file.path(), file.bytes());
}

}  // namespace mylos
