#include "mylos/train/plan/division/sample_division.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/numbers/divisors.hpp"
#include "mylos/train/evaluation/measures/measures_of_parts.hpp"
#include "mylos/train/plan/memory_fit.hpp"
#include "mylos/train/plan/smaller_micro_batch.hpp"

namespace mylos {
namespace {

using Space = std::vector<std::int64_t>;

std::int64_t boxes_of(const Space& space) {
  return std::accumulate(space.begin(), space.end(), std::int64_t{1}, std::multiplies<>());
}

/// Returns the divisions into `factor` times the boxes of `space`, each axis into multiples of those of
/// `space`, those with the smallest faces first.
std::vector<Space> divisions(const Space& space, std::int64_t factor,
                             const std::vector<std::int64_t>& shape) {
  std::vector<Space> found{{}};
  for (const std::int64_t boxes : space) {
    std::vector<Space> longer;
    for (const Space& begun : found) {
      for (const std::int64_t by : divisors_of(factor)) {
        longer.push_back(begun);
        longer.back().push_back(boxes * by);
      }
    }
    found = std::move(longer);
  }
  const std::int64_t boxes = boxes_of(space) * factor;
  std::erase_if(found, [&](const Space& one) { return boxes_of(one) != boxes; });
  const auto faces = [&](const Space& one) {  // relative to the points of a box
    double sum = 0;
    for (std::size_t axis = 0; axis < one.size(); ++axis)
      if (one[axis] > 1) sum += static_cast<double>(one[axis]) / static_cast<double>(shape[axis]);
    return sum;
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Space& a, const Space& b) { return faces(a) < faces(b); });
  return found;
}

bool fits(const MemoryProblem& problem) {
  return fits_budget(problem, problem.starts ? start_spread : 0) || smaller_micro_batch(problem).has_value();
}

/// Returns how messages name what is tried: the division, or whole samples.
std::string described(const Space& space) {
  if (boxes_of(space) == 1) return "whole samples";
  return fmt::format("[{}]", fmt::join(space, ", "));
}

/// Returns the refusal of a run whose division into the most boxes does not fit either.
Error refusal_of_all(const MemoryProblem& problem, const std::vector<std::string>& obstacles) {
  const NetworkPlan& network = problem.network;
  const Error refused = refusal(problem, state_memory(problem));
  std::string message = fmt::format(
      "{}; this is with {}, the most boxes that mesh.space = \"auto\" can take on {} rank{}",
      refused.message(), described(network.options.mesh.space), network.ranks, network.ranks == 1 ? "" : "s");
  if (!obstacles.empty()) message += fmt::format(": {}", obstacles.front());
  return refused.with(message);
}

}  // namespace

DivisionTrial try_divisions(const MemoryProblem& problem, std::int64_t boxes, int ranks) {
  DivisionTrial trial;
  Options options = problem.options();
  const std::vector<std::int64_t>& shape = problem.options().model.shape;
  const Space own = options.mesh.space.empty() ? Space(shape.size() - 1, 1) : options.mesh.space;
  if (boxes % boxes_of(own) != 0) return trial;
  std::vector<Space> uneven;  // tried last: ranks with fewer points wait for the others
  const auto try_to_take = [&](const Space& space, bool takes_uneven) {
    options.mesh.space = space;
    try {
      NetworkPlan plan = problem.network.with(options, ranks);
      require_measures_of_parts(plan.options, plan.chain, {});
      if (!plan.options.mesh.units.empty() && !takes_uneven) {
        uneven.push_back(space);
        return;
      }
      if (!trial.possible) trial.possible = plan;
      MemoryProblem divided = problem.with(std::move(plan));
      divided.starts = problem.starts;
      if (fits(divided)) trial.fitting = std::move(divided.network);
    } catch (const Error& error) {  // the network or its data cannot be divided so
      if (trial.obstacle.empty()) trial.obstacle = fmt::format("{}: {}", described(space), error.message());
    }
  };
  for (const Space& space : divisions(own, boxes / boxes_of(own), shape)) {
    try_to_take(space, false);
    if (trial.fitting) return trial;
  }
  for (const Space& space : uneven) {
    try_to_take(space, true);
    if (trial.fitting) return trial;
  }
  return trial;
}

std::vector<std::int64_t> choose_space(const MemoryProblem& problem, int ranks) {
  const std::vector<std::int64_t>& shape = problem.options().model.shape;
  if (shape.size() < 2) {
    fail_input(errors::keys_conflict,
               "mesh.space = \"auto\" divides the grids of samples, and these samples have none; leave it "
               "out, or give data.shape");
  }
  std::optional<NetworkPlan> largest;
  std::vector<std::string> obstacles;  // to more boxes
  for (const std::int64_t boxes : divisors_of(ranks)) {
    DivisionTrial trial = try_divisions(problem, boxes, ranks);
    if (trial.fitting) return trial.fitting->options.mesh.space;
    if (trial.possible) {
      largest = std::move(trial.possible);
      obstacles.clear();
    } else if (!trial.obstacle.empty()) {
      obstacles.push_back(std::move(trial.obstacle));
    }
  }
  obstacles.resize(std::min<std::size_t>(obstacles.size(), 2));  // others repeat them
  if (!largest) {
    fail_input(errors::keys_conflict,
               "mesh.space = \"auto\" finds no division of the samples over {} rank{}: {}; start fewer ranks",
               ranks, ranks == 1 ? "" : "s", fmt::join(obstacles, "; "));
  }
  throw refusal_of_all(problem.with(*std::move(largest)), obstacles);
}

}  // namespace mylos
