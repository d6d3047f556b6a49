// InferenceContext: what a pass over data runs on.
#pragma once

#include "mylos/model/network/model.hpp"

namespace mylos {

struct InferenceContext {
  /// `known_classes`: outputs from there on only pad the classifier; 0: none do.
  InferenceContext(const Execution& on, GemmEngine& engine, ForwardPass& pass, std::int64_t known_classes = 0)
      : exec(on), gemm(engine), model(pass), classes(known_classes) {}
  /// Evaluates with the weights of a training model, which are not copied.
  InferenceContext(const Execution& on, GemmEngine& engine, Model& trained, std::int64_t known_classes = 0)
      : InferenceContext(on, engine, trained.evaluation(), known_classes) {}

  const Execution& exec;
  GemmEngine& gemm;
  ForwardPass& model;
  std::int64_t classes;
};

}  // namespace mylos
