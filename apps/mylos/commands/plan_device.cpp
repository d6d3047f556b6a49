#include "commands/plan_device.hpp"

#include <fmt/format.h>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "mylos/io/system/memory_shares.hpp"

namespace mylos::app {
const KnownDevice* planned_device(const PlanArguments& arguments, const MemoryOptions& memory) {
  if (arguments.device.empty()) return nullptr;
  const KnownDevice& device = known_device(arguments.device);
  if (memory.times == TimesSource::measure) {
    fail_input(
        errors::arguments_conflict,
        "--device {}: memory.times = \"measure\" measures this machine; leave one of the two out, or give "
        "memory.times=model",
        device.name);
  }
  return &device;
}

std::string note_on_device(const KnownDevice& device, const MemoryOptions& memory) {
  std::string note = fmt::format(
      "--device {}: its rates are peaks that no run reaches, so no step is expected to be faster than "
      "this; a run there measures its own",
      device.name);
  if (memory.budget_bytes == 0) {
    note += fmt::format("\nmemory.budget = \"auto\": {:.1f} of the {} GB of a device, one for each rank",
                        share_of_memory, device.gigabytes);
  }
  if (memory_is_host) {
    note +=
        "\nbytes are those of this build, for hosts: process, libraries, data and copies for checkpoints "
        "count against the budget, though a device does not hold them; its tensors are aligned to 256 "
        "bytes instead of 64, and its kernels take other workspace";
  }
  return note;
}

}  // namespace mylos::app
