#include "mylos/train/run/components/run_evaluations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/data/files/scaling/normalizer_of_box.hpp"
#include "mylos/inference/rollout/map_orientation.hpp"
#include "mylos/train/evaluation/field_files.hpp"
#include "mylos/train/evaluation/result_files.hpp"
#include "mylos/train/run/components/run_context.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

void RunEvaluations::open_rollouts(const Options& deck) {
  if (deck.run.rollout_steps > 0) rollouts_.emplace(deck);
}

void RunEvaluations::open(const RunData& data, const Normalizer& normalizer, const EvaluationOptions& options,
                          const Options& deck, const Chain& chain, std::int64_t classes) {
  meaning_ = data.meaning();
  measures_ = deck.run.metrics;
  normalizer_ = &normalizer;
  classes_ = classes;
  every_ = deck.run.evaluate_every;
  if (options.part.is_split()) of_box_.targets = part_of(normalizer, deck.model.shape, options.part).targets;
  for (const DataPart part : evaluated_parts(&data)) {
    parts_.push_back({.part = part, .pass = data.pass_over(part, normalizer, options), .last = ""});
    if (!SamplePictures::supports(chain)) continue;
    const auto arrays = data.arrays(part);
    parts_.back().chosen = std::make_unique<SamplePictures>(
        chain, deck.run.seed, data.samples(part), options.part.is_split() ? of_box_ : normalizer,
        meaning_.target_names, arrays != nullptr && rows_run_north(*arrays), options.part);
  }
}

bool RunEvaluations::due(const RunPosition& position) const {
  if (position.at_end()) return true;
  return every_ > 0 ? position.step % every_ == 0 : position.ends_epoch();
}

bool RunEvaluations::wants_step(RunContext& run, const LastStep& /*step*/) {
  return due(run.position);
}

bool RunEvaluations::evaluate(const Quiesced& quiet, RunContext& run) {
  return record(quiet, run, evaluate_parts(quiet, run));
}

std::vector<EvaluationRow> RunEvaluations::evaluate_parts(const Quiesced& quiet, RunContext& run) {
  InferenceContext context{run.trainer().execution(), *run.assembly.engines, run.trainer().model(), classes_};
  context.sample_ranks = run.trainer().sample_ranks();
  if (context.sample_ranks != nullptr) context.communicator = run.assembly.communicator.get();
  const RunPosition& position = run.position;
  const auto start = std::chrono::steady_clock::now();
  const StepWaits waits = run.trainer().waits();
  std::vector<EvaluationRow> rows;
  for (Part& part : parts_) {
    ObserveBatch observe;
    if (part.chosen) {
      observe = [&](const StepContext& step, const Batch& batch) {
        part.chosen->observe(step, context.model, batch);
      };
    }
    Communicator& communicator = *run.assembly.communicator;
    const bool is_box = part.pass->boxes() > 1 && !part.pass->shares_truth();
    const ColumnScaling& targets = is_box ? of_box_.targets : normalizer_->targets;
    Evaluation found = mylos::evaluate(quiet, context, communicator, *part.pass, measures_, observe, targets);
    if (part.chosen) part.pictures = part.chosen->gather(communicator.ranks());
    part.last = describe(found);
    EvaluationRow& row = rows.emplace_back();
    if (rollouts_ && part.part == DataPart::test) {
      measure_rollouts(quiet, run, context, row);
      part.last += fmt::format(", rollout{} nRMSE {:.6g}", rollouts_->steps(), *row.rollout);
    }
    run.log.progress().note(fmt::format("epoch {:.4g}, step {}: {} {}", position.passes(position.step),
                                        position.step, name_of(part.part), part.last));
    row.part = part.part;
    row.loss = found.loss;
    if (found.kind != EvaluationKind::targets) row.accuracy = found.accuracy;
    row.measured = found.measured;
    if (has_measure(measures_, Measure::confusion)) part.confusion = std::move(found.classes);
    if (found.targets && found.targets->targets() <= max_targets_of_file) part.r2 = found.targets->r2();
  }
  longest_s_ = std::max(longest_s_, seconds_since(start));
  run.trainer().restore_waits(waits);
  return rows;
}

