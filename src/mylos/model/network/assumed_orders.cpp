#include "mylos/model/network/assumed_orders.hpp"

#include <algorithm>

#include "mylos/model/chain/short_forms.hpp"

namespace mylos {

std::vector<std::string> assumed_orders(const ModelOptions& model) {
  std::vector<std::string> lines;
  if (model.type == ModelType::mlp) {
    if (model.norm == NormType::none || model.hidden.empty()) return lines;
    lines.emplace_back(
        model.norm_first ? "order: hidden layers compute linear, norm, activation (model.norm_first = true)"
                         : "order: hidden layers compute linear, activation, norm; model.norm_first = true: "
                           "linear, norm, activation");
    return lines;
  }
  const std::vector<LayerOptions> layers = expand_short_form(model).chain;
  const auto any = [&](auto is) { return std::any_of(layers.begin(), layers.end(), is); };
  if (any([](const LayerOptions& layer) {
        return layer.norm != NormType::none && layer.activation != Activation::none;
      }))
    lines.emplace_back("order: norms precede the activation of their layer");
  for (const bool skip_first : {false, true}) {
    if (!any([&](const LayerOptions& layer) {
          const auto* concat = std::get_if<kinds::Concat>(&layer.kind);
          return concat != nullptr && concat->skip_first == skip_first;
        }))
      continue;
    lines.emplace_back(skip_first ? "order: concat is [skip, input] (skip_first = true)"
                                  : "order: concat is [input, skip]; skip_first = true: [skip, input], as "
                                    "PyTorch's cat([skip, up])");
  }
  return lines;
}

}  // namespace mylos
