// Steps of a model under many execution schedules, compared bit by bit with the schedule that stores
// everything.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "model/guarded_block.hpp"
#include "model/schedules.hpp"
#include "model/scribbling_block.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/model/network/network.hpp"
#include "mylos/model/network/training_model.hpp"
#include "support/cases.hpp"

namespace mylos::test {

struct RecomputeCase {
  std::function<Chain()> chain;
  std::int64_t samples = 0;
  Tensor input;
  Truth truth;
};

class RecomputeTest {
 public:
  explicit RecomputeTest(RecomputeCase test) : test_(std::move(test)) {}

  /// Gradient arena, loss, and stages in the order in which their gradients were complete, for two
  /// micro-batches.
  struct Result {
    std::vector<std::vector<std::byte>> gradients;
    double loss = 0;
    std::vector<std::size_t> done;
    std::vector<std::string> observed;
    bool operator==(const Result&) const = default;
  };

  Result run(const std::optional<Schedule>& schedule) {
    Chain chain = test_.chain();
    scribble_between_operations(chain);
    TrainingModel model(std::move(chain), gemm_, test_.samples, 1 << 20, 1, schedule);
    model.parameters().initialize(exec_, 17);
    const std::int64_t rows = test_.samples * model.chain().rows_per_sample;
    Result result;
    sums_.set({});
    const Observer observer = [&](const Observation& seen) {
      result.observed.push_back(fmt::format("{} {}", seen.block, seen.tensor));
    };
    for (const bool second : {false, true}) {
      const StepContext context{
          .exec = exec_, .engines = gemm_, .step = step_.data(), .first_sample = second ? 900u : 100u};
      model.forward(context, test_.input, &observer);
      model.loss_and_seed(context, test_.truth, {scale_.data(), 1.0f / static_cast<float>(rows), second},
                          sums_.data(), &observer);
      model.backward(
          context, second, [&](std::size_t stage) { result.done.push_back(stage); }, &observer);
    }
    exec_.fence();
    for (const GradientBucket& bucket : model.parameters().layout().buckets) {
      result.gradients.push_back(bytes_of(model.parameters().gradient(bucket)));
    }
    result.loss = sums_.get().loss;
    return result;
  }

  /// Every variant for all blocks, every k, and random schedules with random variants.
  void expect_equal_bits() {
    const Result expected = run(std::nullopt);
    EXPECT_TRUE(std::isfinite(expected.loss));
    const Chain chain = test_.chain();
    const std::size_t blocks = chain.blocks.size();
    const ChainCost cost = chain_cost(chain, gemm_, test_.samples * chain.rows_per_sample);
    const auto expect = [&](const Schedule& schedule, const std::string& what) {
      const Result result = run(schedule);
      EXPECT_EQ(result.gradients, expected.gradients) << what;
      EXPECT_EQ(result.loss, expected.loss) << what;
      EXPECT_EQ(result.done, expected.done) << what;
      EXPECT_EQ(result.observed, expected.observed) << what;
    };
    for (std::size_t v = 0; v < 3; ++v) {
      const auto variant = [&](std::size_t block) {
        return std::min(v, cost.blocks[block].variants.size() - 1);
      };
      for (std::size_t k = 1; k <= blocks; k += few_cases ? 2 : 1) {
        expect(every(k, blocks, variant), fmt::format("variant {}, every {}", v, k));
      }
    }
    for (unsigned seed = 0; seed < static_cast<unsigned>(cases(10)); ++seed) {
      std::mt19937 random(seed);
      const auto variant = [&](std::size_t block) {
        return static_cast<std::size_t>(random() % cost.blocks[block].variants.size());
      };
      expect(RandomSchedule(blocks, seed, variant).schedule(), fmt::format("random schedule {}", seed));
    }
  }

 private:
  RecomputeCase test_;
  Execution exec_;
  ScribblingGemm gemm_;
  DeviceValue<std::uint64_t> step_{5};
  DeviceValue<float> scale_{64.0f};
  DeviceValue<LossSums> sums_;
};

/// Networks whose samples have targets, in every type with these rules.
inline void expect_equal_bits_in_all_types(const ModelOptions& model,
                                           const std::vector<PrecisionRule>& rules = {}) {
  constexpr std::int64_t samples = 5;
  const Arena memory("input and targets", 8192);
  const Tensor targets = memory.tensor(4096, DType::fp32, samples, model.outputs);
  set_values(targets, drawn_values(targets.size(), 2));
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const auto chain = [&] {
      PrecisionOptions precision;
      precision.compute = type;
      precision.rules = rules;
      return make_network(model, precision, 3, true);
    };
    const Tensor input = memory.tensor(0, chain().input_type(), samples, model.inputs);
    set_values(input, drawn_values(input.size(), 1));
    RecomputeTest({chain, samples, input, {.targets = targets.as<float>()}}).expect_equal_bits();
  }
}

}  // namespace mylos::test
