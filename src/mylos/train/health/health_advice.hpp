// HealthAdvice: suggests keys that may cure an unhealthy run, with values that differ from its deck's.
#pragma once

#include <string>

#include "mylos/config/options.hpp"

namespace mylos {

class HealthAdvice {
 public:
  HealthAdvice(const Options& options, bool scale_is_dynamic);

  // Each text contains "try" and the suggested keys.

  [[nodiscard]] std::string on_vanishing_gradients() const;
  [[nodiscard]] std::string on_vanishing_parameter() const;
  /// `usual_norm`: median gradient norm of the last `steps` steps; 0: unknown.
  [[nodiscard]] std::string on_large_gradients(double usual_norm, std::int64_t steps) const;
  [[nodiscard]] std::string on_dead_layer() const;
  [[nodiscard]] std::string on_dead_units() const;
  [[nodiscard]] std::string on_update_ratio(double ratio) const;
  [[nodiscard]] std::string on_skipped_steps() const;
  [[nodiscard]] std::string on_overflow_at_floor() const;
  [[nodiscard]] std::string on_loss_jump() const;
  [[nodiscard]] std::string on_divergence() const;

 private:
  DType compute_;
  double lr_;
  double clip_norm_;
  ScalerOptions scaler_;
  // Keys with values; "" if the deck already has the value, or the key would have no effect.
  std::string live_activation_;  // an activation with a gradient everywhere
  std::string norm_;
  std::string larger_scale_;
  std::string lower_floor_;
  std::string slower_growth_;
  std::string wider_type_;  // a type with a larger range, or with more digits
};

}  // namespace mylos
