// HealthWatch: detectors of training problems in the records of steps and parameters. Each finding names the
// problem, its location, the first step, and a key that may help with a value for it.
//
// Detectors process every step in order, identically on all ranks. Checkpoints contain their complete state
// (/health), so that a restart changes no finding.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/config/options.hpp"
#include "mylos/optim/update/step_record.hpp"
#include "mylos/train/health/health_advice.hpp"
#include "mylos/train/history/run_events.hpp"
#include "mylos/train/step/health_record.hpp"

namespace mylos {

/// The causes of warnings, as in events.
namespace health_cause {
inline constexpr const char* vanishing = "vanishing gradients";
inline constexpr const char* exploding = "exploding gradients";
inline constexpr const char* high_norm = "high gradient norm";
inline constexpr const char* dead_layer = "dead layer";
inline constexpr const char* dead_units = "dead units";
inline constexpr const char* update_ratio = "update ratio";
inline constexpr const char* skipped = "skipped steps";
inline constexpr const char* floor = "loss scale at its floor";
inline constexpr const char* cap = "loss scale at its cap";
inline constexpr const char* loss = "loss jump";
inline constexpr const char* not_finite = "not finite";
}  // namespace health_cause

class HealthWatch {
 public:
  /// `parameters`: by slot; an empty path excludes a parameter from warnings.
  HealthWatch(const Options& options, bool scale_is_dynamic, std::vector<WatchedParameter> parameters);

  /// Uses these options for advice from now on.
  void take(const Options& options) { advice_ = HealthAdvice(options, scale_is_dynamic_); }

  /// Processes the next step in order. `health`: its inspection, or null if it was not inspected. Appends
  /// findings to `found`; later steps may report the same finding again.
  void see(const StepRecord& step, const HealthRecord* health, std::vector<RunEvent>& found);

  /// Adds the state to `state`, which then points into this object.
  void save(CheckpointState& state);
  /// Adds the checkpoint's entries to `state`. Checkpoints of earlier builds may have none.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Throws Error (bad_input) if save() cannot have written this state.
  void require_valid(const std::string& source) const;

 private:
  void see_norm(const StepRecord& step, const HealthRecord* health, std::vector<RunEvent>& found);
  void see_scale(const StepRecord& step, const HealthRecord* health, std::vector<RunEvent>& found);
  void see_loss(const StepRecord& step, std::vector<RunEvent>& found);
  void see_parameters(const StepRecord& step, const HealthRecord& health, std::vector<RunEvent>& found);
  [[nodiscard]] std::string clipping_advice() const;
  [[nodiscard]] std::string largest_of(const HealthRecord* health) const;

  /// The last values, oldest first, with a constant size in checkpoints.
  struct Recent {
    std::vector<double> values;
    std::int64_t count = 0;  // number of valid values
    explicit Recent(std::size_t capacity) : values(capacity) {}
    void add(double value);
    void clear() { count = 0; }
    [[nodiscard]] double median(std::int64_t first, std::int64_t past) const;
  };
  /// The numbers of consecutive inspections of a parameter with each finding.
  struct Streaks {
    std::int64_t vanishing = 0;
    std::int64_t dead = 0;
    std::int64_t dead_units = 0;
    std::int64_t ratio = 0;  // below 0: too small; above: too large
  };
  static_assert(sizeof(Streaks) == 4 * sizeof(std::int64_t));

  HealthOptions options_;
  double clip_norm_;
  double lr_;
  bool scale_is_dynamic_;
  ScalerOptions scaler_;
  HealthAdvice advice_;
  std::vector<WatchedParameter> parameters_;

  double first_loss_ = std::numeric_limits<double>::quiet_NaN();  // of the run's first step
  Recent losses_;
  Recent norms_;
  Recent skips_;  // 1 for a skipped step
  std::int64_t vanishing_steps_ = 0;
  std::int64_t high_steps_ = 0;
  std::vector<Streaks> streaks_;  // by slot
};

}  // namespace mylos
