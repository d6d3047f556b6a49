#include "mylos/inference/infer.hpp"

#include "mylos/kernels/convert.hpp"

namespace mylos {

bool run_next_batch(const InferenceContext& context, const Staging& staging, EvaluationPass& pass,
                    const AfterBatch& after) {
  const Batch* batch = pass.next();
  if (batch == nullptr) return false;
  const MicroBatch staged = staging.stage(context.exec, *batch);
  if constexpr (!memory_is_host) context.exec.fence("staged batch");  // the pass fills its buffer again
  const StepContext step{.exec = context.exec, .engines = context.engines, .training = false};
  context.model.forward(step, staged.inputs);
  after(step, staged, *batch);
  return true;
}

std::size_t float_output_bytes(const Chain& chain, std::int64_t samples) {
  return aligned_bytes(static_cast<std::size_t>(samples * chain.outputs()) * sizeof(float));
}

void copy_outputs(const StepContext& context, const ForwardPass& model, const Tensor& floats,
                  std::vector<float>& to) {
  convert(context.exec, model.head_outputs(context, 0, floats.rows()), floats);
  context.exec.fence("predictions");
  to.resize(static_cast<std::size_t>(floats.size()));
  Kokkos::deep_copy(Kokkos::View<float*, Kokkos::HostSpace>(to.data(), to.size()), floats.flat<float>());
}

}  // namespace mylos
