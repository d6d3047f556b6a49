#include "mylos/data/run/run_data.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/run/data_kinds.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/data/run/known_targets.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/data/run/rollout_feedback.hpp"

namespace mylos {

void complete(Options& options, const DataDescription& data, const Places& places) {
  data.complete(options.model);
  options.model.target_names = data.meaning().target_names;
  require_known_targets(options.model, places);
  options.model.point_weights = point_weights_of(options, data);
  if (!options.rollout.any()) return;
  if (const auto layout = data.rollout()) options.rollout.feedback = feedback_map(*layout);
  options.rollout.feedback.counts = data.mask().inputs;
}

std::vector<DataPart> evaluated_parts(const EvaluationData* data) {
  std::vector<DataPart> parts;
  for (const DataPart part : held_out_parts)
    if (data != nullptr && data->has(part)) parts.push_back(part);
  return parts;
}

PartMemory evaluation_pass_memory(const EvaluationData* data, const EvaluationOptions& options) {
  std::int64_t bytes = 0;
  for (const DataPart part : evaluated_parts(data)) bytes += data->pass_bytes(part, options);
  return {{"evaluation data", static_cast<std::size_t>(bytes), false}};
}

std::unique_ptr<RunData> open_run_data(const Options& options, GroundTruth truth, const Places& places) {
  if (options.data.train.empty())
    fail_input(errors::missing_key, "the deck has no data.train; only `mylos plan` works without it");
  if (options.data.arrays.given()) return array_samples().open(options, truth, places);
  const std::string file = prepared_files(options.data.train).front();
  const std::array kinds = data_kinds();
  const DataKind& given =
      *std::ranges::find_if(kinds, [&](const DataKind& kind) { return kind.holds(file); });
  if (given.feeds(options.model.type)) return given.open(options, truth, places);
  const DataKind& wanted =
      *std::ranges::find_if(kinds, [&](const DataKind& kind) { return kind.feeds(options.model.type); });
  fail_input(
      errors::data_mismatch,
      "{} holds {}, which model.type = \"{}\" cannot learn; `mylos prepare {}` makes a file that it can",
      file, given.name, wanted.learner, wanted.prepared);
}

}  // namespace mylos
