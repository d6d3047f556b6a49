// Networks whose layers a test lists.
#pragma once

#include <string>
#include <vector>

#include "mylos/model/options.hpp"

namespace mylos::test {

inline LayerOptions conv(std::string name, std::int64_t outputs, PerAxis kernel, PerAxis stride = {}) {
  return {.kind = kinds::Conv{.kernel = std::move(kernel), .stride = std::move(stride)},
          .name = std::move(name),
          .outputs = outputs};
}

/// `shape`: of a sample, with the channels last.
inline ModelOptions model_on(std::vector<std::int64_t> shape, std::int64_t outputs,
                             std::vector<LayerOptions> layers) {
  ModelOptions model;
  model.type = ModelType::chain;
  model.shape = std::move(shape);
  model.inputs = 1;
  for (const std::int64_t extent : model.shape) model.inputs *= extent;
  model.outputs = outputs;
  model.chain = std::move(layers);
  return model;
}

}  // namespace mylos::test
