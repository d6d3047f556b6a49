// RolloutEvaluation: the metric `rolloutN`, measured on the test data.
//
// Each trajectory of the test data is cut into consecutive rollouts of N steps; what is left at its end is
// not used. The metric is the mean over the N steps of the nRMSE, which is the mean over members and channels
// (field_errors.hpp). It is NaN, which is never the best, if a state is not finite.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/options.hpp"
#include "mylos/inference/rollout/rollout.hpp"
#include "mylos/inference/rollout/stored_trajectories.hpp"
#include "mylos/train/step/quiesced.hpp"

namespace mylos {

class RolloutEvaluation {
 public:
  /// Opens the test data of a deck whose metrics have a rollout. Throws Error (bad_input) if the targets
  /// cannot be fed back, or if no trajectory is long enough.
  explicit RolloutEvaluation(const Options& options);

  /// All ranks. `normalizer` is that of the run.
  [[nodiscard]] RolloutResult measure(const Quiesced& quiet, const InferenceContext& context,
                                      Communicator& communicator, const Normalizer& normalizer) const;

  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] const std::string& path() const { return starts_->store().path(); }
  /// Returns what the measures by variable are of.
  [[nodiscard]] const ScoreAxes& axes() const { return axes_; }
  /// Returns what each member is, for people.
  [[nodiscard]] std::vector<std::string> member_names() const;
  /// Returns the memory that a deck's rollouts take while they are measured, with at most `samples` samples
  /// at once on each of `ranks` ranks, and that of the opened files. A deck whose data are not here, or
  /// without rollouts, has none.
  [[nodiscard]] static PartMemory memory(const Options& options, const Chain& chain, std::int64_t samples,
                                         int ranks, bool has_data);

 private:
  [[nodiscard]] std::size_t host_bytes(std::int64_t samples, int ranks) const;
  [[nodiscard]] RolloutRequest request(std::int64_t samples) const;

  std::int64_t steps_;
  std::shared_ptr<const StoredLevels> starts_;
  std::optional<StoredTrajectories> trajectories_;
  ScoreAxes axes_;
  std::int64_t reading_bytes_ = 0;
  bool has_missing_inputs_ = false;
};

}  // namespace mylos
