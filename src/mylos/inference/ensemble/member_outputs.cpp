#include "mylos/inference/ensemble/member_outputs.hpp"

#include "mylos/inference/predict.hpp"

namespace mylos {

void read_predictions(const StepContext& step, const ForwardPass& model, const Tensor& floats,
                      MemberOutputs& to) {
  const Chain& chain = model.chain();
  copy_outputs(step, model, floats, to.values);
  if (chain.has_deviations()) {
    to.deviations.resize(to.values.size());
    copy_deviations(step, model, floats.rows(), to.deviations);
  }
  interpret_outputs(chain.prediction(), chain.outputs(), Normalizer{}, to.values);
}

void append_truth(const Batch& batch, std::int64_t width, std::vector<float>& targets,
                  std::vector<std::int32_t>& labels) {
  if (batch.targets != nullptr)
    targets.insert(targets.end(), batch.targets, batch.targets + batch.samples * width);
  if (batch.labels != nullptr) labels.insert(labels.end(), batch.labels, batch.labels + batch.samples);
}

std::int64_t rounds_of(std::int64_t samples, std::int64_t piece, int ranks) {
  return share_of((samples + piece - 1) / piece, 0, ranks).count;
}

}  // namespace mylos
