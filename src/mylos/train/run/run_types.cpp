// The type in which a run begins, if its deck lets trial steps decide (precision.adapt).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/train/adapt/type_choice.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

constexpr int rounds = 5;
constexpr std::int64_t timed_steps = 5;

Amendment amendment_of(DType type, std::string text) {
  return {.decision = {0, "adaptation", "types compared", "", std::move(text)}, .compute = type};
}

}  // namespace

/// Called if the run starts afresh. The choice depends on measured times, so it is made once, and the first
/// checkpoint, written before the first step, has it.
void RunStart::choose_first_type() {
  const PrecisionOptions& precision = options().precision;
  if (!precision.adapt || request.earlier || first_choice_) return;
  const std::vector<DType>& types = precision.adaptation.types;
  if (types.size() > 1) {
    if (only_checks) return;
    first_choice_ = try_types();
  } else if (types.front() != precision.compute) {
    first_choice_ = amendment_of(types.front(), fmt::format("precision.compute = \"{}\", the only one of "
                                                            "precision.adaptation.types",
                                                            name_of(types.front())));
  }
  if (first_choice_) amend();
}

Amendment RunStart::try_types() {
  const AdaptationOptions& adaptation = options().precision.adaptation;
  std::vector<TrialSetting> settings;
  std::vector<std::string_view> names;
  for (const DType type : adaptation.types) {
    settings.push_back({type});
    names.push_back(name_of(type));
  }
  line(fmt::format("precision.adapt: comparing {} by {} steps of each", fmt::join(names, ", "),
                   adaptation.steps));
  const MemoryProblem before =
      shared_problem(parts.network, *parts.engines, ranks(), data.get(), request.node_share);
  if (!first_processes_) {
    first_processes_ = before.processes;
    first_budget_ = before.budget;
  }
  StopSources sources = request.stop;
  sources.walltime_s = static_cast<double>(options().run.walltime_s);
  StopRequests asked(std::move(sources));
  const auto go_on = [&](int, const TrialSetting&) {
    run_on_all(ranks(), [&] {
      if (!asked.due(0)) return;
      throw Error(ExitCode::requeue, errors::stopped,
                  fmt::format("asked to stop by {} while types were compared", asked.reason()));
    });
  };
  const std::vector<TrialResult> results = run_type_trials(
      {parts.network, *data, normalizer, *parts.communicator, *parts.engines, steps,
       initial ? &*initial : nullptr, request.node_share},
      settings, {.steps = adaptation.steps, .timed_steps = timed_steps, .rounds = rounds, .progress = go_on});
  const TypeChoice choice =
      choose_type(results, {.loss_gap = adaptation.loss_gap, .least_gain = adaptation.least_gain});
  const DType type = results[choice.chosen].setting.compute;
  std::string text =
      fmt::format("precision.compute = \"{}\": {} ({} after {} steps){}", name_of(type), choice.reason,
                  describe(results), adaptation.steps, describe_lost_gradients(results));
  for (const TrialResult& result : results)
    if (!result.obstacle.empty()) text += fmt::format("; {}: {}", describe(result.setting), result.obstacle);
  return amendment_of(type, std::move(text));
}

}  // namespace mylos
