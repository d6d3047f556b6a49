// InferenceContext: what a pass over data runs on.
#pragma once

#include "mylos/model/network/training_model.hpp"

namespace mylos {

class Communicator;

struct InferenceContext {
  /// `known_classes`: outputs from there on only pad the classifier; 0: none do.
  InferenceContext(const Execution& on, const Engines& its_engines, ForwardPass& pass,
                   std::int64_t known_classes = 0)
      : exec(on), engines(its_engines), model(pass), classes(known_classes) {}
  /// Evaluates with the weights of a training model, which are not copied.
  InferenceContext(const Execution& on, const Engines& its_engines, TrainingModel& trained,
                   std::int64_t known_classes = 0)
      : InferenceContext(on, its_engines, trained.evaluation(), known_classes) {}

  const Execution& exec;
  Engines engines;
  ForwardPass& model;
  std::int64_t classes;
  // Of ranks that share samples, and over which they exchange; both or neither.
  SampleRanks* sample_ranks = nullptr;
  Communicator* communicator = nullptr;
};

}  // namespace mylos
