// RolloutLevels: what rank 0 writes and draws while a rollout goes on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "commands/rollout_data.hpp"
#include "mylos/inference/rollout/field_file.hpp"
#include "mylos/inference/rollout/field_picture.hpp"
#include "mylos/inference/rollout/rollout.hpp"

namespace mylos::app {

class RolloutLevels {
 public:
  /// `request`: of the rollout. The ends of its intervals are written too; images leave out points of weight
  /// 0.
  RolloutLevels(const RolloutArguments& arguments, const StoredNetwork& network, const RolloutData& data,
                const RolloutRequest& request);

  /// Takes the states [forecasts, points, outputs] of a member after a step.
  void take(std::int64_t member, std::int64_t step, std::span<const float> states);

  [[nodiscard]] FieldFile& file() { return *file_; }
  [[nodiscard]] const std::vector<std::string>& member_names() const { return members_; }
  /// By member, step and channel, whichever rank was first.
  [[nodiscard]] std::vector<FieldPicture> pictures() const;

 private:
  void write_bounds(std::int64_t member, std::int64_t step, std::span<const float> states);

  const StoredTrajectories& data_;
  std::vector<std::string> names_;  // of channels
  std::vector<std::string> members_;
  MeasureWeights weights_;
  const ConformalCalibration* intervals_;  // null: none
  bool upward_;
  std::vector<std::int64_t> pictured_members_;
  std::vector<std::int64_t> pictured_steps_;
  std::vector<float> truth_;
  std::vector<float> mean_;  // of the forecasts
  std::vector<float> lower_, upper_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::size_t>, FieldPicture> pictures_;
  std::optional<FieldFile> file_;
};

}  // namespace mylos::app
