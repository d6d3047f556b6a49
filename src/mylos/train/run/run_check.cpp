#include "mylos/train/run/run_check.hpp"

#include <fmt/format.h>
#include <Kokkos_Core.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/config/keys/sizes.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/losses/make_loss.hpp"
#include "mylos/model/parameters/initial_values.hpp"
#include "mylos/optim/update/parameter_groups.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/train/evaluation/measures/field_measures.hpp"
#include "mylos/train/evaluation/measures/measures.hpp"
#include "mylos/train/evaluation/measures/measures_of_parts.hpp"
#include "mylos/train/evaluation/metric.hpp"
#include "mylos/train/plan/recompute_settings.hpp"
#include "mylos/train/run/components/run_health.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_steps = std::int64_t{1} << 40;

std::string data_line(const Options& options, const EvaluationData& data) {
  std::string text = "# data:";
  for (const DataPart part : {DataPart::train, DataPart::validation, DataPart::test}) {
    if (data.has(part)) text += fmt::format(" {} {} samples;", name_of(part), data.samples(part));
  }
  if (options.model.type == ModelType::gpt) {
    return text + fmt::format(" each {} tokens of a vocabulary of {}", options.model.context,
                              options.model.vocabulary);
  }
  return text + fmt::format(" each {} inputs, {} {}", options.model.inputs, options.model.outputs,
                            noun_of_targets(options.model.prediction()));
}

std::string machine_line(const MemoryPlan& plan) {
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const int threads = Kokkos::DefaultHostExecutionSpace().concurrency();
  const std::string buckets = describe_buckets(plan.statement);
  return fmt::format("{}# here: {} thread{} per rank; memory: {} of {} per rank, {}\n",
                     buckets.empty() ? "" : "# " + buckets + '\n', threads, threads == 1 ? "" : "s",
                     bytes(plan.rank_bytes()), bytes(plan.budget), describe(plan));
}

/// All ranks. What the run says of the checkpoint that it resumes from goes to the request's output.
std::string restart_line(const RunStart& start) {
  if (!start.saved) {
    if (start.request.restart != "auto") return "";
    return fmt::format("# no valid checkpoint in {}/checkpoints: the run starts afresh\n",
                       start.parts.network.options.run.folder);
  }
  StepState counts;
  CheckpointState state;
  state.add_scalar("/schedule/step", counts.step);
  state.add_scalar("/schedule/updates", counts.updates);
  start.saved->read(state);
  RunPosition position{.epochs = start.data->epochs(), .total = start.steps};
  position.step = position.first = start.saved->header().step;
  start.note_changes(start.parts.network.options, position, static_cast<std::int64_t>(counts.updates));
  return fmt::format("# restarts from {} at step {} of {}\n", start.saved->path(), position.step,
                     position.total);
}

}  // namespace

std::int64_t run_length(const Options& options, const Epochs& epochs) {
  const std::int64_t steps = options.run.steps > 0 ? options.run.steps : epochs.steps_for(options.run.epochs);
  if (steps > max_steps)
    fail_input(errors::bad_value, "a run of {} steps: at most {} are possible; lower run.steps or run.epochs",
               steps, max_steps);
  const bool own_length = options.schedule.steps > 0;
  const std::int64_t scheduled = own_length ? options.schedule.steps : steps;
  if (options.schedule.warmup > scheduled) {
    fail_input(errors::keys_conflict, "schedule.warmup is {}, more than the {} steps of {}; lower it",
               options.schedule.warmup, scheduled, own_length ? "schedule.steps" : "the run");
  }
  const auto decay = std::llround(options.schedule.decay_share * static_cast<double>(scheduled));
  if (options.schedule.type == ScheduleType::wsd && options.schedule.warmup + decay > scheduled) {
    fail_input(
        errors::keys_conflict,
        "schedule.warmup = {} and the {} updates of schedule.decay_share = {} are more than the {} steps of "
        "{}; lower one of them",
        options.schedule.warmup, decay, options.schedule.decay_share, scheduled,
        own_length ? "schedule.steps" : "the run");
  }
  return steps;
}

void require_consistent(const NetworkPlan& network, const RunData& data, const Places& places) {
  const Options& options = network.options;
  const Chain& chain = network.chain;
  require_weights(chain, places);
  if (std::holds_alternative<losses::Custom>(options.model.loss) && options.model.custom_loss == nullptr)
    throw missing_custom_loss();
  require_margins(chain, options.model, places);
  require_rules_apply(chain, options.precision);
  require_groups_match(chain, options.optimizer, places);
  require_initial_rules_apply(chain, options.model, places);
  require_ignored_layers(options.health, chain);
  require_measures_of_parts(options, chain, places);
  static_cast<void>(watched_metric(options, data));
  require_measurable(options.run.metrics, chain.outputs(), place_of(places, {"run.metrics"}));
  require_field_measures(options.run.metrics, chain, place_of(places, {"run.metrics"}));
}

std::string check_run(RunRequest request, MPI_Comm mpi) {
  std::string notes;
  request.output = {.line = [&notes](const std::string& line) { notes += fmt::format("# {}\n", line); }};
  const RunStart start(std::move(request), mpi, true);
  const Options& options = start.parts.network.options;
  const StepPlan& plan = start.parts.network.step;
  const Chain& chain = start.parts.network.chain;
  RankGroup& ranks = start.parts.communicator->ranks();

  std::string text =
      with_sizes(start.request.deck.resolved, options.model) + '\n' + data_line(options, *start.data) + '\n';
  text += fmt::format("# model: {} parameters in {} blocks and a head\n", chain.parameter_count(),
                      chain.blocks.size());
  text += fmt::format("# run: {} steps of {} samples; on {} rank{} {} micro-batch{} of {} in a step\n",
                      start.steps, options.data.batch, ranks.size(), ranks.size() == 1 ? "" : "s",
                      plan.micro_batches, plan.micro_batches == 1 ? "" : "es", plan.micro_batch);
  if (options.precision.adapt) {
    text += fmt::format("# precision.adapt: a run that begins afresh chooses its type; here it is {}\n",
                        name_of(options.precision.compute));
  }
  if (start.initial) {
    for (const std::string& line : start.initial->lines(std::numeric_limits<std::size_t>::max()))
      text += fmt::format("# {}\n", line);
  }
  text += restart_line(start);
  text += notes + machine_line(start.parts.memory);
  if (const std::string mesh = describe_mesh(start.parts.network); !mesh.empty())
    text += fmt::format("# mesh.space: {}\n", mesh);
  for (const std::string& note :
       {note_on_shards(start.parts.network), note_on_recompute(start.parts.memory, options.memory)}) {
    if (!note.empty()) text += fmt::format("# {}\n", note);
  }
  return text + "# in order";
}

}  // namespace mylos
