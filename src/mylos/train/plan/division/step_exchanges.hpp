// StepExchanges: what a rank sends in a step to the ranks that share its samples (mesh.space), and beside it
// what ranks exchange of gradients. It follows from the blocks' own statements and the execution schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mylos/model/memory/schedule.hpp"
#include "mylos/optim/gradients/sample_exchange.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

/// Exchanges that follow each other.
struct SentInCalls {
  std::size_t calls = 0;
  SampleTraffic sent;
};

struct StepExchanges {
  std::vector<std::int64_t> space;  // boxes along each axis
  std::int64_t box_points = 0;      // of a rank's box of a sample
  std::int64_t halo_points = 0;     // around the box of the layer that reads most in forward
  SentInCalls forward_faces;
  SentInCalls backward_faces;  // with those of what is recomputed
  SentInCalls sums;
  std::size_t gradient_bytes = 0;  // of all gradients, in the type in which they travel
  std::size_t gradient_buckets = 0;

  /// Returns what the rank sends to those that share its samples.
  [[nodiscard]] SampleTraffic sent() const;
};

/// Returns the exchanges of one rank. A rollout has all its copies. `schedule`: of the training chain.
[[nodiscard]] StepExchanges step_exchanges(const NetworkPlan& network, const Schedule& schedule, int rank);

/// Returns those of a rank that sends most, with a neighbour on each side where one has; nothing if samples
/// are whole.
[[nodiscard]] std::optional<StepExchanges> largest_exchanges(const NetworkPlan& network,
                                                             const Schedule& schedule);

}  // namespace mylos
