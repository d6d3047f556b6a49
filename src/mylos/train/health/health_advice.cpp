#include "mylos/train/health/health_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace mylos {
namespace {

constexpr double usual_update_ratio = 1e-3;

/// Rounds to one significant digit: 0.0123 -> "0.01".
std::string one_digit(double value) {
  if (!std::isnormal(value)) return "1";
  const double unit = std::pow(10, std::floor(std::log10(std::fabs(value))));
  return fmt::format("{:g}", std::round(value / unit) * unit);
}

/// Returns "try A, B or C" without the empty keys.
std::string try_one_of(std::vector<std::string> keys) {
  std::erase(keys, "");
  std::string text = "try " + keys.front();
  for (std::size_t i = 1; i < keys.size(); ++i) text += (i + 1 < keys.size() ? ", " : " or ") + keys[i];
  return text;
}

}  // namespace

HealthAdvice::HealthAdvice(const Options& options, bool scale_is_dynamic)
    : compute_(options.precision.compute),
      lr_(options.optimizer.lr),
      clip_norm_(options.optimizer.clip_norm),
      scaler_(options.precision.scaler) {
  const ModelOptions& model = options.model;
  if (model.type == ModelType::mlp && model.activation == Activation::relu)
    live_activation_ = "model.activation = \"gelu\"";
  if (model.type == ModelType::mlp && model.norm == NormType::none) norm_ = "model.norm = \"layernorm\"";
  if (scale_is_dynamic) {
    larger_scale_ = fmt::format("precision.scaler.initial_scale = {:.10g}",
                                std::min(16 * scaler_.initial_scale, scaler_.max_scale));
    lower_floor_ = "precision.scaler.min_scale = " + one_digit(scaler_.min_scale / 1024);
    slower_growth_ = fmt::format("precision.scaler.growth_interval = {}", 2 * scaler_.growth_interval);
  }
  if (compute_ == DType::fp16) wider_type_ = "precision.compute = \"bf16\"";
  if (compute_ == DType::bf16) wider_type_ = "precision.compute = \"fp32\"";
}

std::string HealthAdvice::on_vanishing_gradients() const {
  return "the network may have learned all it can, else " +
         try_one_of({"a larger optimizer.lr", norm_, "another initial seed"});
}

std::string HealthAdvice::on_vanishing_parameter() const {
  return try_one_of({norm_, larger_scale_, "a larger optimizer.lr"});
}

std::string HealthAdvice::on_large_gradients(double usual_norm, std::int64_t steps) const {
  const bool is_known = usual_norm > 0;
  const double advised = !is_known ? 1 : clip_norm_ > 0 ? std::min(usual_norm, clip_norm_ / 2) : usual_norm;
  const std::string why =
      is_known ? fmt::format(" (the median norm of the last {} steps is {:.3g})", steps, usual_norm) : "";
  return try_one_of({"optimizer.clip_norm = " + one_digit(advised) + why, "a smaller optimizer.lr"});
}

std::string HealthAdvice::on_dead_layer() const {
  return try_one_of({"a smaller optimizer.lr", live_activation_, larger_scale_});
}

std::string HealthAdvice::on_dead_units() const {
  return try_one_of({"a smaller optimizer.lr", live_activation_});
}

std::string HealthAdvice::on_update_ratio(double ratio) const {
  return try_one_of({"optimizer.lr = " + one_digit(lr_ * std::clamp(usual_update_ratio / ratio, 1e-2, 1e2))});
}

std::string HealthAdvice::on_skipped_steps() const {
  if (!slower_growth_.empty()) return try_one_of({wider_type_, slower_growth_});
  return "inspect the data of those steps, or " +
         try_one_of({"optimizer.clip_norm", "a smaller optimizer.lr"});
}

std::string HealthAdvice::on_overflow_at_floor() const {
  return try_one_of({lower_floor_, wider_type_});
}

std::string HealthAdvice::on_loss_jump() const {
  return try_one_of(
      {"optimizer.lr = " + one_digit(lr_ / 3), clip_norm_ > 0 ? "" : "optimizer.clip_norm = 1"});
}

std::string HealthAdvice::on_divergence() const {
  return try_one_of(
      {"optimizer.lr = " + one_digit(lr_ / 3), clip_norm_ > 0 ? "" : "optimizer.clip_norm = 1", wider_type_});
}

}  // namespace mylos
