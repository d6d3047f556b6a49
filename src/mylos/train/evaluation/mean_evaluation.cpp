#include "mylos/train/evaluation/mean_evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/uncertainty/evaluated_rows.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/evaluation/evaluated_sums.hpp"
#include "mylos/train/evaluation/measures/wanted_measures.hpp"

namespace mylos {
namespace {

/// The network with a head that reads floats: the mean is not rounded to 16 bits.
Chain float_chain(const Options& options) {
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  return make_chain(options.model, precision, options.run.seed, false);
}

/// Returns what the head would read if a network predicted the mean: its outputs, of classes the logarithms
/// of probabilities, of probabilities their logits.
std::vector<float> head_inputs(const Chain& chain, const UncertainBatch& batch) {
  std::vector<float> inputs = batch.mean;
  constexpr float least = std::numeric_limits<float>::min();
  if (chain.prediction() == Prediction::classes) {
    for (float& value : inputs) value = std::log(std::max(value, least));
  } else if (chain.prediction() == Prediction::probabilities) {
    for (float& value : inputs) {
      const double p = std::clamp<double>(value, least, 1 - 0x1p-24);
      value = static_cast<float>(std::log(p / (1 - p)));
    }
  } else if (chain.has_deviations()) {
    const TargetShape shape = target_shape(chain);  // of each point all means, then all log variances
    inputs.clear();
    const auto channels = static_cast<std::size_t>(shape.channels);
    for (std::size_t first = 0; first < batch.mean.size(); first += channels) {
      inputs.insert(inputs.end(), batch.mean.begin() + static_cast<std::ptrdiff_t>(first),
                    batch.mean.begin() + static_cast<std::ptrdiff_t>(first + channels));
      for (std::size_t c = first; c < first + channels; ++c)
        inputs.push_back(static_cast<float>(2 * std::log(static_cast<double>(batch.deviation[c]))));
    }
  }
  return inputs;
}

/// Adds up the loss of means by the head of the network.
class MeanLoss {
 public:
  MeanLoss(const Execution& exec, const Engines& engines, const Chain& chain)
      : exec_(exec),
        engines_(engines),
        chain_(chain),
        constants_(chain),
        batch_("batch sums"),
        sums_("sums") {}

  void add(const UncertainBatch& batch) {
    const std::int64_t samples = batch.samples.count;
    const std::vector<float> inputs = head_inputs(chain_, batch);
    const auto on_device = copied<float>(inputs);
    const auto targets = copied<float>(batch.targets);
    const auto labels = copied<std::int32_t>(batch.labels);
    const Arena workspace("loss", chain_.head->cost(engines_, samples).workspace);
    const auto width = static_cast<std::int64_t>(inputs.size()) / samples;
    const LossMemory memory{.weights = {},
                            .input = ConstTensor(on_device.data(), DType::fp32, samples, width),
                            .workspace = workspace.data(),
                            .constants = constants_.constants()};
    const Truth truth{.labels = batch.labels.empty() ? nullptr : labels.data(),
                      .targets = batch.targets.empty() ? nullptr : targets.data()};
    const StepContext step{.exec = exec_, .engines = engines_, .training = false};
    chain_.head->evaluate(step, memory, truth, batch_.data());
    move_into(exec_, batch_.data(), sums_.data());
    exec_.fence("loss of means");
    rows_ += samples;
  }

  void set(RankGroup& ranks, Evaluation& result) const {
    EvaluatedSums own;
    Kokkos::deep_copy(Kokkos::View<EvaluatedSums, Kokkos::HostSpace>(&own), sums_);
    set_loss_and_accuracy(ranks, own, rows_, result);
  }

 private:
  template <class T>
  static Kokkos::View<T*, Device> copied(const std::vector<T>& values) {
    const Kokkos::View<T*, Device> view("means", values.size());
    Kokkos::deep_copy(view, Kokkos::View<const T*, Kokkos::HostSpace>(values.data(), values.size()));
    return view;
  }

  const Execution& exec_;
  Engines engines_;
  const Chain& chain_;
  BufferStore constants_;
  Kokkos::View<LossSums, Device> batch_;
  Kokkos::View<EvaluatedSums, Device> sums_;
  std::int64_t rows_ = 0;
};

}  // namespace

Evaluation evaluate_mean(const Quiesced& /*quiet*/, const Execution& exec, const Engines& engines,
                         Communicator& communicator, const Options& options, UncertainPass& pass,
                         std::span<const Measure> wanted, const ColumnScaling& targets,
                         const ObserveUncertain& observe) {
  RankGroup& ranks = communicator.ranks();
  communicator.synchronize(exec);
  std::optional<Chain> chain;
  std::optional<WantedMeasures> measures;
  std::optional<MeanLoss> loss;
  run_on_all(ranks, [&] {
    chain.emplace(float_chain(options));
    measures.emplace(wanted, *chain, targets);
    loss.emplace(exec, engines, *chain);
  });
  pass.run([&](UncertainBatch& batch) {
    run_on_all(ranks, [&] {
      if (batch.samples.count == 0) return;
      const Batch rows{.labels = batch.labels.data(),
                       .targets = batch.targets.data(),
                       .samples = batch.samples.count,
                       .rows = batch.samples.count};
      measures->add(batch.mean, batch.deviation, rows);
      loss->add(batch);
      if (observe) observe(batch);
    });
  });
  Evaluation result = (*std::move(measures)).add_up(ranks);
  loss->set(ranks, result);
  return result;
}

}  // namespace mylos
