#include "mylos/train/run/components/run_evaluations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/train/evaluation/result_files.hpp"
#include "mylos/train/run/components/run_context.hpp"

namespace mylos {

void RunEvaluations::open(const RunData& data, const Normalizer& normalizer, const EvaluationOptions& options,
                          const RunOptions& run, std::int64_t classes) {
  meaning_ = data.meaning();
  measures_ = run.metrics;
  classes_ = classes;
  every_ = run.evaluate_every;
  for (const DataPart part : judging_parts) {
    if (data.has(part)) parts_.push_back({part, data.pass_over(part, normalizer, options), ""});
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
  const InferenceContext context{run.trainer().execution(), *run.assembly.engines, run.trainer().model(),
                                 classes_};
  const RunPosition& position = run.position;
  const auto start = std::chrono::steady_clock::now();
  std::vector<EvaluationRow> rows;
  for (Part& part : parts_) {
    Evaluation found = mylos::evaluate(quiet, context, *run.assembly.communicator, *part.pass, measures_);
    part.last = describe(found);
    run.log.progress().note(fmt::format("epoch {:.4g}, step {}: {} {}", position.passes(position.step),
                                        position.step, name_of(part.part), part.last));
    EvaluationRow& row = rows.emplace_back();
    row.part = part.part;
    row.loss = found.loss;
    if (found.judged != Judged::targets) row.accuracy = found.accuracy;
    row.top5 = found.top5;
    row.r2 = found.r2;
    if (std::find(measures_.begin(), measures_.end(), Measure::confusion) != measures_.end())
      part.confusion = std::move(found.classes);
    if (found.targets && found.targets->targets() <= max_targets_of_file) part.r2 = found.targets->r2();
  }
  longest_s_ = std::max(longest_s_, seconds_since(start));
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
  const bool is_best = log_.judge(rows);
  if (stopped_early(run.position)) {
    run.log.record(
        {static_cast<std::uint64_t>(run.position.step), "early_stop", "patience", "", describe_early_stop()});
  }
  try {
    log_.write(rows);
    if (run.is_first_rank() && has_confusion())
      write_confusion(run.file("confusion.json"), run.position.step);
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

void RunEvaluations::write_r2(const std::string& path, std::int64_t step) const {
  std::vector<std::pair<DataPart, std::vector<double>>> parts;
  for (const Part& part : parts_) parts.emplace_back(part.part, part.r2);
  write_target_file(path, step, meaning_.target_names, parts);
}

}  // namespace mylos
