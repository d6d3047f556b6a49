// A step of a network of samples in boxes, one on each rank, against the same step of whole samples.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/convolution_case.hpp"
#include "model/listed_layers.hpp"
#include "model/mpi_sample_ranks.hpp"
#include "model/schedules.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/memory/pass_calls.hpp"
#include "mylos/model/network/grid_units.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/training_model.hpp"

namespace mylos::parts_of_samples_test {

inline constexpr std::int64_t rows = 2;
inline constexpr std::uint64_t seed = 9;

/// For statistics over all ranks.
class AllRanks final : public SumsOverRanks {
 public:
  explicit AllRanks(const GridPart& part) : ranks_(part) {}
  void add_up(const Execution& exec, const Tensor& sums) override { ranks_.add_up(exec, sums); }

 private:
  test::MpiSampleRanks ranks_;
};

struct Result {
  std::vector<float> outputs, input_gradient;
  std::vector<double> gradients, sums;  // of all parameters; for the running statistics
  double loss = 0;
  SampleExchangeSizes exchanges;
  std::vector<SampleCall> calls;  // that its blocks state
};

struct Batch {
  explicit Batch(const ModelOptions& model)
      : inputs(test::random_values(DType::fp32, rows * model.inputs, -1, 1, 1)),
        targets(test::random_values(DType::fp32, rows * model.outputs, -1, 1, 2)) {
    if (!model.has_missing_targets) return;  // more and more towards the end of a sample
    for (std::int64_t i = 0; i < rows * model.outputs; ++i)
      if (i % 7 * model.outputs < i % model.outputs * 8) targets[static_cast<std::size_t>(i)] = NAN;
  }

