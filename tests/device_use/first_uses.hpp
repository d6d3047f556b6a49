// Memory that libraries take at the first use of what they have, for which no call gives the bytes: it must
// be used before the device's free memory is read.
#pragma once

#include <cstddef>
#include <string>

namespace device_use {

/// A library is opened: what is read of the free memory from now on has to include what it takes.
void open_library();

/// Takes memory if `what` is used for the first time; a fault in the ledger if the free memory was read
/// before.
void first_use(const std::string& what);

/// The device's free memory is read.
void read_free_memory();

/// Returns what all first uses took.
[[nodiscard]] std::size_t first_use_bytes();

}  // namespace device_use
