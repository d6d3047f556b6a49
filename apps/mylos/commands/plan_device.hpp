// Of `mylos plan --device NAME`: what the plan takes from the named device.
#pragma once

#include <cstddef>
#include <string>

#include "commands.hpp"
#include "mylos/config/options.hpp"
#include "mylos/kernels/rates/known_devices.hpp"

namespace mylos::app {

/// Null without --device. Throws Error (bad_input) where nobody knows the device, and where times are to be
/// measured, as they would be this machine's.
[[nodiscard]] const KnownDevice* planned_device(const PlanArguments& arguments, const MemoryOptions& memory);

/// The deck's, or 0.9 of the memory of a device that a rank has for itself.
[[nodiscard]] std::size_t budget_on(const KnownDevice& device, const MemoryOptions& memory);

/// How far times, budget and bytes are to be trusted.
[[nodiscard]] std::string note_on_device(const KnownDevice& device, const MemoryOptions& memory);

}  // namespace mylos::app
