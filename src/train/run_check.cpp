#include "mylos/train/run_check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "mylos/base/units.hpp"
#include "mylos/checkpoint/folder.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/comm/communicator.hpp"
#include "mylos/io/folder_lock.hpp"
#include "mylos/model/initial_values.hpp"
#include "mylos/model/make_chain.hpp"
#include "mylos/optim/parameter_groups.hpp"
#include "mylos/train/agreed_data.hpp"
#include "mylos/train/agreed_kernels.hpp"
#include "mylos/train/initial_weights.hpp"
#include "mylos/train/metric.hpp"
#include "mylos/train/run_data.hpp"
#include "mylos/train/run_health.hpp"
#include "mylos/train/shared_plan.hpp"
#include "mylos/train/smaller_micro_batch.hpp"
#include "mylos/train/step_plan.hpp"

namespace mylos {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 40;

std::string data_line(const Options& options, const RunData& data) {
  std::string text = "# data:";
  for (const DataPart part : {DataPart::train, DataPart::validation, DataPart::test}) {
    if (data.has(part)) text += fmt::format(" {} {} samples;", name_of(part), data.samples(part));
  }
  if (options.model.type == ModelType::gpt) {
    return text + fmt::format(" each {} tokens of a vocabulary of {}", options.model.context,
                              options.model.vocabulary);
  }
  const char* outputs = options.model.loss == LossType::cross_entropy ? "classes" : "targets";
  return text + fmt::format(" each {} inputs, {} {}", options.model.inputs, options.model.outputs, outputs);
}

/// By modelled times: what a run measures changes the order of its operations, not whether they fit.
std::string machine_line(const MemoryProblem& problem, RankGroup& ranks) {
  std::optional<MemoryPlan> plan;
  run_on_all(ranks, [&] { plan = plan_memory(problem); });
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  const std::string buckets = describe_buckets(plan->statement);
  return fmt::format("{}# here: {} thread{} per rank; memory: {} of {} per rank, {}\n",
                     buckets.empty() ? "" : "# " + buckets + '\n', threads, threads == 1 ? "" : "s",
                     bytes(plan->rank_bytes()), bytes(plan->budget), describe(*plan));
}

/// Why a start could not make this folder, or files in it; "": nothing speaks against it.
std::string obstacle_to(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::path nearest = folder;  // of what is there already
  while (fs::symlink_status(nearest, failure).type() == fs::file_type::not_found) {
    const fs::path above = nearest.has_parent_path() ? nearest.parent_path() : fs::path(".");
    if (above == nearest) break;
    nearest = above;
  }
  if (!fs::is_directory(nearest, failure))
    return fmt::format("{}{}", nearest.string(), failure ? ": " + failure.message() : " is no folder");
  if (::access(nearest.c_str(), W_OK | X_OK) != 0)
    return fmt::format("nothing can be written in {}: {}", nearest.string(), std::strerror(errno));
  return "";
}

std::string folder_lines(const std::string& folder) {
  std::string text;
  for (const std::string& needed : {folder, folder + "/checkpoints"}) {
    const std::string obstacle = obstacle_to(needed);
    if (obstacle.empty()) continue;
    text += fmt::format("# {} cannot be made or written: {}\n", needed, obstacle);
    break;
  }
  FolderLock lock(folder);
  if (lock.try_to_take(false) == FolderLock::Attempt::held) {
    text += fmt::format(
        "# {}: {} works in this folder: a start without --restart is refused, one with it waits\n", folder,
        lock.holder().name);
  }
  if (const auto files = list_checkpoints(folder); !files.empty()) {
    text += fmt::format("# {} has checkpoints up to step {}: the run needs --restart\n", folder,
                        files.back().step);
  }
  return text;
}

}  // namespace

