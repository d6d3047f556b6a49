#include "mylos/train/health/float_layers.hpp"

#include "mylos/base/error.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/precision/loss_scaler.hpp"
#include "mylos/train/history/amendments.hpp"

namespace mylos {
namespace {

Chain chain_of(const Options& options) {
  return make_chain(options.model, options.precision, options.run.seed, false);
}

std::optional<DType> compute_type_of(const Chain& chain, const std::string& layer) {
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage)
    if (chain.stage_name(stage) == layer) return chain.signature(stage).compute_type;
  return std::nullopt;
}

}  // namespace

bool can_become_float(const Options& options, const std::string& layer) {
  if (layer.empty() || compute_type_of(chain_of(options), layer) != DType::fp16) return false;
  const Options changed = amended(options, {{.decision = {}, .float_layer = layer}});
  try {
    const Chain chain = chain_of(changed);
    require_rules_apply(chain, changed.precision);
    return compute_type_of(chain, layer) == DType::fp32;
  } catch (const Error&) {  // the rules cannot apply to it, or other layers share its weights
    return false;
  }
}

std::string first_that_can_become_float(const Options& options) {
  const Chain chain = chain_of(options);
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage)
    if (can_become_float(options, chain.stage_name(stage))) return chain.stage_name(stage);
  return "";
}

bool computes_in_half(const Options& options) {
  return chain_of(options).computes_in(DType::fp16);
}

ScalerMode scaler_mode_of(const Options& options) {
  return resolve_mode(options.precision.scaler.mode, computes_in_half(options));
}

}  // namespace mylos
