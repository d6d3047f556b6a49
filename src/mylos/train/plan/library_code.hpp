// The host memory of code that a library generates for a run's convolutions.
#pragma once

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

/// Returns that of the rank with the most. `data` may be null.
[[nodiscard]] PartMemory convolution_code(const NetworkPlan& network, const Engines& engines,
                                          const RunData* data);

}  // namespace mylos
