// Evaluation: the mean loss, and the accuracy of a classifier, over a part of a dataset.
#pragma once

#include <functional>
#include <string>

#include "mylos/comm/communicator.hpp"
#include "mylos/data/evaluation_reader.hpp"
#include "mylos/model/model.hpp"

namespace mylos {

struct Evaluation {
  std::int64_t samples = 0;
  double loss = 0;
  double accuracy = 0;  // classification
};

/// What a pass over data runs on.
struct InferenceContext {
  const Execution& exec;
  GemmEngine& gemm;
  Model& model;
};

/// All ranks call it, each with a reader over its part; every rank gets the result over all of them.
[[nodiscard]] Evaluation evaluate(const InferenceContext& context, Communicator& communicator,
                                  EvaluationReader& reader);

/// Calls `consume` with the outputs of each batch, as floats [samples, outputs] on the host, in the reader's
/// order.
void predict(const InferenceContext& context, EvaluationReader& reader,
             const std::function<void(const Batch&, std::span<float>)>& consume);

/// "loss 0.3312, accuracy 0.8947 (10000 samples)"; without accuracy for a regression.
[[nodiscard]] std::string describe(const Evaluation& evaluation, LossType loss);

}  // namespace mylos
