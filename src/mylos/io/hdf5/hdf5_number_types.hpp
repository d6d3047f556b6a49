// HDF5's types of numbers as NumberType.
#pragma once

#include <optional>

#include "mylos/io/hdf5/hdf5_array.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {

/// Returns the type of stored numbers; nothing for anything else. An enum of integers (h5py's bool) counts as
/// them.
[[nodiscard]] std::optional<NumberType> number_type(hid_t type);
/// Returns HDF5's type of the numbers in memory, in this machine's order of bytes.
[[nodiscard]] Handle number_in_memory(NumberType type);

}  // namespace mylos::hdf5
