#include "mylos/train/health/health_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"

namespace mylos {
namespace {

// In steps; names with `inspections` are in inspections of the parameters.
constexpr std::size_t loss_window = 200;
constexpr std::size_t norm_window = 100;
constexpr std::size_t skip_window = 200;
constexpr std::int64_t smoothed = 5;  // losses whose median is checked, so that a single batch is no jump
constexpr std::int64_t losses_before_check =
    40;  // before that, the fall at the start of training hides jumps
constexpr std::int64_t high_norm_steps = 100;
constexpr std::int64_t vanishing_steps = 5;
constexpr std::int64_t consecutive_inspections = 3;
constexpr std::int64_t unit_inspections = 10;  // a unit may be inactive for a single batch
constexpr std::int64_t ratio_inspections = 10;
constexpr double min_jump = 1.5;          // times the median: ignores doublings of a nearly constant loss
constexpr double min_part_lost = 0.01;    // of the total reduction: ignores noise after convergence
constexpr double calm_share_of_lr = 0.1;  // below it, learning-rate schedules end and updates are small

}  // namespace

HealthWatch::HealthWatch(const Options& options, bool scale_is_dynamic,
                         std::vector<WatchedParameter> parameters)
    : options_(options.health),
      clip_norm_(options.optimizer.clip_norm),
      lr_(options.optimizer.lr),
      scale_is_dynamic_(scale_is_dynamic),
      scaler_(options.precision.scaler),
      advice_(options, scale_is_dynamic),
      parameters_(std::move(parameters)),
      losses_(loss_window),
      norms_(norm_window),
      skips_(skip_window),
      streaks_(parameters_.size()) {}

void HealthWatch::Recent::add(double value) {
  const auto capacity = static_cast<std::int64_t>(values.size());
  if (count == capacity) {
    std::move(values.begin() + 1, values.end(), values.begin());
    values.back() = value;
  } else {
    values[static_cast<std::size_t>(count++)] = value;
  }
}

double HealthWatch::Recent::median(std::int64_t first, std::int64_t past) const {
  std::vector<double> some(values.begin() + first, values.begin() + past);
  const auto middle = some.begin() + (past - first) / 2;
  std::nth_element(some.begin(), middle, some.end());
  return *middle;
}

void HealthWatch::see(const StepRecord& step, const HealthRecord* health, std::vector<RunEvent>& found) {
  see_scale(step, health, found);
  if (step.overflow != 0 || step.rows == 0) return;
  see_norm(step, health, found);
  see_loss(step, found);
  if (health != nullptr) see_parameters(step, *health, found);
  // Exploding gradients are excluded from the usual norm.
  if (std::isfinite(step.gradient_norm) &&
      (options_.exploding_norm == 0 || step.gradient_norm <= options_.exploding_norm))
    norms_.add(step.gradient_norm);
}

void HealthWatch::see_norm(const StepRecord& step, const HealthRecord* health, std::vector<RunEvent>& found) {
  const double norm = step.gradient_norm;
  vanishing_steps_ = norm < options_.vanishing_norm ? vanishing_steps_ + 1 : 0;
  if (vanishing_steps_ == mylos::vanishing_steps) {
    found.push_back(
        {step.step - mylos::vanishing_steps + 1, "warning", health_cause::vanishing, "",
         fmt::format("gradients vanish: their norm is {:.3g} (below health.vanishing_norm {:g}) for "
                     "{} steps; {}",
                     norm, options_.vanishing_norm, vanishing_steps_, advice_.on_vanishing_gradients())});
  }
  if (options_.exploding_norm > 0 && norm > options_.exploding_norm) {
    const std::string largest = largest_of(health);
    found.push_back(
        {step.step, "warning", health_cause::exploding, "",
         fmt::format("gradients explode: their norm is {:.3g} (above health.exploding_norm {:g}){}; {}", norm,
                     options_.exploding_norm,
                     largest.empty() ? "" : fmt::format(", most of it in {}", largest), clipping_advice())});
  }
  high_steps_ = clip_norm_ == 0 && norm > options_.high_norm ? high_steps_ + 1 : 0;
  if (options_.high_norm > 0 && high_steps_ == high_norm_steps) {
    found.push_back(
        {step.step - high_norm_steps + 1, "warning", health_cause::high_norm, "",
         fmt::format("the gradients' norm has been above {:g} (health.high_norm) for {} steps, and "
                     "nothing clips it; {}",
                     options_.high_norm, high_norm_steps, clipping_advice())});
  }
}

std::string HealthWatch::clipping_advice() const {
  return advice_.on_large_gradients(norms_.count > 0 ? norms_.median(0, norms_.count) : 0, norms_.count);
}

std::string HealthWatch::largest_of(const HealthRecord* health) const {
  if (health == nullptr) return "";
  std::size_t largest = 0;
  for (std::size_t i = 1; i < health->parameters.size(); ++i) {
    if (health->parameters[i].gradient_squares > health->parameters[largest].gradient_squares) largest = i;
  }
  return parameters_[largest].path;
}

void HealthWatch::see_scale(const StepRecord& step, const HealthRecord* health,
                            std::vector<RunEvent>& found) {
  const bool has_begun = step.updates > 0;  // an initial scale that is too high has been lowered by then
  if (has_begun) skips_.add(step.overflow != 0 ? 1 : 0);
  const auto skipped = std::count(skips_.values.begin(), skips_.values.begin() + skips_.count, 1.0);
  std::string where;
  if (health != nullptr && step.overflow != 0) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (health->parameters[i].non_finite > 0)
        where = parameters_[i].path;  // the last one is the first in the backward pass
    }
  }
  // Of a whole window: known before it is full, as soon as the steps after these could not change it.
  const bool are_too_many =
      static_cast<double>(skipped) > options_.skipped_share * static_cast<double>(skip_window);
  if (has_begun && options_.skipped_share > 0 && are_too_many) {
    found.push_back(
        {step.step, "warning", health_cause::skipped, "",
         fmt::format("{} of the last {} steps ({:.1f} %) were skipped because gradients were not finite; {}",
                     skipped, skips_.count,
                     100 * static_cast<double>(skipped) / static_cast<double>(skips_.count),
                     advice_.on_skipped_steps())});
  }
  if (!scale_is_dynamic_) return;
  // Compared as float, like the scaler's state: the float nearest to 0.1 is larger than 0.1.
  if (step.overflow != 0 && step.scale <= static_cast<float>(scaler_.min_scale)) {
    found.push_back({step.step, "warning", health_cause::floor, where,
                     fmt::format("gradients overflow{} although the loss scale is at its floor of {:g}; {}",
                                 where.empty() ? "" : " in " + where, scaler_.min_scale,
                                 advice_.on_overflow_at_floor())});
  }
  if (step.overflow == 0 && step.scale >= static_cast<float>(scaler_.max_scale) &&
      scaler_.initial_scale < scaler_.max_scale) {
    found.push_back(
        {step.step, "warning", health_cause::cap, "",
         fmt::format("the loss scale has reached its cap of {:g}: gradients are so small that it would "
                     "grow on; precision.scaler.max_scale = {:g} lets it",
                     scaler_.max_scale, 16 * scaler_.max_scale)});
  }
}

