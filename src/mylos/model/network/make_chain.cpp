#include "mylos/model/network/make_chain.hpp"

#include <algorithm>

#include "mylos/model/chain/parts.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/network.hpp"

namespace mylos {

Chain make_chain(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                 bool accumulates, bool input_gradients) {
  if (model.part.has_boxes()) require_parts(model);
  switch (model.type) {
    case ModelType::gpt:
      return make_gpt(model, precision, seed, accumulates);
    case ModelType::chain:
      return make_network(model, precision, seed, accumulates, input_gradients);
    case ModelType::cnn:
    case ModelType::resnet:
    case ModelType::unet:
    case ModelType::fno:
    case ModelType::vit:
      return make_network(expand_short_form(model), precision, seed, accumulates, input_gradients);
    case ModelType::mlp:
      break;
  }
  return make_mlp(model, precision, seed, accumulates, input_gradients);
}

bool has_dropout(const ModelOptions& model) {
  return model.dropout > 0 || std::any_of(model.chain.begin(), model.chain.end(),
                                          [](const LayerOptions& layer) { return layer.dropout > 0; });
}

}  // namespace mylos
