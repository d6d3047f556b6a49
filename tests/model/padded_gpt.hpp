// A GPT whose rows end in padding, with types that differ between layers: sharding must handle both.
#pragma once

#include <utility>

#include "mylos/model/network/gpt.hpp"

namespace mylos::test {

inline ModelOptions padded_gpt_options(std::int64_t layers, bool tied = true) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = layers;
  model.heads = 2;
  model.width = 20;
  model.context = 6;
  model.vocabulary = 70;
  model.tied = tied;
  return model;
}

inline PrecisionOptions precision_of(DType compute, std::vector<PrecisionRule> rules,
                                     GradientType gradient = GradientType::automatic) {
  PrecisionOptions precision;
  precision.compute = compute;
  precision.rules = std::move(rules);
  precision.gradient = gradient;
  return precision;
}

}  // namespace mylos::test