/// Rank 0's numbers decide on all ranks, to the last bit.
bool RunEvaluations::record(const Quiesced& quiet, RunContext& run, std::vector<EvaluationRow> rows) {
  rows.insert(rows.begin(), EvaluationRow{.part = DataPart::train, .loss = run.log.training_loss().take()});
  for (EvaluationRow& row : rows) {
    row.step = static_cast<std::uint64_t>(run.position.step);
    row.epoch = run.position.passes(run.position.step);
    row.elapsed_s = run.clock.elapsed_s();
  }
  run.ranks(quiet).broadcast(rows.data(), rows.size() * sizeof(EvaluationRow), 0);
  const bool is_best = log_.update_best(rows);
  if (stopped_early(run.position)) {
    run.log.record(
        {static_cast<std::uint64_t>(run.position.step), "early_stop", "patience", "", describe_early_stop()});
  }
  try {
    log_.write(rows);
    if (run.is_first_rank() && has_confusion())
      write_confusion(run.file("confusion.json"), run.position.step);
    if (run.is_first_rank()) write_pictures(run.file("samples.json"), run.position.step);
    if (run.is_first_rank() && rollout_) {
      write_rollout_file(run.file("evaluation.rollout.json"), {.network = run.options().run.folder,
                                                               .step = run.position.step,
                                                               .start = rollouts_->path(),
                                                               .truth = rollouts_->path(),
                                                               .members = rollouts_->member_names(),
                                                               .result = &*rollout_,
                                                               .axes = rollouts_->axes(),
                                                               .pictures = {}});
    }
    if (run.is_first_rank() && has_r2()) write_r2(run.file("targets.json"), run.position.step);
    run.log.write_events();
  } catch (const Error& error) {
    run.on_io_error(error);
  }
  return is_best;
}

void RunEvaluations::finish(RunContext& run, const Quiesced& /*quiet*/) {
  if (stopped_early(run.position) && run.position.of_start() == 0)
    run.log.progress().note(fmt::format("step {}: {}", run.position.step, describe_early_stop()));
}

std::string RunEvaluations::describe_early_stop() const {
  return fmt::format(
      "stopped early, after {} evaluations without a better {} (run.patience); {}; a larger run.patience, or "
      "0, and --restart latest go on",
      best().without_improvement(), name_of(*best().metric()),
      best().step() < 0 ? "none was a number" : "the best: " + best().text());
}

void RunEvaluations::write_confusion(const std::string& path, std::int64_t step) const {
  std::vector<std::pair<DataPart, const ClassMeasures*>> parts;
  for (const Part& part : parts_) parts.emplace_back(part.part, &*part.confusion);
  write_confusion_file(path, step, meaning_.class_names, parts);
}

void RunEvaluations::measure_rollouts(const Quiesced& quiet, RunContext& run, const InferenceContext& context,
                                      EvaluationRow& row) {
  rollout_.reset();  // one result is in memory at a time
  rollout_ = rollouts_->measure(quiet, context, *run.assembly.communicator, *normalizer_);
  row.rollout = rollout_->mean_nrmse();
}

void RunEvaluations::write_pictures(const std::string& path, std::int64_t step) const {
  std::vector<std::pair<DataPart, std::vector<FieldPicture>>> parts;
  for (const Part& part : parts_)
    if (!part.pictures.empty()) parts.emplace_back(part.part, part.pictures);
  if (!parts.empty()) write_picture_file(path, step, parts);
}

void RunEvaluations::write_r2(const std::string& path, std::int64_t step) const {
  std::vector<std::pair<DataPart, std::vector<double>>> parts;
  for (const Part& part : parts_) parts.emplace_back(part.part, part.r2);
  write_target_file(path, step, meaning_.target_names, parts);
}

}  // namespace mylos
