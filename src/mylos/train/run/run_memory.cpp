// The execution schedule of a run: from a given plan, from its checkpoint, or new; and with memory.on_oom =
// "shrink", the micro-batch that it is for. Rank 0 chooses for all ranks.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/plan/product_choice.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/plan/smaller_micro_batch.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

constexpr std::uintmax_t longest_plan_file = std::uintmax_t{16} << 20;

std::string text_of_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) fail_input("{}: there is no such file", path);
  if (std::filesystem::file_size(path, failure) > longest_plan_file)
    fail_input("{}: is no plan: longer than {} bytes", path, longest_plan_file);
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Returns why the plan in a checkpoint cannot be used by this start; "": it can.
std::string difference_to(const CheckpointReader& saved, const Options& options, const RunPlace& place) {
  if (!saved.exists("/plan/list")) return "the checkpoint has none";
  if (saved.header().world_size != place.ranks) {
    return fmt::format("it was made for {} ranks", saved.header().world_size);
  }
  const Options written = read_stored_deck(saved.header().deck, saved.path()).options;
  if (written.memory != options.memory) return "the deck's [memory] has changed";
  const bool is_free_to_shrink = options.memory.on_oom == OutOfMemory::shrink;
  const bool is_same = written.data.micro_batch == options.data.micro_batch;
  return is_free_to_shrink && !is_same ? "the deck's data.micro_batch has changed" : "";
}

/// Returns 0 if the checkpoint's plan does not have it.
std::int64_t micro_batch_of(const CheckpointReader& saved) {
  try {
    if (saved.exists("/plan/list")) return parse_plan(saved.text("/plan/list"), saved.path()).micro_batch;
  } catch (const Error&) {  // a new plan is made, and its message has the reason
  }
  return 0;
}

}  // namespace

/// Sets data.micro_batch; the deck in checkpoints keeps its own value.
void RunStart::take_micro_batch(std::int64_t samples) {
  parts.options.data.micro_batch = samples;
  parts.step = make_step_plan(parts.options, ranks().rank(), ranks().size());
}

/// Takes the smaller micro-batch for which a plan was made, if the deck allows it.
void RunStart::adopt(const StoredPlan& plan) {
  if (parts.options.memory.on_oom != OutOfMemory::shrink || !may_shrink(parts.options)) return;
  if (plan.micro_batch > 0 && plan.micro_batch < parts.step.micro_batch) take_micro_batch(plan.micro_batch);
}

std::string RunStart::earlier_list(const MemoryProblem& problem, const std::string& text,
                                   const std::string& source) {
  const StoredPlan stored = parse_plan(text, source);
  const std::int64_t own = parts.step.micro_batch;
  adopt(stored);
  std::string list = earlier_plan(problem, stored, source, request.output.line);
  if (const std::int64_t taken = parts.step.micro_batch; taken != own)
    line(fmt::format("memory.on_oom: micro-batches of {}, not {}, as the plan that is used again", taken,
                     own));
  return list;
}

/// A reproducible run keeps the micro-batch of its checkpoint on any number of ranks, because it determines
/// the rounding of sums.
std::string RunStart::new_list(const MemoryProblem& problem, const ProductEngines& before) {
  const std::int64_t kept = saved && parts.step.reproducible ? micro_batch_of(*saved) : 0;
  if (problem.options.memory.on_oom == OutOfMemory::shrink && kept > 0 && kept < parts.step.micro_batch &&
      allows_ranks(problem.options, kept, problem.place.ranks)) {
    const std::int64_t own = parts.options.data.micro_batch;
    take_micro_batch(kept);
    if (!fits_budget(problem)) take_micro_batch(own);
  }
  if (const auto smaller = smaller_micro_batch(problem)) {
    line(smaller->note);
    take_micro_batch(smaller->samples);
  }
  if (kept > 0 && kept != parts.step.micro_batch) {
    line(
        fmt::format("run.reproducible: micro-batches of {}, not {} as before this start: sums are rounded "
                    "differently",
                    parts.step.micro_batch, kept));
  }
  // With modelled times: measured times change the order of the operations, not whether they fit.
  if (only_checks) return plan_json(mylos::plan_memory(problem));
  return new_plan(problem, before, request.output.line);
}

std::string RunStart::chosen_list(const MemoryProblem& problem, ProductEngines& before) {
  if (saved) before = engines_of(*saved);
  if (const std::string& file = request.plan_file; !file.empty())
    return earlier_list(problem, text_of_file(file), file);
  if (saved) {
    const std::int64_t own = parts.options.data.micro_batch;
    std::string reason = difference_to(*saved, parts.options, problem.place);
    if (reason.empty()) {
      try {
        return earlier_list(problem, saved->text("/plan/list"), "it");
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    take_micro_batch(own);
    line(fmt::format("the plan of the checkpoint is made anew: {}", reason));
  }
  return new_list(problem, before);
}

void RunStart::plan_memory() {
  MemoryProblem problem = shared_problem(parts.options, *parts.engines, ranks(), data.get());
  if (place_before_trials_) {
    problem.place = *place_before_trials_;
    problem.budget = budget_before_trials_;
  }
  const std::string source = request.plan_file.empty() ? "the plan of rank 0" : request.plan_file;
  ProductEngines before;
  parts.memory = share_plan(
      problem, ranks(), source, [&] { return chosen_list(problem, before); },
      [this](const StoredPlan& plan) { adopt(plan); });
  if (const std::string note = rounding_note(before, parts.memory.engines); !note.empty()) line(note);
  if (!parts.options.run.reproducible) return;
  if (const std::string note = thread_note(before, parts.memory.engines); !note.empty()) line(note);
}

}  // namespace mylos
