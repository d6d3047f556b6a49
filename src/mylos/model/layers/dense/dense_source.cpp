#include "mylos/model/block/transpose.hpp"
#include "mylos/model/layers/dense/dense.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

bool Dense::write_source(SourceLayer& layer) const {
  SourceLinear linear;
  linear.weight = transpose(layer.parameter("weight"), options_.outputs, options_.inputs);
  linear.bias = layer.parameter("bias");
  layer.append(std::move(linear), options_.outputs);
  layer.append_activation(options_.activation);
  return true;
}

}  // namespace mylos
