#include "mylos/train/run/components/run_evaluations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/train/evaluation/confusion_file.hpp"
#include "mylos/train/evaluation/target_file.hpp"

namespace mylos {

RunEvaluations::RunEvaluations(const RunData& data, const Normalizer& normalizer,
                               const EvaluationOptions& options, const RunOptions& run)
    : meaning_(data.meaning()), measures_(run.metrics), every_(run.evaluate_every) {
  for (const DataPart part : judging_parts) {
    if (data.has(part)) parts_.push_back({part, data.pass_over(part, normalizer, options), ""});
  }
}

bool RunEvaluations::due(const RunPosition& position) const {
  if (position.at_end()) return true;
  return every_ > 0 ? position.step % every_ == 0 : position.ends_epoch();
}

std::vector<EvaluationRow> RunEvaluations::evaluate(const InferenceContext& context,
                                                    Communicator& communicator, const RunPosition& position,
                                                    const std::function<void(const std::string&)>& note) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<EvaluationRow> rows;
  for (Part& part : parts_) {
    Evaluation found = mylos::evaluate(context, communicator, *part.pass, measures_);
    part.last = describe(found);
    note(fmt::format("epoch {:.4g}, step {}: {} {}", position.passes(position.step), position.step,
                     name_of(part.part), part.last));
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
