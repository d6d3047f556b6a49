// The cores of a node that a rank may use, by the operating system's numbers: a core with two hardware
// threads counts twice.
#pragma once

#include <bitset>
#include <string>

namespace mylos::app {

/// The size of glibc's cpu_set_t.
using CoreSet = std::bitset<1024>;

/// The cores that this process is bound to; core 0 if the system does not report them.
[[nodiscard]] CoreSet bound_cores();

/// The cores that it could be bound to: all of the node, or those that a batch system or container allows.
[[nodiscard]] CoreSet usable_cores();

/// `cores` and the other hardware threads of the same cores, as the system lists them in `folder`; an
/// unlisted core alone.
[[nodiscard]] CoreSet with_siblings(const CoreSet& cores,
                                    const std::string& folder = "/sys/devices/system/cpu");

/// Formats like taskset: "0-7,16"; "none".
[[nodiscard]] std::string list_of(const CoreSet& cores);

}  // namespace mylos::app
