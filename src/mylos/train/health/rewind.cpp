#include "mylos/train/health/rewind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mylos/train/health/float_layers.hpp"
#include "mylos/train/health/health_watch.hpp"

namespace mylos {
namespace {

bool is_of_a_gradient(const Divergence& divergence) {
  return divergence.fault && divergence.fault->tensor.ends_with("gradient");
}

std::optional<CheckpointFile> find_regular(std::int64_t step, std::int64_t every,
                                           const FindCheckpoint& find) {
  std::optional<CheckpointFile> file = find(step);
  while (file && every > 0 && file->step % every != 0) file = find(file->step);
  return file;
}

ReturnPlan no_return(std::string obstacle) {
  return {.amendment = std::nullopt, .checkpoint = "", .obstacle = std::move(obstacle)};
}

}  // namespace

std::uint64_t first_of_last_skips(const History& history) {
  const auto& rows = history.tail();
  std::uint64_t first = rows.empty() ? 1 : rows.back().record.step + 1;
  for (auto row = rows.rbegin(); row != rows.rend() && row->record.overflow != 0; ++row)
    first = row->record.step;
  return first;
}

bool is_rewind(const Amendment& amendment) {
  return amendment.decision.kind == "rewind";
}

bool is_of_the_data(const Divergence& divergence, const Options& options) {
  return divergence.fault && divergence.fault->tensor == "input" &&
         !can_become_float(options, divergence.fault->layer);
}

std::int64_t count_returns(const Amendments& amendments) {
  return std::count_if(amendments.begin(), amendments.end(), is_rewind);
}

bool has_returned_last_to(std::int64_t step, const Amendments& amendments) {
  const auto last = std::find_if(amendments.rbegin(), amendments.rend(), is_rewind);
  return last != amendments.rend() && last->from == static_cast<std::uint64_t>(step);
}

std::optional<Amendment> amendment_after(const Divergence& divergence, const Options& options,
                                         const Amendments& before, std::int64_t from, bool again) {
  if (is_of_the_data(divergence, options)) return std::nullopt;
  const HealthOptions& health = options.health;
  const std::string layer = divergence.fault ? divergence.fault->layer : "";
  const bool is_not_finite = divergence.cause == health_cause::not_finite;
  Amendment amendment{.decision = {divergence.first, "rewind", divergence.cause, layer, ""},
                      .from = static_cast<std::uint64_t>(from)};
  const ScalerMode mode = scaler_mode_of(options);
  if (is_not_finite && mode != ScalerMode::off) amendment.scale_factor = health.rewind_scale_factor;
  const bool scale_was_too_large =
      mode == ScalerMode::fixed && amendment.scale_factor != 1 && is_of_a_gradient(divergence);
  if (!scale_was_too_large || again) {
    if (is_not_finite && health.rewind_float && can_become_float(options, layer))
      amendment.float_layer = layer;
    if (amendment.float_layer.empty() || again) amendment.lr_factor = health.rewind_lr_factor;
  }
  if (scaler_mode_of(amended(options, {amendment})) == ScalerMode::off) amendment.scale_factor = 1;
  const std::string changes = describe_changes(amendment, options);
  if (changes.empty()) return std::nullopt;
  amendment.decision.text =
      fmt::format("{}; back to step {} with {} (return {} of at most {})", divergence.text, from, changes,
                  count_returns(before) + 1, health.rewinds);
  return amendment;
}

std::optional<Divergence> loss_jump_of(const RunEvent& event, const HealthOptions& options) {
  const bool leads_back = options.on_divergence == OnDivergence::rewind && options.rewind_on_loss;
  if (!leads_back || event.cause != health_cause::loss) return std::nullopt;
  return Divergence{.first = event.step,
                    .cause = event.cause,
                    .text = event.text.substr(0, event.text.find("; try "))};  // without the advice
}

ReturnPlan plan_return(const Divergence& divergence, const Options& options, const Amendments& before,
                       const FindCheckpoint& find) {
  const HealthOptions& health = options.health;
  if (health.on_divergence == OnDivergence::stop) return no_return("");
  if (count_returns(before) >= health.rewinds)
    return no_return(fmt::format("it has done so {} times (health.rewinds)", health.rewinds));
  const std::int64_t every = options.checkpoint.every;
  const auto first = static_cast<std::int64_t>(divergence.first);
  std::optional<CheckpointFile> target = find_regular(first, every, find);
  if (!target) {
    return no_return(
        fmt::format("it has no checkpoint from before step {}; a smaller checkpoint.every, or a larger "
                    "keep_last, would leave one",
                    first));
  }
  const bool again = has_returned_last_to(target->step, before);
  if (again) {
    if (auto older = find_regular(target->step, every, find)) target = std::move(older);
  }
  std::optional<Amendment> amendment = amendment_after(divergence, options, before, target->step, again);
  if (!amendment) {
    return no_return(divergence.fault && divergence.fault->tensor == "input"
                         ? "the data themselves are not finite, and would be so again"
                         : "the deck leaves it nothing to change (health.rewind_lr_factor)");
  }
  return {.amendment = std::move(amendment), .checkpoint = target->path, .obstacle = ""};
}

ScalerState scaler_after_return(ScalerState state, const Options& options, const Amendment& last) {
  const ScalerOptions& scaler = options.precision.scaler;
  const ScalerMode mode = scaler_mode_of(options);
  if (mode == ScalerMode::off) {
    state.scale = initial_scaler_state(scaler, mode).scale;
    return state;
  }
  const double min_scale = std::min<double>(state.scale, scaler.min_scale);
  const double scale = static_cast<double>(state.scale) * last.scale_factor;
  state.scale = static_cast<float>(std::max(scale, min_scale));
  if (last.scale_factor != 1) state.good_steps = 0;
  return state;
}

}  // namespace mylos
