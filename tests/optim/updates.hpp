// Networks to update, and what a step decides about their update.
#pragma once

#include <cmath>

#include "mylos/optim/optimizer.hpp"

namespace mylos::test {

inline Chain chain_of(std::vector<std::int64_t> hidden, std::int64_t inputs, std::int64_t outputs,
                      DType compute, GradientType gradient = GradientType::automatic) {
  ModelOptions model;
  model.hidden = std::move(hidden);
  model.norm = NormType::layernorm;
  model.inputs = inputs;
  model.outputs = outputs;
  PrecisionOptions precision;
  precision.compute = compute;
  precision.gradient = gradient;
  return make_mlp(model, precision, 1, false);
}

inline UpdateControl control_of(const OptimizerOptions& options, int time, float gradient_factor) {
  UpdateControl control;
  control.apply = 1;
  control.gradient_factor = gradient_factor;
  control.lr = static_cast<float>(options.lr);
  control.bias_correction1 = static_cast<float>(1 - std::pow(options.beta1, time));
  control.bias_correction2 = static_cast<float>(1 - std::pow(options.beta2, time));
  return control;
}

}  // namespace mylos::test
