#include "mylos/train/adapt/type_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/rollout_feedback.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/plan/smaller_micro_batch.hpp"
#include "mylos/train/step/staging.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

// Untimed steps at the start of a stretch, which touch pages and fill caches.
constexpr std::int64_t warm_up_steps = 2;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// A trainer with its data in one setting, at the run's first step.
class Trial {
 public:
  Trial(const TrialSubject& subject, const MemoryProblem& start, const TrialSetting& setting,
        std::int64_t inspected_step)
      : subject_(subject) {
    plan_memory(start, options_of(subject.network.options, setting));
    Options inspected = network_.options;
    inspected.health.every = inspected_step;
    run_on_all(ranks(), [&] {
      trainer_.emplace(
          network_.with(inspected), subject_.engines, subject_.communicator, subject_.run_steps,
          memory_->plan.schedule,
          network_.rollout ? schedules_of_growth(*network_.rollout, *memory_) : std::vector<Schedule>());
      if (network_.rollout)
        trainer_->set_feedback(feedback_scalings(subject_.normalizer, network_.options.rollout.feedback));
      open_batches();
    });
    if (subject.initial != nullptr) subject.initial->load(*trainer_);
  }

  void begin_with(const ScalerState& scaler) {
    StepState state = trainer_->read_state();
    state.scaler = scaler;
    trainer_->write_state(state);
  }
  void step() { trainer_->step(*batches_, false); }
  /// Waits for all work.
  StepState finish() {
    const Quiesced quiet = trainer_->quiesce();
    StepState state = trainer_->read_state();
    if (state.halted != 0) {
      trainer_->throw_if_failed(quiet);
      throw Error(ExitCode::diverged, errors::diverged,
                  fmt::format("diverges: {} steps in a row are not finite up to its step {}",
                              state.scaler.skipped_in_a_row, state.step));
    }
    return state;
  }
  [[nodiscard]] Trainer& trainer() { return *trainer_; }
  [[nodiscard]] const MemoryPlan& memory() const { return *memory_; }

 private:
  [[nodiscard]] RankGroup& ranks() const { return subject_.communicator.ranks(); }

  /// Plans memory as the start of a run does, but without messages.
  void plan_memory(const MemoryProblem& start, Options options) {
    std::optional<MemoryProblem> problem;
    run_on_all(ranks(), [&] { problem.emplace(start.with(start.network.with(std::move(options)))); });
    problem->starts = start.starts;
    const auto choose = [](MemoryProblem& own) {
      if (const auto smaller = smaller_micro_batch(own))
        own.network = own.network.with_micro_batch(smaller->samples);
      return new_plan(own, {}, [](const std::string&) {});
    };
    const auto adopt = [](MemoryProblem& own, std::int64_t micro_batch) {
      if (own.options().memory.on_oom == OutOfMemory::shrink)
        own.network = own.network.with_micro_batch(micro_batch);
    };
    memory_ = share_plan(*problem, ranks(), "the plan of a trial", {choose, adopt});
    network_ = problem->network.of_rank(subject_.network.rank);
  }

  void open_batches() {
    const Chain& chain = trainer_->model().chain();
    const TrainingReader reading = training_reader(network_, ranks().rank(), memory_->statement.token_bytes);
    batches_ = std::make_unique<StagedBatches>(subject_.data.training_batches(subject_.normalizer, reading),
                                               chain, network_.step.micro_batch);
  }

  const TrialSubject& subject_;
  NetworkPlan network_;
  std::optional<MemoryPlan> memory_;
  std::optional<Trainer> trainer_;
  std::unique_ptr<StagedBatches> batches_;
};

std::vector<double> of_all(RankGroup& ranks, double own) {
  std::vector<double> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  return all;
}

/// Measures the mean seconds and joules of a step after the warm-up.
void measure_stretch(Trial& trial, std::int64_t steps, const TrialLimits& limits, RankGroup& ranks,
                     TrialResult& result) {
  const auto joules = [&] { return limits.joules ? limits.joules() : no_number; };
  for (std::int64_t i = 0; i < warm_up_steps; ++i) trial.step();
  static_cast<void>(trial.finish());
  const double start_j = joules();
  const double start_s = limits.clock();
  for (std::int64_t i = 0; i < steps; ++i) trial.step();
  static_cast<void>(trial.finish());
  const std::vector<double> seconds = of_all(ranks, limits.clock() - start_s);
  const std::vector<double> energy = of_all(ranks, joules() - start_j);
  const auto count = static_cast<double>(steps);
  result.step_s.push_back(*std::max_element(seconds.begin(), seconds.end()) / count);
  const double sum = std::accumulate(energy.begin(), energy.end(), 0.0);
  if (std::isfinite(sum)) result.step_j.push_back(sum / count);
}

