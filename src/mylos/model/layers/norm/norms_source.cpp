#include <cmath>

#include "mylos/model/layers/norm/batch_norm_block.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {
namespace {

std::vector<double> doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

bool NormBlock::write_source(SourceLayer& layer) const {
  SourceNorm norm{options_.norm.type, options_.norm.epsilon, layer.parameter("weight"), {}};
  if (options_.norm.has_bias()) norm.bias = layer.parameter("bias");
  layer.append(std::move(norm), layer.width(), options_.points());
  return true;
}

bool BatchNormBlock::write_source(SourceLayer& layer) const {
  SourceBatchNorm norm{doubles(layer.parameter("running_mean")), doubles(layer.parameter("weight")),
                       doubles(layer.parameter("bias"))};
  const std::vector<float> variance = layer.parameter("running_variance");
  for (std::size_t i = 0; i < variance.size(); ++i)
    norm.scale[i] /= std::sqrt(static_cast<double>(variance[i]) + static_cast<double>(options_.epsilon));
  layer.append(std::move(norm), layer.width(), options_.grid.points());
  layer.append_activation(options_.activation);
  return true;
}

}  // namespace mylos