  std::vector<float> inputs, targets;
  std::vector<std::int32_t> labels{1, 3};
};

inline Tensor tensor_in(const Arena& arena, const std::vector<float>& values, DType type) {
  const Tensor tensor(arena.data(), type, rows, static_cast<std::int64_t>(values.size()) / rows);
  test::set_values(tensor, values);
  return tensor;
}

/// Without it the first layer computes none.
inline bool wants_input_gradient(DType compute) {
  return compute == DType::fp32;
}

/// How a pass is computed: all is kept, or blocks run again.
using Way = std::function<std::optional<Schedule>(const Chain&, const Engines&)>;

inline std::optional<Schedule> keeping_all(const Chain& /*chain*/, const Engines& /*engines*/) {
  return std::nullopt;
}

/// Every block keeps as little as it can.
template <class Make>
Way running_again(const Make& make) {
  return [make](const Chain& chain, const Engines& engines) {
    return std::optional(make(chain.blocks.size(), [&](std::size_t block) {
      return chain.blocks[block]->cost(engines, rows).variants.size() - 1;
    }));
  };
}

/// One step of a network whose batch is that of a rank, by gradients of the mean over all ranks' rows.
/// `is_reproducible`: as in such runs, by gradients of the mean over a rank's rows of each box of sums.
inline Result step_of(const ModelOptions& options, DType compute, const Batch& batch, SampleRanks* ranks,
                      const Way& way = keeping_all, bool is_reproducible = false) {
  const Execution exec;
  const auto engines = make_engines({.gemm = is_reproducible ? GemmChoice::tiles : GemmChoice::automatic});
  PrecisionOptions precision;
  if (is_reproducible) precision.gradient = GradientType::fp32;
  precision.compute = compute;
  const Chain chain = make_chain(options, precision, seed, false, wants_input_gradient(compute));
  TrainingModel model(chain, *engines, rows, 1 << 20, 1, way(chain, *engines));
  model.parameters().initialize(exec, seed);
  const Arena arena("input", 1 << 18), numbers("targets", 1 << 18), labels("labels", 4096);
  const Tensor input = tensor_in(arena, batch.inputs, chain.input_type());
  tensor_in(numbers, batch.targets, DType::fp32);
  test::copy_to_device(batch.labels.data(), labels.data(), batch.labels.size() * sizeof(std::int32_t));
  Truth truth;
  if (chain.prediction() == Prediction::classes) {
    truth.labels = reinterpret_cast<const std::int32_t*>(labels.data());
  } else {
    truth.targets = reinterpret_cast<const float*>(numbers.data());
  }
  const test::DeviceValue<std::uint64_t> step(3);
  const test::DeviceValue<float> scale(64.0f);
  const test::DeviceValue<LossSums> sums;
  std::optional<AllRanks> all;
  if (ranks != nullptr) all.emplace(options.part);
  const StepContext context{.exec = exec,
                            .engines = *engines,
                            .step = step.data(),
                            .ranks = all ? &*all : nullptr,
                            .sample_ranks = ranks};
  model.begin_step(exec);
  model.forward(context, input);
  const float of_mean = 1.0f / static_cast<float>(options.part.count() * rows);
  const float of_boxes = static_cast<float>(options.part.sum_boxes()) / rows;
  model.loss_and_seed(context, truth, {scale.data(), is_reproducible ? of_boxes : of_mean, false},
                      sums.data());
  Result result;
  result.outputs = test::values_of(model.output());
  model.backward(
      context, false, [](std::size_t) {}, nullptr, wants_input_gradient(compute));
  exec.fence();
  if (wants_input_gradient(compute)) result.input_gradient = test::values_of(model.input_gradient());
  for (const ParameterSlot& slot : model.parameters().layout().slots) {
    const std::vector<double> gradient = test::doubles_of(model.parameters().gradient(slot));
    result.gradients.insert(result.gradients.end(), gradient.begin(), gradient.end());
  }
  if (!model.buffers().sums().empty()) {
    result.sums.resize(static_cast<std::size_t>(model.buffers().sums().size()));
    test::copy_to_host(model.buffers().sums().data(), result.sums.data(), model.buffers().sums().bytes());
  }
  result.loss = sums.get().loss;
  result.exchanges = sample_exchanges(chain, rows);
  const PassCalls calls = calls_of_pass(chain, model.schedule(), rows);
  result.calls = calls.forward;
  result.calls.insert(result.calls.end(), calls.backward.begin(), calls.backward.end());
  return result;
}

template <class Values>
void expect_near(const Values& found, const Values& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double size = 0, largest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    size = std::max(size, std::abs(static_cast<double>(expected[i])));
    const double error = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    if (!(error <= largest)) {
      largest = error;
      at = i;
    }
  }
  EXPECT_GT(size, 0) << what;
  EXPECT_LE(largest, tolerance * size) << what << ", number " << at << " of " << found.size();
}

inline LayerOptions with_norm(LayerOptions layer, NormType norm, Activation activation = Activation::gelu) {
  layer.norm = norm;
  layer.norm_groups = 2;
  layer.activation = activation;
  return layer;
}

inline ModelOptions field(std::vector<std::int64_t> shape, std::int64_t channels,
                          std::vector<LayerOptions> layers) {
  ModelOptions model = test::model_on(std::move(shape), 0, std::move(layers));
  model.outputs = model.inputs / model.shape.back() * channels;
  model.loss = losses::Mse{};
  return model;
}

inline GridShape grid_of_sample(const ModelOptions& model, std::int64_t numbers) {
  GridShape grid = grid_of(model.shape);
  grid.channels = numbers / grid.points();
  return grid;
}

