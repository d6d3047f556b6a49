#include "mylos/train/plan/shared_plan.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/shared_devices.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/kernels/engines/first_gemms.hpp"
#include "mylos/train/plan/division/sample_division.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/plan/plan_document.hpp"

namespace mylos {

NodeShare share_of_node(RankGroup& ranks) {
  const RunProcesses processes{ranks.ranks_on_node(), process_memory()};
  const int on_device = ranks_on_device(devices_of_ranks(ranks), ranks.rank());
  const std::size_t bytes = rank_budget(0, processes, processes.ranks_on_node);
  ranks.barrier();  // no rank takes memory before all have measured
  return {processes.ranks_on_node,
          bytes / static_cast<std::size_t>(memory_is_host ? 1 : std::max(1, on_device))};
}

MemoryProblem shared_problem(const NetworkPlan& network, const Engines& engines, RankGroup& ranks,
                             const RunData* data, const std::optional<NodeShare>& share) {
  if (!memory_is_host) run_on_all(ranks, [&] { run_first_gemms(engines.gemm); });
  struct Own {
    std::size_t process_bytes;
    std::size_t budget;
  };
  MemoryProblem problem{.network = network.of_largest_box(),
                        .engines = engines,
                        .processes = {share ? share->ranks_on_node : ranks.ranks_on_node(), process_memory()},
                        .data = data,
                        .rates = fixed_rates(),
                        .starts = true};
  const std::int64_t given = problem.options().memory.budget_bytes;
  const Own own{
      problem.processes.process_bytes,
      share ? share->budget(given) : rank_budget(given, problem.processes, problem.processes.ranks_on_node)};
  std::vector<Own> all(static_cast<std::size_t>(ranks.size()), own);
  ranks.all_gather(&own, all.data(), sizeof(own));
  problem.budget = own.budget;
  for (const Own& other : all) {
    problem.processes.process_bytes = std::max(problem.processes.process_bytes, other.process_bytes);
    problem.budget = std::min(problem.budget, other.budget);
  }
  return problem;
}

std::vector<std::int64_t> share_space(const MemoryProblem& problem, RankGroup& ranks) {
  std::vector<std::int64_t> space;
  run_on_first(ranks, [&] { space = choose_space(problem, ranks.size()); });
  space.resize(problem.options().model.shape.size() - 1);
  ranks.broadcast(space.data(), space.size() * sizeof(std::int64_t), 0);
  return space;
}

MemoryPlan new_plan(const MemoryProblem& problem, const PlannedEngines& known,
                    const std::function<void(const std::string&)>& line) {
  if (const std::string note = choose_engines(problem, known); !note.empty()) line(note);
  MemoryPlan chosen = plan_memory(problem);
  if (wants_measured_times(problem.options().memory, chosen)) {
    MeasuredPlan measured = plan_by_measured_times(problem, std::move(chosen));
    line(measured.note);
    chosen = std::move(measured.plan);
  }
  if (const std::string note = note_on_search(chosen); !note.empty()) line(note);
  return chosen;
}

MemoryPlan share_plan(MemoryProblem& problem, RankGroup& ranks, const std::string& source,
                      const PlanChoice& choice) {
  const bool chooses = ranks.rank() == 0;
  std::optional<MemoryPlan> plan;
  std::string text;
  run_on_all(ranks, [&] {
    if (!chooses) return;
    plan = as_shared(problem, choice.choose(problem));
    text = plan_json(*plan);
  });
  text = broadcast_text(ranks, text);
  const int on_device = ranks_on_device(devices_of_ranks(ranks), ranks.rank());
  run_on_all(ranks, [&] {
    std::optional<StoredPlan> stored;
    if (!chooses) stored = parse_plan(text, source);
    if (choice.adopt) choice.adopt(problem, chooses ? plan->statement.micro_batch : stored->micro_batch);
    if (stored) {
      take_engines(problem.engines.gemm, stored->engines);
      plan = plan_again(problem, *stored, source);
    }
    require_free_memory(*plan, free_device_memory(), on_device);
    require_host_memory(*plan, memory_is_host ? std::nullopt : std::optional(available_host_memory()));
  });
  return *std::move(plan);
}

}  // namespace mylos
