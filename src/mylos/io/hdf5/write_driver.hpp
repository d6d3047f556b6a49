// The driver through which HDF5 writes a file.
//
// HDF5 does not survive a write that fails: some failures it does not report, a file that it cannot flush
// stays half open, and when it tries again at the end of the process, a signal ends that. For this driver's
// HDF5 every write works. The driver keeps the number of the first error for File::close() and the functions
// that write, and holds what was written after it in memory, where HDF5 finds it again until it has closed
// the file.
#pragma once

#include <hdf5.h>

namespace mylos::hdf5 {

/// Lets files that are opened with these access properties be written by the driver, which puts the number of
/// the first error into *error. It must live until the file is closed.
void use_write_driver(hid_t access, int* error);

}  // namespace mylos::hdf5
