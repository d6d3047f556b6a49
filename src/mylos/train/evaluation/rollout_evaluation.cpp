#include "mylos/train/evaluation/rollout_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos {

RolloutEvaluation::RolloutEvaluation(const Options& options) : steps_(options.run.rollout_steps) {
  const ArrayOptions& arrays = options.data.arrays;
  has_missing_inputs_ = arrays.any_may_be_missing(arrays.inputs);
  const auto open = [&](LevelsOf of) {
    auto levels = std::make_shared<const StoredLevels>(options.data.test.names, arrays, of);
    reading_bytes_ += levels->store().reading_bytes();
    return levels;
  };
  starts_ = open(LevelsOf::inputs);
  const LevelLayout layout = level_layout(arrays, starts_->store());
  std::vector<RolloutMember> members = members_by_stride(*starts_, layout, steps_, steps_ * layout.ahead);
  if (members.empty()) {
    fail_input(errors::too_little_data,
               "{}: no trajectory has the {} levels of a rollout of {} steps (run.metrics \"rollout{}\")",
               path(), layout.history + steps_ * layout.ahead, steps_, steps_);
  }
  const auto truth = open(LevelsOf::targets);
  axes_ = score_axes(arrays, truth->store(), steps_);
  trajectories_.emplace(arrays, starts_, truth, std::move(members));
}

RolloutRequest RolloutEvaluation::request(std::int64_t samples) const {
  const LevelLayout& layout = trajectories_->layout();
  const std::int64_t of_member = layout.points_are_samples ? layout.points() : 1;
  return {.steps = steps_,
          .members_at_once = std::clamp<std::int64_t>(samples / of_member, 1, trajectories_->members()),
          .has_spectrum = true,
          .has_scores = true,
          .take = {}};
}

RolloutResult RolloutEvaluation::measure(const Quiesced& /*quiet*/, const InferenceContext& context,
                                         Communicator& communicator, const Normalizer& normalizer) const {
  communicator.synchronize(context.exec);
  RankGroup& ranks = communicator.ranks();
  std::optional<RowInference> rows;
  run_on_all(ranks, [&] { rows.emplace(context, normalizer, has_missing_inputs_); });
  RolloutRequest request = this->request(context.model.samples());
  const std::optional<OutputField> field = context.model.chain().head->field();
  if (field && field->weights)
    request.weights = MeasureWeights(field->weights->values, field->weights->channels);
  RowInference* const networks[] = {&*rows};
  return roll_out(networks, ranks, *trajectories_, request);
}

std::vector<std::string> RolloutEvaluation::member_names() const {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < trajectories_->members(); ++i) {
    const RolloutMember& member = trajectories_->member(i);
    names.push_back(fmt::format("trajectory {} from level {}", member.trajectory, member.first_level));
  }
  return names;
}

PartMemory RolloutEvaluation::memory(const Options& options, const Chain& chain, std::int64_t samples,
                                     int ranks, bool has_data) {
  PartMemory memory{{"fields of evaluations", 0, false}, {"fields of evaluations on the device", 0}};
  if (!has_data || options.run.rollout_steps == 0) return memory;
  memory[0].bytes =
      RolloutEvaluation(options).host_bytes(samples, ranks) + RowInference::host_bytes(chain, samples);
  memory[1].bytes = RowInference::memory_bytes(chain, samples);
  return memory;
}

std::size_t RolloutEvaluation::host_bytes(std::int64_t samples, int ranks) const {
  constexpr std::size_t bytes_of_name = 512;  // of a member, in messages and in evaluation.rollout.json
  return static_cast<std::size_t>(reading_bytes_) +
         static_cast<std::size_t>(trajectories_->members()) * bytes_of_name +
         rollout_bytes(trajectories_->layout(), request(samples), trajectories_->members(), ranks);
}

}  // namespace mylos
