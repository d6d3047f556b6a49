#include "commands/bench_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/system/system_memory.hpp"

namespace mylos::app {

DType type_named(std::string_view name) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    if (name_of(type) == name) return type;
  }
  fail_input(errors::bad_argument, "networks do not compute in type '{}'; expected fp32, bf16 or fp16", name);
}

void require_room(RankGroup& ranks, std::int64_t bytes, std::string_view what) {
  const int on_node = ranks.ranks_on_node();
  run_on_all(ranks, [&] {
    const std::int64_t on_host = available_host_memory() / on_node;
    const std::int64_t available = std::min(on_host, free_device_memory().value_or(on_host));
    if (bytes <= available) return;
    throw Error(ExitCode::does_not_fit, errors::does_not_fit,
                fmt::format("{} would take {} of memory on every rank, and {} are free for each of the {} of "
                            "this node; ask for less",
                            what, format_bytes(bytes), format_bytes(available), on_node));
  });
}

double largest_of(RankGroup& ranks, double own) {
  std::vector<double> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(own));
  return *std::max_element(all.begin(), all.end());
}

}  // namespace mylos::app
