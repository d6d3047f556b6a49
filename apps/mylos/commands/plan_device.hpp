// `mylos plan --device NAME`: the inputs of the plan from the named device.
#pragma once

#include <string>

#include "commands.hpp"
#include "mylos/config/options.hpp"
#include "mylos/kernels/rates/known_devices.hpp"

namespace mylos::app {

/// Null without --device. Throws Error (bad_input) for an unknown device, and if times are to be measured,
/// because they would be those of this machine.
[[nodiscard]] const KnownDevice* planned_device(const PlanArguments& arguments, const MemoryOptions& memory);

/// Notes on the accuracy of times, budget and bytes.
[[nodiscard]] std::string note_on_device(const KnownDevice& device, const MemoryOptions& memory);

}  // namespace mylos::app
