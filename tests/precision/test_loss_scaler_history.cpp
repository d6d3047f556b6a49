// The loss scaler over random overflows, against its rules said in another way.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "mylos/precision/loss_scaler.hpp"

namespace mylos::loss_scaler_history_test {

constexpr auto unchanged = ScaleEvent::unchanged;
constexpr auto increased = ScaleEvent::increased;
constexpr auto decreased = ScaleEvent::decreased;
constexpr auto tolerated = ScaleEvent::tolerated;

/// The rules again, said over the whole past instead of over a state: nothing is remembered but the flags and
/// where growth came due.
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
    if (overflows_since_refill() < options_.hysteresis) return tolerated;
    scale_ = std::max(before * options_.backoff_factor, options_.min_scale);
    return decreased;
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

  ScalerOptions options_;
  ScalerMode mode_;
  double scale_;
  std::vector<bool> flags_;
  std::vector<bool> floors_;  // a smaller scale could not have cured this step
  std::size_t last_growth_ = 0;
};

TEST(LossScalerHistory, FollowsTheRulesOverRandomOverflows) {
  std::mt19937 random(20240607);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int run = 0; run < 400; ++run) {
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
    const ScalerMode mode = std::array{ScalerMode::dynamic, ScalerMode::dynamic, ScalerMode::fixed,
                                       ScalerMode::off}[static_cast<std::size_t>(draw(0, 3))];
    const int overflow_percent = draw(2, 80);
    const ScalerRule rule = scaler_rule(options, mode);
    ScalerState state = initial_scaler_state(options, mode);
    History history(options, mode);
    std::array<std::int64_t, 4> events{};
    std::int64_t overflows = 0;
    for (int step = 0; step < 120; ++step) {
      const bool overflow = draw(1, 100) <= overflow_percent;
      overflows += overflow ? 1 : 0;
      const ScaleEvent event = rule.advance(state, overflow);
      ++events[static_cast<std::size_t>(event)];
      ASSERT_EQ(event, history.step(overflow)) << "run " << run << " step " << step;
      ASSERT_NEAR(state.scale, history.scale(), 1e-5 * history.scale());
      ASSERT_EQ(state.skipped_in_a_row, history.incurable_skips()) << "run " << run << " step " << step;
      ASSERT_EQ(rule.exhausted(state), history.incurable_skips() >= options.max_consecutive_skips);
    }
    EXPECT_EQ(state.steps, 120);
    EXPECT_EQ(state.overflows, overflows);
    EXPECT_EQ(state.increases, events[static_cast<std::size_t>(increased)]);
    EXPECT_EQ(state.decreases, events[static_cast<std::size_t>(decreased)]);
    EXPECT_EQ(state.tolerated, events[static_cast<std::size_t>(tolerated)]);
  }
}

}  // namespace mylos::loss_scaler_history_test
