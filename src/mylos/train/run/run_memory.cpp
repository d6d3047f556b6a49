// The execution schedule of a run: from a given plan, from its checkpoint, or new; and what it is for: with
// memory.on_oom = "shrink" the micro-batch, with mesh.space = "auto" the division of samples. Rank 0 chooses
// for all ranks.
#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/plan/float_bytes.hpp"
#include "mylos/train/plan/memory_fit.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/plan/smaller_micro_batch.hpp"
#include "mylos/train/run/run_check.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

constexpr std::uintmax_t longest_plan_file = std::uintmax_t{16} << 20;

std::string text_of_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure))
    fail_input(errors::no_such_file, "{}: there is no such file", path);
  if (std::filesystem::file_size(path, failure) > longest_plan_file)
    fail_input(errors::plan_mismatch, "{}: is not a plan: it has more than {} bytes", path,
               longest_plan_file);
  return file_text(path);
}

/// Returns why the plan in a checkpoint cannot be used by this start; "": it can.
std::string difference_to(const CheckpointReader& saved, const NetworkPlan& network) {
  const Options& options = network.options;
  if (!saved.exists("/plan/list")) return "the checkpoint has none";
  if (saved.header().world_size != network.ranks) {
    return fmt::format("it was made for {} ranks", saved.header().world_size);
  }
  const Options written = stored_options(saved);
  if (written.mesh.space != options.mesh.space) return "mesh.space has changed";
  if (written.memory != options.memory) return "the deck's [memory] has changed";
  const bool is_free_to_shrink = options.memory.on_oom == OutOfMemory::shrink;
  const bool is_same = written.data.micro_batch == options.data.micro_batch;
  return is_free_to_shrink && !is_same ? "the deck's data.micro_batch has changed" : "";
}

/// Returns 0 if the checkpoint's plan does not have it.
std::int64_t micro_batch_of(const CheckpointReader& saved) {
  if (!saved.exists("/plan/list")) return 0;
  const std::string text = saved.text("/plan/list");
  try {
    return parse_plan(text, saved.path()).micro_batch;
  } catch (const Error&) {  // a new plan is made, and its message has the reason
  }
  return 0;
}

/// Sets data.micro_batch; the deck in checkpoints keeps its own value.
void take_micro_batch(MemoryProblem& problem, std::int64_t samples) {
  problem.network = problem.network.with_micro_batch(samples);
}

/// Takes the smaller micro-batch for which a plan was made, if the deck allows it.
void adopt(MemoryProblem& problem, std::int64_t micro_batch) {
  if (problem.options().memory.on_oom != OutOfMemory::shrink || !may_shrink(problem.network)) return;
  if (micro_batch > 0 && micro_batch < problem.network.step.micro_batch)
    take_micro_batch(problem, micro_batch);
}

}  // namespace

MemoryPlan RunStart::plan_of_text(MemoryProblem& problem, const std::string& text,
                                  const std::string& source) const {
  const StoredPlan stored = parse_plan(text, source);
  const std::int64_t own = problem.network.step.micro_batch;
  adopt(problem, stored.micro_batch);
  if (const std::string note = choose_engines(problem, stored.engines); !note.empty()) line(note);
  MemoryPlan plan = plan_again(problem, stored, source);
  if (const std::int64_t taken = problem.network.step.micro_batch; taken != own)
    line(fmt::format("memory.on_oom: micro-batches of {}, not {}, as the plan that is used again", taken,
                     own));
  return plan;
}

/// A reproducible run keeps the micro-batch of its checkpoint on any number of ranks, because it determines
/// the rounding of sums.
MemoryPlan RunStart::new_run_plan(MemoryProblem& problem, const PlannedEngines& before) const {
  const NetworkPlan own = problem.network;
  const std::int64_t kept = saved && own.step.reproducible ? micro_batch_of(*saved) : 0;
  if (own.options.memory.on_oom == OutOfMemory::shrink && kept > 0 && kept < own.step.micro_batch &&
      allows_ranks(own.options, kept, own.ranks)) {
    take_micro_batch(problem, kept);
    if (!fits_budget(problem)) problem.network = own;
  }
  if (const auto smaller = smaller_micro_batch(problem)) {
    line(smaller->note);
    take_micro_batch(problem, smaller->samples);
  }
  if (const std::int64_t taken = problem.network.step.micro_batch; kept > 0 && kept != taken) {
    line(
        fmt::format("run.reproducible: micro-batches of {}, not {} as before this start: sums are rounded "
                    "differently",
                    taken, kept));
  }
  // With modelled times: measured times change the order of the operations, not whether they fit.
  if (only_checks) return mylos::plan_memory(problem);
  return new_plan(problem, before, request.output.line);
}

MemoryPlan RunStart::choose_plan(MemoryProblem& problem, PlannedEngines& before) const {
  if (saved) before = engines_of(*saved);
  if (const std::string& file = request.plan_file; !file.empty())
    return plan_of_text(problem, text_of_file(file), file);
  if (saved) {
    const NetworkPlan own = problem.network;
    std::string reason = difference_to(*saved, own);
    if (reason.empty()) {
      const std::string text = saved->text("/plan/list");
      try {
        return plan_of_text(problem, text, "it");
      } catch (const Error& error) {
        reason = error.message();
      }
    }
    problem.network = own;
    line(fmt::format("the plan of the checkpoint is made anew: {}", reason));
  }
  return new_run_plan(problem, before);
}

/// Of mesh.space = "auto". Later segments of the run keep the choice, which the resolved deck has.
void RunStart::choose_space() {
  if (!given_.mesh.is_open()) return;
  const MemoryProblem problem =
      shared_problem(parts.network, *parts.engines, ranks(), data.get(), request.node_share);
  first_processes_ = problem.processes;
  first_budget_ = problem.budget;
  given_.mesh.space = share_space(problem, ranks());
  run_on_all(ranks(), [this] {
    Options resolved = read_stored_deck(request.deck.resolved, "the deck").options;
    resolved.mesh = request.deck.options.mesh = given_.mesh;
    request.deck.resolved = resolve(resolved);
    parts.network = plan_network(given_, ranks().rank(), ranks().size());
    amend();
    require_consistent(parts.network, *data, request.deck.places);
  });
}

void RunStart::plan_memory() {
  MemoryProblem problem =
      shared_problem(parts.network, *parts.engines, ranks(), data.get(), request.node_share);
  if (first_processes_) {
    problem.processes = *first_processes_;
    problem.budget = first_budget_;
  }
  const std::string source = request.plan_file.empty() ? "the plan of rank 0" : request.plan_file;
  PlannedEngines before;
  parts.memory =
      share_plan(problem, ranks(), source,
                 {.choose = [&](MemoryProblem& own) { return choose_plan(own, before); }, .adopt = adopt});
  if (ranks().rank() == 0 && !only_checks) parts.float_bytes = float_rank_bytes(problem);
  parts.network = problem.network.of_rank(parts.network.rank);
  if (const std::string note = rounding_note(before, parts.memory.engines); !note.empty()) line(note);
  if (!options().run.reproducible) return;
  if (const std::string note = thread_note(before, parts.memory.engines); !note.empty()) line(note);
}

}  // namespace mylos