std::int64_t run_length(const Options& options, const Epochs& epochs) {
  const std::int64_t steps = options.run.steps > 0 ? options.run.steps : epochs.steps_for(options.run.epochs);
  if (steps > most_steps) fail_input("a run of {} steps: at most {} are possible", steps, most_steps);
  const bool own_length = options.schedule.steps > 0;
  const std::int64_t scheduled = own_length ? options.schedule.steps : steps;
  if (options.schedule.warmup > scheduled) {
    fail_input("schedule.warmup is {}, more than the {} steps of {}; lower it", options.schedule.warmup,
               scheduled, own_length ? "schedule.steps" : "the run");
  }
  const auto decay = std::llround(options.schedule.decay_share * static_cast<double>(scheduled));
  if (options.schedule.type == ScheduleType::wsd && options.schedule.warmup + decay > scheduled) {
    fail_input(
        "schedule.warmup = {} and the {} updates of schedule.decay_share = {} are more than the {} steps of "
        "{}; lower one of them",
        options.schedule.warmup, decay, options.schedule.decay_share, scheduled,
        own_length ? "schedule.steps" : "the run");
  }
  return steps;
}

std::string check_run(const Deck& deck, RankGroup& ranks) {
  Options options = deck.options;
  // Made for its refusals alone: of a backend that is not here, of ranks that run different code.
  static_cast<void>(make_communicator(ranks.mpi(), options.communication));
  std::unique_ptr<RunData> data;
  run_on_all(ranks, [&] {
    data = open_run_data(options, Answers::needed, deck.places);
    data->complete(options.model);
    static_cast<void>(watched_metric(options, *data));
  });
  static_cast<void>(agreed_identity(*data, options.data, ranks));
  const std::int64_t steps = run_length(options, data->epochs());
  const std::unique_ptr<GemmEngine> gemm = make_agreed_engine(options.kernels, ranks);
  const MemoryProblem problem = shared_problem(options, *gemm, ranks, data.get());
  std::string shrunk;
  run_on_all(ranks, [&] {
    const auto smaller = smaller_micro_batch(problem);
    if (!smaller) return;
    options.data.micro_batch = smaller->samples;
    shrunk = fmt::format("# {}\n", smaller->note);
  });
  const StepPlan plan = make_step_plan(options, 0, ranks.size());
  const Chain chain = make_chain(options.model, options.precision, options.run.seed, plan.accumulates);
  require_weights(chain, deck.places);
  require_rules_apply(chain, options.precision);
  require_groups_match(chain, options.optimizer, deck.places);
  require_initial_rules_apply(chain, options.model, deck.places);
  require_ignored_layers(options.health, chain);

  std::string text = deck.resolved + '\n' + data_line(options, *data) + '\n';
  text += fmt::format("# model: {} parameters in {} blocks and a head\n", chain.parameter_count(),
                      chain.blocks.size());
  text += fmt::format("# run: {} steps of {} samples; on {} rank{} {} micro-batch{} of {} in a step\n", steps,
                      options.data.batch, ranks.size(), ranks.size() == 1 ? "" : "s", plan.micro_batches,
                      plan.micro_batches == 1 ? "" : "es", plan.micro_batch);
  if (options.precision.adapt) {
    text += fmt::format("# precision.adapt: a run that begins afresh chooses its type; here it is {}\n",
                        name_of(options.precision.compute));
  }
  if (!options.run.initial.empty()) {
    const InitialWeights initial(ranks, options, chain, deck.places);
    for (const std::string& line : initial.lines(std::numeric_limits<std::size_t>::max()))
      text += fmt::format("# {}\n", line);
  }
  text += shrunk + machine_line(problem, ranks);
  if (const std::string note = note_on_shards(options, ranks.size()); !note.empty())
    text += fmt::format("# {}\n", note);
  std::string folder;  // of the first rank: the others' locks would be in its way
  run_on_first(ranks, [&] { folder = folder_lines(options.run.folder); });
  return text + folder + (folder.empty() ? "# in order" : "# in order, but for the folder");
}

}  // namespace mylos