void HealthWatch::see_loss(const StepRecord& step, std::vector<RunEvent>& found) {
  if (!std::isfinite(step.loss)) return;
  losses_.add(step.loss);
  if (std::isnan(first_loss_)) first_loss_ = step.loss;
  const std::int64_t before = losses_.count - smoothed;
  if (before < losses_before_check) return;
  const double now = losses_.median(before, losses_.count);
  // A jump requires that more than half of the earlier losses are far below the current one.
  const auto is_far_below = [now](double loss) { return min_jump * loss < now; };
  if (std::count_if(losses_.values.begin(), losses_.values.begin() + before, is_far_below) <= before / 2)
    return;
  const double usual = losses_.median(0, before);
  if (now - usual <= min_part_lost * (first_loss_ - usual)) return;

  double min_loss = losses_.median(0, smoothed);
  for (std::int64_t i = 1; i + smoothed <= before; ++i)
    min_loss = std::min(min_loss, losses_.median(i, i + smoothed));
  Recent distances(loss_window);
  for (std::int64_t i = 0; i < before; ++i)
    distances.add(std::fabs(losses_.values[static_cast<std::size_t>(i)] - usual));
  // The median absolute deviation of a normal distribution is 0.6745 standard deviations.
  const double deviation = distances.median(0, before) / 0.6745;
  const double far = usual + options_.loss_deviations * deviation;
  const double high = options_.loss_factor * min_loss;
  const bool is_far = options_.loss_deviations > 0 && now > far;
  const bool is_high = options_.loss_factor > 0 && min_loss > 0 && now > high;
  if (!is_far && !is_high) return;
  const double limit = is_high ? high : far;
  std::int64_t first = before;
  while (losses_.values[static_cast<std::size_t>(first)] <= limit) ++first;  // the median is above the limit
  found.push_back(
      {step.step - static_cast<std::uint64_t>(losses_.count - 1 - first), "warning", health_cause::loss, "",
       fmt::format(
           "the loss jumps to {:.4g}, {:.3g} times its recent least, from a median of {:.4g} with a robust "
           "deviation of {:.2g}; {}",
           now, now / min_loss, usual, deviation, advice_.on_loss_jump())});
  losses_.clear();  // later losses are compared with later ones only
}

