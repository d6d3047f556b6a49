#include "mylos/inference/compute_weights.hpp"

#include "mylos/base/errors/internal.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {

ComputeWeights::ComputeWeights(const Chain& chain) : arena_("compute weights", memory_bytes(chain)) {
  place(chain, Pieces(arena_.data()));
  spans_.assign(stages_.begin(), stages_.end());
}

std::size_t ComputeWeights::memory_bytes(const Chain& chain) {
  return ComputeWeights().place(chain, Pieces(nullptr));
}

std::size_t ComputeWeights::place(const Chain& chain, Pieces pieces) {
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    std::vector<NamedTensor>& tensors = stages_.emplace_back();
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      const Tensor values = pieces.take_tensor(spec.type, spec.rows, spec.columns);
      tensors.emplace_back(spec.name, values);
      weights_.push_back({chain.stage_name(stage) + "/" + spec.name, stored_dims(spec), values});
    }
  }
  const auto borrowed = chain.head->borrows();
  if (!borrowed) return pieces.bytes();
  const Tensor shared = ParameterTensors(stages_[borrowed->block])[borrowed->name];
  const DType type = chain.head->signature().compute_type;
  if (type == shared.type()) {
    stages_.back().emplace_back(borrowed->own_name, shared);
    return pieces.bytes();
  }
  const Tensor values = pieces.take_tensor(type, shared.rows(), shared.columns());
  stages_.back().emplace_back(borrowed->own_name, values);
  for (const ParameterSpec& spec : chain.stage_parameters(borrowed->block)) {
    if (spec.name != borrowed->name) continue;
    weights_.push_back({chain.stage_name(borrowed->block) + "/" + spec.name, stored_dims(spec), values});
  }
  return pieces.bytes();
}

CheckpointState ComputeWeights::state(bool average) const {
  CheckpointState state;
  for (const Weight& weight : weights_)
    state.add_weights(parameter_path(weight.path, average), 0, weight.values, weight.dims, false);
  return state;
}

void ComputeWeights::copy(const Execution& exec, const ParameterStore& from) const {
  if (const std::size_t stages = from.layout().slots_of_block.size(); stages != stages_.size())
    fail_run(errors::internal, "{} stages with weights here, but {} in the model", stages_.size(), stages);
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const std::span<const NamedTensor> source = from.weights(stage);
    if (source.size() != stages_[stage].size())
      fail_run(errors::internal, "stage {} has {} weights here, but {} in the model", stage,
               stages_[stage].size(), source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      const NamedTensor& to = stages_[stage][i];
      if (to.name != source[i].name || to.type() != source[i].type())
        fail_run(errors::internal, "stage {}: weight {} differs in name or type from the model's {}", stage,
                 to.name, source[i].name);
      convert(exec, source[i], to);
    }
  }
}

}  // namespace mylos
