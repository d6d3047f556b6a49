#include "mylos/train/evaluation/evaluation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/train/evaluation/agreed_pass.hpp"
#include "mylos/train/evaluation/evaluated_sums.hpp"
#include "mylos/train/evaluation/measures/wanted_measures.hpp"

namespace mylos {
EvaluationKind evaluation_kind(const Chain& chain) {
  if (chain.prediction() != Prediction::classes) return EvaluationKind::targets;
  return chain.input_type() == DType::int32 ? EvaluationKind::tokens : EvaluationKind::classes;
}

double Evaluation::perplexity() const {
  return std::exp(loss);
}

std::size_t evaluation_bytes(const Chain& chain, std::int64_t samples, std::span<const Measure> measures) {
  return view_bytes(sizeof(LossSums)) + view_bytes(sizeof(EvaluatedSums)) +
         Staging::memory_bytes(chain, samples) + (measures.empty() ? 0 : float_output_bytes(chain, samples));
}

PartMemory evaluation_memory(const Chain& chain, std::int64_t samples, std::span<const Measure> measures) {
  const bool is_reserved = memory_is_host && measures.empty();
  return {{"evaluation on the device", is_reserved ? 0 : evaluation_bytes(chain, samples, measures)}};
}

EvaluationOptions evaluation_options(const NetworkPlan& network, int rank) {
  const Mesh mesh = network.mesh_of(rank);
  return {.type = network.chain.input_type(),
          .max_samples = network.step.micro_batch,
          .rank = mesh.batch_rank(),
          .ranks = mesh.batch_ranks(),
          .part = mesh.part(),
          .whole_batches = network.step.reproducible};
}

Evaluation evaluate(const Quiesced& /*quiet*/, const InferenceContext& context, Communicator& communicator,
                    EvaluationPass& pass, std::span<const Measure> wanted, const ObserveBatch& observe,
                    const ColumnScaling& targets) {
  EvaluatedSums own;
  std::int64_t rows = 0;
  const Chain& chain = context.model.chain();
  RankGroup& ranks = communicator.ranks();
  std::optional<WantedMeasures> measures;
  communicator.synchronize(context.exec);
  run_on_all(ranks, [&] {
    for (const Measure measure : wanted) {
      const std::string why =
          why_not_measured(measure, chain.loss(), evaluation_kind(chain) == EvaluationKind::tokens);
      if (!why.empty()) fail_input(errors::not_measured, "{} is not measured: {}", name_of(measure), why);
    }
    measures.emplace(wanted, chain, targets, pass.part());
    const bool reads_outputs = measures->reads_outputs();
    const bool counts = pass.counts();
    const Kokkos::View<LossSums, Device> batch_sums("batch sums");
    const Kokkos::View<EvaluatedSums, Device> sums("evaluation sums");
    const Staging staging(chain, context.model.samples());
    const Arena floats("outputs as floats",
                       reads_outputs ? float_output_bytes(chain, context.model.samples()) : 0);
    std::vector<float> outputs, deviations;
    const auto add_losses = [&](const StepContext& step, const MicroBatch& staged, const Batch& batch) {
      if (reads_outputs && counts) {
        copy_outputs(step, context.model, floats.tensor(0, DType::fp32, batch.samples, chain.outputs()),
                     outputs);
        if (measures->reads_deviations()) {
          deviations.resize(static_cast<std::size_t>(batch.samples * chain.outputs()));
          copy_deviations(step, context.model, batch.samples, deviations);
        }
        measures->add(outputs, deviations, batch);
      }
      if (observe) observe(step, batch);
      Truth truth = staged.truth;
      truth.classes = context.classes;
      context.model.loss(step, truth, batch_sums.data());
      move_into(context.exec, batch_sums.data(), sums.data());
      rows += batch.rows;
    };
    AgreedPass agreed(ranks, pass);
    EvaluationPass& batches = pass.boxes() > 1 ? agreed : pass;
    batches.rewind();
    while (run_next_batch(context, staging, batches, add_losses)) {
    }
    context.exec.fence("evaluation");
    Kokkos::deep_copy(Kokkos::View<EvaluatedSums, Kokkos::HostSpace>(&own), sums);
  });

  Evaluation result = (*std::move(measures)).add_up(ranks);
  set_loss_and_accuracy(ranks, own, rows, result, pass.boxes());
  return result;
}

std::string describe(const Evaluation& evaluation) {
  std::string measured;
  for (const Measure measure : all_measures) {
    const std::optional<double>& number = evaluation.measured[measure];
    if (!number) continue;
    const std::string_view label = traits_of(measure).label;
    measured += ", ";
    measured += measure == Measure::r2   ? describe_r2(*evaluation.targets)
                : is_of_classes(measure) ? fmt::format("{} {:.4f}", label, *number)
                                         : fmt::format("{} {:.6g}", label, *number);
  }
  switch (evaluation.kind) {
    case EvaluationKind::targets:
      return fmt::format("loss {:.6g}{} ({} samples)", evaluation.loss, measured, evaluation.count);
    case EvaluationKind::tokens:
      return fmt::format("loss {:.4f}, perplexity {:.2f}, accuracy {:.4f} ({} tokens)", evaluation.loss,
                         evaluation.perplexity(), evaluation.accuracy, evaluation.count);
    case EvaluationKind::classes:
      break;
  }
  return fmt::format("loss {:.4f}, accuracy {:.4f}{} ({} samples)", evaluation.loss, evaluation.accuracy,
                     measured, evaluation.count);
}

}  // namespace mylos
