// PassCalls: what a pass of training exchanges between the ranks that share its samples, as the blocks state
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "mylos/model/chain/chain.hpp"
#include "mylos/model/memory/schedule.hpp"

namespace mylos {

/// The calls in their order.
struct PassCalls {
  std::vector<SampleCall> forward;   // up to the loss
  std::vector<SampleCall> backward;  // after it, with those of what runs forward again
};

/// Returns the calls of a pass of `rows` > 0 rows by a schedule with a loss.
[[nodiscard]] PassCalls calls_of_pass(const Chain& chain, const Schedule& schedule, std::int64_t rows);

}  // namespace mylos
