#include "mylos/train/evaluation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "mylos/comm/collective_error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/train/staging.hpp"

namespace mylos {
namespace {

/// Runs the network over all batches of a pass, and `after` on each.
void pass_over(const InferenceContext& context, EvaluationPass& pass,
               const std::function<void(const StepContext&, const MicroBatch&, const Batch&)>& after) {
  const Staging staging(context.model.chain(), context.model.samples());
  pass.rewind();
  while (const Batch* batch = pass.next()) {
    const MicroBatch staged = staging.stage(context.exec, *batch);
    const StepContext step{.exec = context.exec, .gemm = context.gemm, .training = false};
    context.model.forward(step, staged.inputs);
    after(step, staged, *batch);
  }
}

}  // namespace

Judged judged_by(const Chain& chain) {
  if (chain.loss() == LossType::mse) return Judged::targets;
  return chain.input_type() == DType::int32 ? Judged::tokens : Judged::classes;
}

double Evaluation::perplexity() const {
  return std::exp(loss);
}

Evaluation evaluate(const InferenceContext& context, Communicator& communicator, EvaluationPass& pass) {
  struct Part {
    LossSums sums;
    std::int64_t rows = 0;
  } own;
  RankGroup& ranks = communicator.ranks();
  communicator.synchronize(context.exec);
  run_on_all(ranks, [&] {
    const Kokkos::View<LossSums, Device> sums("evaluation sums");
    pass_over(context, pass, [&](const StepContext& step, const MicroBatch& staged, const Batch& batch) {
      context.model.loss(step, staged.truth, sums.data());
      own.rows += batch.rows;
    });
    context.exec.fence("evaluation");
    Kokkos::deep_copy(Kokkos::View<LossSums, Kokkos::HostSpace>(&own.sums), sums);
  });

  std::vector<Part> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(own));
  Evaluation result{.judged = judged_by(context.model.chain())};
  double correct = 0;
  for (const Part& part : all) {
    result.count += part.rows;
    result.loss += part.sums.loss;
    correct += static_cast<double>(part.sums.correct);
  }
  result.loss /= static_cast<double>(result.count);
  result.accuracy = correct / static_cast<double>(result.count);
  return result;
}

void predict(const InferenceContext& context, EvaluationPass& pass,
             const std::function<void(const Batch&, std::span<float>)>& consume) {
  const Chain& chain = context.model.chain();
  const std::int64_t rows = context.model.samples();
  const Arena floats("predictions",
                     aligned_bytes(static_cast<std::size_t>(rows * chain.outputs()) * sizeof(float)));
  std::vector<float> on_host;
  pass_over(context, pass, [&](const StepContext& step, const MicroBatch&, const Batch& batch) {
    const Tensor values = floats.tensor(0, DType::fp32, batch.samples, chain.outputs());
    convert(step.exec, context.model.head_outputs(step, 0, batch.samples), values);
    step.exec.fence("predictions");
    on_host.resize(static_cast<std::size_t>(values.size()));
    Kokkos::deep_copy(Kokkos::View<float*, Kokkos::HostSpace>(on_host.data(), on_host.size()),
                      values.flat<float>());
    consume(batch, on_host);
  });
}

std::string describe(const Evaluation& evaluation) {
  switch (evaluation.judged) {
    case Judged::targets:
      return fmt::format("loss {:.6g} ({} samples)", evaluation.loss, evaluation.count);
    case Judged::tokens:
      return fmt::format("loss {:.4f}, perplexity {:.2f}, accuracy {:.4f} ({} tokens)", evaluation.loss,
                         evaluation.perplexity(), evaluation.accuracy, evaluation.count);
    case Judged::classes:
      break;
  }
  return fmt::format("loss {:.4f}, accuracy {:.4f} ({} samples)", evaluation.loss, evaluation.accuracy,
                     evaluation.count);
}

}  // namespace mylos
