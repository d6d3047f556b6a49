// HealthAdvice: the keys that may help a run in trouble, with values that its deck does not have already.
#pragma once

#include <string>

#include "mylos/config/options.hpp"

namespace mylos {

class HealthAdvice {
 public:
  HealthAdvice(const Options& options, bool scale_is_dynamic);

  // Each begins with "try".

  [[nodiscard]] std::string on_vanishing_gradients() const;
  [[nodiscard]] std::string on_vanishing_parameter() const;
  /// `usual_norm`: the median of the last `steps` steps; 0: not known.
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
  // Keys with values; "" where the deck has it already, or it would do nothing.
  std::string live_activation_;  // that has a gradient everywhere
  std::string norm_;
  std::string larger_scale_;
  std::string lower_floor_;
  std::string slower_growth_;
  std::string wider_type_;  // of a larger range, or of more digits
};

}  // namespace mylos
