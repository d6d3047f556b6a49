#include "commands/rollout_levels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/inference/rollout/map_orientation.hpp"
#include "mylos/inference/scores/ensemble_scores.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_pictured_members = 2;
constexpr std::size_t max_pictured_channels = 3;

std::string name_of(const RolloutMember& member, bool has_samples) {
  return has_samples ? fmt::format("sample {} from level {}", member.trajectory, member.first_level)
                     : fmt::format("from level {}", member.first_level);
}

}  // namespace

RolloutLevels::RolloutLevels(const RolloutArguments& arguments, const StoredNetwork& network,
                             const RolloutData& data, const RolloutRequest& request)
    : data_(*data.trajectories),
      names_(network.samples.target_names),
      weights_(request.weights),
      intervals_(request.intervals),
      upward_(rows_run_north(data.starts->store())) {
  const LevelLayout& layout = data_.layout();
  FieldFileShape shape{.arrays = network.options.data.arrays.targets,
                       .members = {},
                       .is_one_start = true,
                       .levels = {},
                       .checkpoint = network.path,
                       .parts = {},
                       .level_step = network.samples.level_step,
                       .forecasts = request.forecasts()};
  if (intervals_ != nullptr) {
    for (const char* suffix : {"_lower", "_upper"})
      shape.parts.push_back(
          {.suffix = suffix, .coverage = intervals_->coverage, .quantile = {}, .is_of_mean = true});
    lower_.resize(static_cast<std::size_t>(layout.state_values()));
    upper_.resize(lower_.size());
  }
  for (std::int64_t member = 0; member < data_.members(); ++member) {
    const RolloutMember& one = data_.member(member);
    shape.members.push_back(one.trajectory);
    shape.is_one_start = shape.is_one_start && one.first_level == data_.member(0).first_level;
    members_.push_back(name_of(one, data.starts->trajectories() > 1));
  }
  for (std::int64_t step = 0; step <= arguments.steps; ++step)
    shape.levels.push_back(data_.member(0).first_level + layout.history - 1 + step * layout.ahead);
  pictured_members_ = chosen_by_seed(network.options.run.seed, data_.members(), max_pictured_members);
  pictured_steps_ = {1, (arguments.steps + 1) / 2, arguments.steps};
  truth_.resize(static_cast<std::size_t>(layout.state_values()));
  mean_.resize(truth_.size());
  file_.emplace(arguments.output, data.starts->store(), shape);
}

void RolloutLevels::take(std::int64_t member, std::int64_t step, std::span<const float> states) {
  const std::size_t values = truth_.size();
  for (std::size_t forecast = 0; forecast < states.size() / values; ++forecast)
    file_->write(member, step, states.subspan(forecast * values, values), 0,
                 static_cast<std::int64_t>(forecast));
  if (intervals_ != nullptr) write_bounds(member, step, states);
  if (std::ranges::find(pictured_members_, member) == pictured_members_.end() ||
      std::ranges::find(pictured_steps_, step) == pictured_steps_.end() || !data_.has_truth(member, step))
    return;
  data_.read_truth(member, step, truth_);
  mean_of_members(states, mean_);
  const std::int64_t channels = data_.layout().outputs();
  for (std::size_t channel = 0;
       channel < std::min<std::size_t>(static_cast<std::size_t>(channels), max_pictured_channels);
       ++channel) {
    FieldPicture picture = make_picture(data_.layout().extents, channels, static_cast<std::int64_t>(channel),
                                        truth_, mean_, weights_);
    picture.upward = upward_;
    picture.title = fmt::format("{}, step {}", members_[static_cast<std::size_t>(member)], step);
    picture.channel = channel < names_.size() ? names_[channel] : fmt::format("channel {}", channel);
    pictures_[{member, step, channel}] = std::move(picture);
  }
}

void RolloutLevels::write_bounds(std::int64_t member, std::int64_t step, std::span<const float> states) {
  mean_of_members(states, mean_);
  if (step == 0) {
    file_->write(member, step, mean_, 1);
    file_->write(member, step, mean_, 2);
    return;
  }
  intervals_->at_lead_time(step).bounds(mean_, {}, lower_, upper_);
  file_->write(member, step, lower_, 1);
  file_->write(member, step, upper_, 2);
}

std::vector<FieldPicture> RolloutLevels::pictures() const {
  std::vector<FieldPicture> pictures;
  for (const auto& [index, picture] : pictures_) pictures.push_back(picture);
  return pictures;
}

}  // namespace mylos::app
