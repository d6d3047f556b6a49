#include "mylos/sweep/run/sweep_memory.hpp"

#include <algorithm>
#include <vector>

#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/sweep/state/sweep_table.hpp"
#include "mylos/train/plan/division/sample_division.hpp"
#include "mylos/train/plan/memory_fit.hpp"
#include "mylos/train/plan/shared_plan.hpp"

namespace mylos {
namespace {

/// The options without those that change no byte of a run.
Options sizes_of(Options options) {
  options.run.name.clear();
  options.run.folder.clear();
  options.run.seed = 0;
  options.optimizer.lr = 0;
  options.schedule = {};
  options.health = {};
  return options;
}

/// What members of the same sizes need.
class MemberMemory {
 public:
  MemberMemory(const Deck& deck, const NodeShare& share, int ranks)
      : data_(open_run_data(deck.options, GroundTruth::required, deck.places)),
        engines_(make_engines(deck.options.kernels)),
        problem_{.network = network_of(deck, *data_, ranks),
                 .engines = *engines_,
                 .processes = {share.ranks_on_node, process_memory()},
                 .data = data_.get(),
                 .rates = fixed_rates(),
                 .starts = true},
        ranks_(ranks) {}

  [[nodiscard]] bool fits(const NodeShare& share) {
    problem_.budget = share.budget(problem_.options().memory.budget_bytes);
    if (!problem_.options().mesh.is_open()) return fits_budget(problem_);
    try {
      static_cast<void>(choose_space(problem_, ranks_));
      return true;
    } catch (const Error& error) {
      if (error.code() != ExitCode::does_not_fit) throw;
      return false;
    }
  }

 private:
  static NetworkPlan network_of(const Deck& deck, const RunData& data, int ranks) {
    Options options = deck.options;
    complete(options, data, deck.places);
    const bool is_open = options.mesh.is_open();
    return plan_network(std::move(options), 0, is_open ? 1 : ranks);
  }

  std::unique_ptr<RunData> data_;
  std::unique_ptr<EngineSet> engines_;
  MemoryProblem problem_;
  int ranks_;
};

}  // namespace

int groups_that_fit(int groups, std::size_t bytes, const std::function<bool(std::size_t)>& is_enough) {
  while (groups > 0 && !is_enough(bytes / static_cast<std::size_t>(groups))) --groups;
  return groups;
}

void require_members_fit(const Sweep& sweep, const NodeShare& share) {
  const int ranks = sweep.description().ranks_per_trial;
  const int groups = std::max(1, share.ranks_on_node / ranks);
  if (!memory_is_host || groups == 1) return;
  std::vector<Options> seen;
  int least = groups;
  std::size_t largest = 0;
  for (std::size_t member = 0; member < sweep.members(); ++member) {
    const Deck deck = sweep.deck_of(member);
    Options sizes = sizes_of(deck.options);
    if (std::find(seen.begin(), seen.end(), sizes) != seen.end()) continue;
    seen.push_back(std::move(sizes));
    try {
      MemberMemory memory(deck, share, ranks);
      const int fit = groups_that_fit(groups, share.undivided(ranks), [&](std::size_t bytes) {
        return memory.fits({share.ranks_on_node, bytes});
      });
      if (fit == 0 || fit >= least) continue;
      least = fit;
      largest = member;
    } catch (const Error&) {  // its own start reports it
      continue;
    }
  }
  if (least == groups) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("the members do not fit the memory together: {} of them share a node and have {} "
                          "per rank, and member "
                          "{} ({}) needs more; {} fit{} at once: start {} rank{} on a node",
                          groups, format_bytes(static_cast<std::int64_t>(share.budget_bytes)),
                          member_name(largest), sweep.values_of(largest), least, least == 1 ? "s" : "",
                          least * ranks, least * ranks == 1 ? "" : "s"));
}

}  // namespace mylos
