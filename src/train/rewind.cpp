#include "mylos/train/rewind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/model/make_chain.hpp"
#include "mylos/train/health_watch.hpp"

namespace mylos {
namespace {

bool is_rewind(const Amendment& amendment) {
  return amendment.decision.kind == "rewind";
}

std::optional<DType> compute_type_of(const Chain& chain, const std::string& layer) {
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage)
    if (chain.stage_name(stage) == layer) return chain.signature(stage).compute_type;
  return std::nullopt;
}

ScalerMode scaler_mode_of(const Options& options) {
  const Chain chain = make_chain(options.model, options.precision, options.run.seed, false);
  return resolve_mode(options.precision.scaler.mode, chain.computes_in(DType::fp16));
}

/// Data that no type makes finite: the same batches come again.
bool is_of_the_data(const Divergence& divergence, const Options& options) {
  return divergence.fault && divergence.fault->tensor == "input" &&
         !can_become_float(options, divergence.fault->layer);
}

bool is_of_a_gradient(const Divergence& divergence) {
  return divergence.fault && divergence.fault->tensor.ends_with("gradient");
}

std::string describe_changes(const Amendment& amendment, const Options& options) {
  std::vector<std::string> changes;
  if (!amendment.float_layer.empty())
    changes.push_back(fmt::format("precision.rules: {} = \"fp32\"", amendment.float_layer));
  if (amendment.lr_factor != 1) {
    changes.push_back(fmt::format("optimizer.lr = {:.3g}, {:g} of what it was",
                                  amendment.lr_factor * options.optimizer.lr, amendment.lr_factor));
  }
  if (amendment.scale_factor != 1)
    changes.push_back(fmt::format("a loss scale {:g} of what it was there", amendment.scale_factor));
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace

std::uint64_t first_of_last_skips(const History& history) {
  const auto& rows = history.tail();
  std::uint64_t first = rows.empty() ? 1 : rows.back().record.step + 1;
  for (auto row = rows.rbegin(); row != rows.rend() && row->record.overflow != 0; ++row)
    first = row->record.step;
  return first;
}

std::int64_t count_returns(const Amendments& amendments) {
  return std::count_if(amendments.begin(), amendments.end(), is_rewind);
}

bool has_returned_last_to(std::int64_t step, const Amendments& amendments) {
  const auto last = std::find_if(amendments.rbegin(), amendments.rend(), is_rewind);
  return last != amendments.rend() && last->from == static_cast<std::uint64_t>(step);
}

bool can_become_float(const Options& options, const std::string& layer) {
  const auto chain_of = [&options](const PrecisionOptions& precision) {
    return make_chain(options.model, precision, options.run.seed, false);
  };
  if (layer.empty() || compute_type_of(chain_of(options.precision), layer) != DType::fp16) return false;
  const Options changed = amended(options, {{.decision = {}, .float_layer = layer}});
  try {
    const Chain chain = chain_of(changed.precision);
    require_rules_apply(chain, changed.precision);
    return compute_type_of(chain, layer) == DType::fp32;
  } catch (const Error&) {  // rules do not speak of it, or others share its weights
    return false;
  }
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

}  // namespace mylos