/// What runs forward again exchanges again, and the numbers are the same.
inline void expect_the_same_again(const ModelOptions& of_box, const Batch& own, const Result& kept,
                                  const std::string& what) {
  std::vector<Way> ways{
      running_again([](std::size_t blocks, const auto& variant) { return test::every(2, blocks, variant); })};
  for (const unsigned number : {1u, 2u}) {
    ways.push_back(running_again([number](std::size_t blocks, const auto& variant) {
      return test::RandomSchedule(blocks, number, variant).schedule();
    }));
  }
  for (const Way& way : ways) {
    test::MpiSampleRanks ranks(of_box.part);
    const Result again = step_of(of_box, DType::fp32, own, &ranks, way);
    EXPECT_EQ(again.calls, ranks.calls) << what;
    EXPECT_GE(again.calls.size(), kept.calls.size()) << what;
    EXPECT_EQ(again.gradients, kept.gradients) << what;
  }
}

/// Returns the part as a run divides the network's samples: with the units of its grids.
inline GridPart part_for(const ModelOptions& model, GridPart part) {
  const std::size_t axes = model.shape.size() - 1;
  const std::vector<std::int64_t> space(part.boxes.end() - static_cast<std::ptrdiff_t>(axes),
                                        part.boxes.end());
  const std::vector<std::int64_t> units = grid_units(model, {}, space);
  std::copy(units.begin(), units.end(), part.units.end() - static_cast<std::ptrdiff_t>(units.size()));
  return part;
}

/// Whether the boxes that are tested differ, so that the test is one of those.
enum class Boxes { equal, uneven };

/// `boxes`: which divisions are tested.
inline void expect_parts(const ModelOptions& model, const std::string& name, DType compute = DType::fp32,
                         Boxes boxes = Boxes::equal) {
  const Batch batch(model);
  const Result whole = step_of(model, compute, batch, nullptr);
  const bool is_vector = make_chain(model, {}, seed, false).grids.back().points() == 1;
  std::size_t tested = 0;
  for (const GridPart& own_part : test::own_parts()) {
    const GridShape input = grid_of(model.shape);
    const GridPart part = part_for(model, own_part);
    if (!test::divides(part, input.extent) || part.is_uneven() != (boxes == Boxes::uneven)) continue;
    ++tested;
    ModelOptions of_box = model;
    of_box.part = part;
    Batch own = batch;
    own.inputs = test::cropped(batch.inputs, input, part);
    if (!is_vector) own.targets = test::cropped(batch.targets, grid_of_sample(model, model.outputs), part);
    test::MpiSampleRanks ranks(part);
    const Result box = step_of(of_box, compute, own, &ranks);
    const std::string what =
        fmt::format("{} in {} x {} x {} boxes", name, part.boxes[0], part.boxes[1], part.boxes[2]);
    const double tolerance = compute == DType::fp32 ? 2e-5 : 0.05;
    const auto numbers = static_cast<std::int64_t>(whole.outputs.size()) / rows;
    const std::vector<float> outputs =
        is_vector ? whole.outputs : test::cropped(whole.outputs, grid_of_sample(model, numbers), part);
    expect_near(box.outputs, outputs, tolerance, what + ": outputs");
    if (wants_input_gradient(compute)) {
      expect_near(box.input_gradient, test::cropped(whole.input_gradient, input, part), tolerance,
                  what + ": input gradient");
    }
    expect_near(test::summed(box.gradients), whole.gradients, tolerance, what + ": gradients");
    EXPECT_NEAR(test::summed({box.loss})[0] / static_cast<double>(part.count()), whole.loss,
                tolerance * std::abs(whole.loss))
        << what;
    if (!whole.sums.empty())
      expect_near(test::summed(box.sums), whole.sums, tolerance, what + ": statistics");
    EXPECT_EQ(box.exchanges.faces, ranks.largest.faces) << what;
    EXPECT_EQ(box.exchanges.sums, ranks.largest.sums) << what;
    EXPECT_EQ(box.calls, ranks.calls) << what;
    if (compute == DType::fp32) expect_the_same_again(of_box, own, box, what);
  }
  if (boxes == Boxes::equal || test::world_size() > 1) {
    EXPECT_GT(tested, 0u) << name;
  }
}

}  // namespace mylos::parts_of_samples_test