void HealthWatch::see_parameters(const StepRecord& step, const HealthRecord& health,
                                 std::vector<RunEvent>& found) {
  const auto warn = [&](const char* cause, const std::string& path, std::string text) {
    found.push_back({step.step, "warning", cause, path, std::move(text)});
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& [path, is_matrix] = parameters_[i];
    const ParameterHealth& seen = health.parameters[i];
    if (path.empty() || seen.count == 0) continue;
    Streaks& streaks = streaks_[i];
    const double norm = gradient_norm(seen);
    const bool all_zero = seen.zeros == seen.count;
    streaks.dead = all_zero ? streaks.dead + 1 : 0;
    streaks.vanishing = !all_zero && norm < options_.vanishing_norm ? streaks.vanishing + 1 : 0;
    const bool units_rest =
        !is_matrix && options_.dead_share > 0 && share(seen.zeros, seen) >= options_.dead_share;
    streaks.dead_units = units_rest ? streaks.dead_units + 1 : 0;
    const double ratio = update_ratio(seen);
    const bool checks_ratio = is_matrix && ratio > 0 && static_cast<double>(step.lr) > calm_share_of_lr * lr_;
    const bool too_large =
        checks_ratio && options_.largest_update_ratio > 0 && ratio > options_.largest_update_ratio;
    const bool too_small = checks_ratio && ratio < options_.least_update_ratio;
    streaks.ratio = too_large   ? std::max<std::int64_t>(streaks.ratio, 0) + 1
                    : too_small ? std::min<std::int64_t>(streaks.ratio, 0) - 1
                                : 0;
    if (streaks.dead == consecutive_inspections) {
      warn(health_cause::dead_layer, path,
           fmt::format("{} has had no gradient but zeros in {} looks: nothing behind it learns from it; {}",
                       path, streaks.dead, advice_.on_dead_layer()));
    }
    if (streaks.vanishing == consecutive_inspections) {
      warn(health_cause::vanishing, path,
           fmt::format(
               "the gradients of {} vanish: their norm is {:.3g} (below health.vanishing_norm {:g}) in {} "
               "looks; {}",
               path, norm, options_.vanishing_norm, streaks.vanishing, advice_.on_vanishing_parameter()));
    }
    if (options_.exploding_norm > 0 && norm > options_.exploding_norm) {
      warn(health_cause::exploding, path,
           fmt::format(
               "the gradients of {} explode: their norm is {:.3g} (above health.exploding_norm {:g}); {}",
               path, norm, options_.exploding_norm, clipping_advice()));
    }
    if (streaks.dead_units == unit_inspections && !all_zero) {
      warn(health_cause::dead_units, path,
           fmt::format("{:.0f} % of the units behind {} have had no gradient in {} looks: dead units; {}",
                       100 * share(seen.zeros, seen), path, streaks.dead_units, advice_.on_dead_units()));
    }
    if (std::abs(streaks.ratio) == ratio_inspections) {
      warn(health_cause::update_ratio, path,
           fmt::format("an update changes {} by {:.2g} of its norm, where about 1e-3 is usual; {}", path,
                       ratio, advice_.on_update_ratio(ratio)));
    }
  }
}

void HealthWatch::save(CheckpointState& state) {
  const auto add = [&](const char* name, Recent& recent) {
    state.add_host(std::string("/health/") + name, recent.values.data(),
                   {static_cast<std::int64_t>(recent.values.size())});
    state.add_scalar(std::string("/health/") + name + "_count", recent.count);
  };
  add("losses", losses_);
  add("norms", norms_);
  add("skips", skips_);
  state.add_scalar("/health/first_loss", first_loss_);
  state.let_last_be_missing();
  state.add_scalar("/health/vanishing_steps", vanishing_steps_);
  state.add_scalar("/health/high_norm_steps", high_steps_);
  state.add_host("/health/streaks", &streaks_.data()->vanishing,
                 {static_cast<std::int64_t>(streaks_.size()), 4});
}

void HealthWatch::require_valid(const std::string& source) const {
  for (const Recent* recent : {&losses_, &norms_, &skips_}) {
    if (recent->count < 0 || recent->count > static_cast<std::int64_t>(recent->values.size()))
      fail_input(errors::damaged, "{}: /health: {} values in a window of {}", source, recent->count,
                 recent->values.size());
    if (!std::all_of(recent->values.begin(), recent->values.end(), [](double v) { return std::isfinite(v); }))
      fail_input(errors::damaged, "{}: /health: a window has a value that is not finite", source);
  }
  // Each step or inspection adds one.
  constexpr std::int64_t max_count = std::int64_t{1} << 60;
  const auto is_count = [](std::int64_t value) { return value >= -max_count && value <= max_count; };
  const auto is_valid = [&](const Streaks& streaks) {
    return is_count(streaks.vanishing) && is_count(streaks.dead) && is_count(streaks.dead_units) &&
           is_count(streaks.ratio);
  };
  if (!is_count(vanishing_steps_) || !is_count(high_steps_) ||
      !std::all_of(streaks_.begin(), streaks_.end(), is_valid))
    fail_input(errors::damaged, "{}: /health: a count of steps is out of range", source);
}

void HealthWatch::make_room(const CheckpointReader& saved, CheckpointState& state) {
  if (saved.exists("/health")) save(state);
}

}  // namespace mylos