std::vector<GradientLoss> gradients_of(Trainer& trainer, std::uint64_t step) {
  std::vector<GradientLoss> result;
  const std::vector<HealthRecord> looks = trainer.read_health(trainer.quiesce(), step - 1, step);
  const auto& slots = trainer.model().parameters().layout().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ParameterHealth& seen = looks.at(0).parameters[i];
    result.push_back(
        {slots[i].path(), share(seen.zeros, seen), share(seen.subnormals, seen), seen.non_finite});
  }
  return result;
}

/// Returns the loss scaler's state after these steps.
ScalerState note_compared_steps(Trial& trial, TrialResult& result) {
  const StepState state = trial.finish();
  const std::uint64_t late = state.step - std::max<std::uint64_t>(state.step / 4, 1);
  std::int64_t late_skips = 0;
  for (const StepRecord& record : trial.trainer().read_records(0, state.step)) {
    result.losses.push_back(record.loss);
    if (record.step > late && record.overflow != 0) ++late_skips;
  }
  result.skipped = static_cast<std::int64_t>(state.step - state.updates);
  result.late_skips = static_cast<double>(late_skips) / static_cast<double>(state.step - late);
  result.gradients = gradients_of(trial.trainer(), state.step);
  result.micro_batch = trial.memory().statement.micro_batch;
  result.rank_bytes = trial.memory().rank_bytes();
  result.activation_bytes = trial.memory().arena_bytes();
  result.plan = describe(trial.memory());
  return state.scaler;
}

/// A setting, and the state that its next trial starts with.
struct Turn {
  TrialResult result;
  std::optional<ScalerState> scaler = std::nullopt;
};

void visit(const TrialSubject& subject, const MemoryProblem& start, const TrialLimits& limits, int round,
           Turn& turn) {
  TrialResult& result = turn.result;
  if (!result.obstacle.empty()) return;
  if (limits.progress) limits.progress(round, result.setting);
  const std::int64_t compared = std::clamp(limits.steps, min_trial, longest_trial);
  try {
    Trial trial(subject, start, result.setting, compared);
    const bool is_first = round == 0;
    if (turn.scaler) trial.begin_with(*turn.scaler);
    measure_stretch(trial, is_first ? compared - warm_up_steps : limits.timed_steps, limits,
                    subject.communicator.ranks(), result);
    if (is_first) turn.scaler = note_compared_steps(trial, result);
  } catch (const Error& error) {  // on all ranks
    const bool may_be_the_type =  // because the data exceed the range of half
        error.code() == ExitCode::bad_input && result.setting.compute == DType::fp16;
    const bool is_of_the_setting =
        error.code() == ExitCode::does_not_fit || error.code() == ExitCode::diverged;
    if (!is_of_the_setting && !may_be_the_type) throw;
    result.obstacle = error.message();
    result.code = error.code();
    result.cause = error.id();
  }
}

}  // namespace

std::vector<TrialResult> run_type_trials(const TrialSubject& subject,
                                         const std::vector<TrialSetting>& settings,
                                         const TrialLimits& limits) {
  std::vector<Turn> turns;
  for (const TrialSetting& setting : settings) turns.push_back({.result = {.setting = setting}});
  // Measured once: the process grows with each trial, and all settings must have the same room.
  const MemoryProblem start = shared_problem(subject.network, subject.engines, subject.communicator.ranks(),
                                             &subject.data, subject.share);
  for (int round = 0; round < limits.rounds; ++round) {
    for (Turn& turn : turns) visit(subject, start, limits, round, turn);
    std::reverse(turns.begin(), turns.end());
  }
  if (limits.rounds % 2 != 0) std::reverse(turns.begin(), turns.end());
  std::vector<TrialResult> results;
  for (Turn& turn : turns) results.push_back(std::move(turn.result));
  return results;
}

Options options_of(const Options& deck, const TrialSetting& setting) {
  Options options = deck;
  PrecisionOptions& precision = options.precision;
  precision.compute = setting.compute;
  const bool is_float = setting.compute == DType::fp32 &&
                        std::all_of(precision.rules.begin(), precision.rules.end(),
                                    [](const PrecisionRule& rule) { return rule.type == DType::fp32; });
  if (is_float) precision.masters = MasterWeights::fp32;  // fp32 layers always have masters
  if (setting.recompute) options.memory.recompute = *setting.recompute;
  return options;
}

std::string describe(const TrialSetting& setting) {
  std::string text(name_of(setting.compute));
  if (setting.recompute == RecomputeMode::all) text += ", recomputing all";
  return text;
}

}  // namespace mylos
