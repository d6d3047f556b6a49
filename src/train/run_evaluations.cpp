#include "mylos/train/run_evaluations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/seconds_since.hpp"

namespace mylos {

RunEvaluations::RunEvaluations(const RunData& data, const Normalizer& normalizer,
                               const EvaluationOptions& options, std::int64_t every)
    : every_(every) {
  for (const DataPart part : judging_parts) {
    if (data.has(part)) parts_.push_back({name_of(part), data.pass_over(part, normalizer, options), ""});
  }
}

bool RunEvaluations::due(const RunPosition& position) const {
  if (parts_.empty()) return false;
  if (position.at_end()) return true;
  return every_ > 0 ? position.step % every_ == 0 : position.ends_epoch();
}

void RunEvaluations::evaluate(const InferenceContext& context, Communicator& communicator,
                              const RunPosition& position,
                              const std::function<void(const std::string&)>& note) {
  const auto start = std::chrono::steady_clock::now();
  for (Part& part : parts_) {
    part.last = describe(mylos::evaluate(context, communicator, *part.pass));
    note(fmt::format("epoch {:.4g}, step {}: {} {}", position.passes(position.step), position.step, part.name,
                     part.last));
  }
  longest_s_ = std::max(longest_s_, seconds_since(start));
}

}  // namespace mylos
