// The cores of a node that a rank may use: numbers of what the operating system schedules on, so that a core
// with two hardware threads counts twice.
#pragma once

#include <bitset>
#include <string>

namespace mylos::app {

/// As many as glibc's cpu_set_t has.
using CoreSet = std::bitset<1024>;

/// Those that this process is bound to. Where the system does not say, core 0.
[[nodiscard]] CoreSet bound_cores();

/// Those that it could be bound to: all of the node, or what a batch system or container leaves of it.
[[nodiscard]] CoreSet usable_cores();

/// `cores` and the other hardware threads of the same cores, as the system lists them in `folder`; of one
/// that it does not list, that alone.
[[nodiscard]] CoreSet with_siblings(const CoreSet& cores,
                                    const std::string& folder = "/sys/devices/system/cpu");

/// "0-7,16", as taskset writes it; "none".
[[nodiscard]] std::string list_of(const CoreSet& cores);

}  // namespace mylos::app
