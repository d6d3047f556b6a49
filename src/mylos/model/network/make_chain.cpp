#include "mylos/model/network/make_chain.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/network.hpp"

namespace mylos {
namespace {

/// The last points of a grid would be left out.
void require_patches_fit(const ModelOptions& model) {
  const std::vector<std::int64_t>& shape = model.shape;
  const PerAxis& patch = model.patch;
  if (shape.size() < 2 || (patch.size() != 1 && patch.size() != shape.size() - 1)) return;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
    if (shape[axis] % along(patch, axis, 1) == 0) continue;
    fail_input(
        errors::data_mismatch,
        "model.patch = {} does not divide the {} points of axis {} of the samples; choose another patch, "
        "or cut the grid",
        along(patch, axis, 1), shape[axis], axis + 1);
  }
}

}  // namespace

Chain make_chain(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                 bool accumulates, bool input_gradients) {
  switch (model.type) {
    case ModelType::gpt:
      return make_gpt(model, precision, seed, accumulates);
    case ModelType::chain:
      return make_network(model, precision, seed, accumulates, input_gradients);
    case ModelType::cnn:
    case ModelType::resnet:
    case ModelType::unet:
    case ModelType::fno:
      return make_network(expand_short_form(model), precision, seed, accumulates, input_gradients);
    case ModelType::vit:
      require_patches_fit(model);
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
