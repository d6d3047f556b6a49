#include "mylos/inference/ensemble/member_outputs.hpp"

#include "mylos/inference/predict.hpp"

namespace mylos {

std::int64_t member_width(const Chain& chain) {
  return chain.outputs();
}

bool predicts_variances(const Chain& /*chain*/) {
  return false;
}

void read_outputs(const Chain& chain, std::vector<float>& outputs, MemberOutputs& to) {
  interpret_outputs(chain.loss(), chain.outputs(), Normalizer{}, outputs);
  to.values.swap(outputs);
}

void take_answers(const Batch& batch, std::int64_t width, std::vector<float>& targets,
                  std::vector<std::int32_t>& labels) {
  if (batch.targets != nullptr)
    targets.insert(targets.end(), batch.targets, batch.targets + batch.samples * width);
  if (batch.labels != nullptr) labels.insert(labels.end(), batch.labels, batch.labels + batch.samples);
}

std::int64_t rounds_of(std::int64_t samples, std::int64_t piece, int ranks) {
  return share_of((samples + piece - 1) / piece, 0, ranks).count;
}

}  // namespace mylos
