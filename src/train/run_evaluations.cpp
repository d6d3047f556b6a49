#include "mylos/train/run_evaluations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/seconds_since.hpp"

namespace mylos {

RunEvaluations::RunEvaluations(const RunData& data, const Normalizer& normalizer,
                               const EvaluationOptions& options, std::int64_t every)
    : every_(every) {
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
    const Evaluation found = mylos::evaluate(context, communicator, *part.pass);
    part.last = describe(found);
    note(fmt::format("epoch {:.4g}, step {}: {} {}", position.passes(position.step), position.step,
                     name_of(part.part), part.last));
    EvaluationRow& row = rows.emplace_back();
    row.part = part.part;
    row.loss = found.loss;
    if (found.judged != Judged::targets) row.accuracy = found.accuracy;
  }
  longest_s_ = std::max(longest_s_, seconds_since(start));
  return rows;
}

}  // namespace mylos
