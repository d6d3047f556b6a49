// The loss scaler over random overflows, against a second formulation of its rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "mylos/precision/loss_scaler.hpp"

namespace mylos::loss_scaler_history_test {

constexpr auto unchanged = ScaleEvent::unchanged;
constexpr auto increased = ScaleEvent::increased;
constexpr auto decreased = ScaleEvent::decreased;
constexpr auto tolerated = ScaleEvent::tolerated;

/// The rules formulated over the complete history instead of over a state: only the flags and the steps of
/// growth are stored.
class History {
 public:
  History(const ScalerOptions& options, ScalerMode mode) : options_(options), mode_(mode) {
    scale_ = mode == ScalerMode::off ? 1 : options.initial_scale;
  }

  ScaleEvent step(bool overflow) {
    const double before = scale_;
    flags_.push_back(overflow);
    floors_.push_back(mode_ != ScalerMode::dynamic || before <= options_.min_scale);
    if (mode_ != ScalerMode::dynamic) return unchanged;
    if (!overflow) {
      if (steps_since_overflow_or(last_growth_) < options_.growth_interval) return unchanged;
      last_growth_ = flags_.size();
      scale_ = std::min(before * options_.growth_factor, options_.max_scale);
      return before >= options_.max_scale ? unchanged : increased;
    }
    if (before <= options_.min_scale) return unchanged;
    if (options_.backoff_window > 0 ? overflows_in_window() < options_.backoff_overflows
                                    : overflows_since_refill() < options_.hysteresis)
      return tolerated;
    last_backoff_ = flags_.size();
    scale_ = std::max(before * options_.backoff_factor, options_.min_scale);
    return decreased;
  }

  /// Returns the overflows of the last `steps` steps.
  [[nodiscard]] std::int64_t overflows_of_last(std::size_t steps) const {
    const auto kept = static_cast<std::ptrdiff_t>(std::min(steps, flags_.size()));
    return std::count(flags_.end() - kept, flags_.end(), true);
  }
  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] std::int64_t incurable_skips() const {
    std::int64_t count = 0;
    for (std::size_t i = flags_.size(); i-- > 0 && flags_[i];) count += floors_[i] ? 1 : 0;
    return count;
  }

 private:
  [[nodiscard]] std::int64_t steps_since_overflow_or(std::size_t start) const {
    std::int64_t count = 0;
    for (std::size_t i = flags_.size(); i-- > start && !flags_[i];) ++count;
    return count;
  }
  [[nodiscard]] std::int64_t overflows_since_refill() const {
    std::int64_t count = 0;
    for (std::size_t i = flags_.size(); i-- > last_growth_;) {
      if (!flags_[i] && options_.hysteresis_refill == HysteresisRefill::good_step) break;
      count += flags_[i] ? 1 : 0;
    }
    return count;
  }
  [[nodiscard]] std::int64_t overflows_in_window() const {
    const std::size_t since = flags_.size() - last_backoff_;
    return overflows_of_last(std::min(since, static_cast<std::size_t>(options_.backoff_window)));
  }

  ScalerOptions options_;
  ScalerMode mode_;
  double scale_;
  std::vector<bool> flags_;
  std::vector<bool> floors_;  // a smaller scale could not have cured this step
  std::size_t last_growth_ = 0;
  std::size_t last_backoff_ = 0;
};

/// Random options of the loss scaler.
class RandomOptions {
 public:
  explicit RandomOptions(std::uint32_t seed) : random_(seed) {}

  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  ScalerMode mode() {
    return std::array{ScalerMode::dynamic, ScalerMode::dynamic, ScalerMode::fixed,
                      ScalerMode::off}[static_cast<std::size_t>(draw(0, 3))];
  }
  ScalerOptions options() {
    ScalerOptions options;
    options.growth_interval = draw(1, 6);
    options.hysteresis = draw(1, 3);
    options.hysteresis_refill = draw(0, 1) != 0 ? HysteresisRefill::growth : HysteresisRefill::good_step;
    options.growth_factor = draw(0, 1) != 0 ? 2 : 1.5;
    options.backoff_factor = draw(0, 1) != 0 ? 0.5 : 0.25;
    options.min_scale = std::ldexp(1.0, draw(0, 3));
    options.max_scale = std::ldexp(options.min_scale, draw(1, 6));
    options.initial_scale = std::ldexp(options.min_scale, 1);
    options.max_consecutive_skips = draw(1, 4);
    return options;
  }
  /// Returns random options that require several overflows within a number of steps.
  ScalerOptions with_window() {
    ScalerOptions options = this->options();
    options.hysteresis = 1;
    options.backoff_window = draw(0, 3) != 0 ? draw(1, 12) : draw(900, 1000);
    options.backoff_overflows = draw(1, static_cast<int>(std::min<std::int64_t>(5, options.backoff_window)));
    options.max_scale = std::ldexp(options.min_scale, draw(3, 12));
    return options;
  }

 private:
  std::mt19937 random_;
};

void expect_the_rules(const ScalerOptions& options, ScalerMode mode, RandomOptions& random, int steps) {
  const int overflow_percent = random.draw(2, 80);
  const ScalerRule rule = scaler_rule(options, mode);
  ScalerState state = initial_scaler_state(options, mode);
  History history(options, mode);
  std::array<std::int64_t, 4> events{};
  std::int64_t overflows = 0;
  for (int step = 0; step < steps; ++step) {
    const bool overflow = random.draw(1, 100) <= overflow_percent;
    overflows += overflow ? 1 : 0;
    const ScaleEvent event = rule.advance(state, overflow);
    ++events[static_cast<std::size_t>(event)];
    ASSERT_EQ(event, history.step(overflow)) << "step " << step;
    ASSERT_NEAR(state.scale, history.scale(), 1e-5 * history.scale());
    ASSERT_EQ(state.skipped_in_a_row, history.incurable_skips()) << "step " << step;
    ASSERT_EQ(rule.exhausted(state), history.incurable_skips() >= options.max_consecutive_skips);
    ASSERT_EQ(state.recent.overflows, history.overflows_of_last(1000)) << "step " << step;
    ASSERT_EQ(state.recent.steps(), std::min(step + 1, 1000));
  }
  EXPECT_EQ(state.steps, steps);
  EXPECT_EQ(state.overflows, overflows);
  EXPECT_EQ(state.increases, events[static_cast<std::size_t>(increased)]);
  EXPECT_EQ(state.decreases, events[static_cast<std::size_t>(decreased)]);
  EXPECT_EQ(state.tolerated, events[static_cast<std::size_t>(tolerated)]);
}

TEST(LossScalerHistory, FollowsTheRulesOverRandomOverflows) {
  RandomOptions random(20240607);
  for (int run = 0; run < 400; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    const ScalerOptions options = random.options();
    expect_the_rules(options, random.mode(), random, 120);
    if (HasFatalFailure()) return;
  }
}

TEST(LossScalerHistory, BacksOffAfterSeveralOverflowsWithinAWindow) {
  RandomOptions random(20261124);
  for (int run = 0; run < 200; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    const ScalerOptions options = random.with_window();
    expect_the_rules(options, random.mode(), random, options.backoff_window > 100 ? 2500 : 300);
    if (HasFatalFailure()) return;
  }
}

}  // namespace mylos::loss_scaler_history_test
