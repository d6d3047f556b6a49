// Sharded gradients against unsharded ones: the same sums, while buckets share memory.
#include <gtest/gtest.h>

#include <random>

#include "model/padded_gpt.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "support/device_values.hpp"

namespace mylos::sharded_reduction_test {

Chain chain_of(DType compute, std::vector<PrecisionRule> rules) {
  return make_gpt(test::padded_gpt_options(8), test::precision_of(compute, std::move(rules)), 1, false);
}

class ShardedGradients : public testing::TestWithParam<DType> {
 protected:
  struct Copy {
    Copy(const Chain& chain, Communicator& communicator, std::size_t window)
        : store(make_parameter_layout(chain, 1, communicator.size(), communicator.size(), window),
                communicator.rank()),
          reduction(communicator, store, ReduceType::automatic, {13, 5, 1, communicator.size()}) {}
    ParameterStore store;
    GradientReduction reduction;
  };

  /// Returns a distinct number for each rank, step, parameter and element.
  std::vector<float> drawn(int step, std::size_t slot, std::int64_t count) const {
    std::mt19937 random(static_cast<unsigned>(10'000 * step + 100 * communicator->rank()) +
                        static_cast<unsigned>(slot));
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = normal(random);
    return values;
  }
  /// Writes the gradients of a block as its backward pass would; the head's are those of the embedding.
  void write(Copy& copy, int step, std::size_t stage) const {
    const ParameterLayout& layout = copy.store.layout();
    const std::size_t tied = layout.borrowed_by_head->slot;
    const auto set = [&](std::size_t slot) {
      const Tensor gradient = copy.store.gradient(layout.slots[slot]);
      test::set_values(gradient, drawn(step, slot, gradient.size()));
    };
    for (const std::size_t slot : layout.slots_of_block[stage]) {
      if (slot != tied) set(slot);
    }
    if (stage + 1 == layout.slots_of_block.size()) set(tied);
  }
  void backward(Copy& copy, int step, std::size_t last = 0) {
    for (std::size_t stage = copy.store.layout().slots_of_block.size(); stage-- > last;) {
      write(copy, step, stage);
      copy.reduction.block_done(exec, stage);
    }
  }
  void expect_equal_slices(const Copy& full, const Copy& sharded) {
    communicator->synchronize(exec);
    for (std::size_t i = 0; i < full.reduction.own_slices().size(); ++i) {
      EXPECT_EQ(test::bytes_of(sharded.reduction.own_slices()[i]),
                test::bytes_of(full.reduction.own_slices()[i]))
          << "bucket " << i;
    }
  }

  Execution exec;
  std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, {.timeout_s = 60});
};
INSTANTIATE_TEST_SUITE_P(Types, ShardedGradients, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(ShardedGradients, HaveTheSumsOfFullOnes) {
  for (const std::vector<PrecisionRule>& rules :
       {std::vector<PrecisionRule>{}, {{"layernorm", DType::fp32}, {"mlp3", DType::fp32}}}) {
    const Chain chain = chain_of(GetParam(), rules);
    Copy full(chain, *communicator, 0);
    Copy sharded(chain, *communicator, buckets_in_flight);
    ASSERT_EQ(sharded.store.layout().cuts_gradients(), communicator->size() > 1);
    for (int step = 0; step < 4; ++step) {
      backward(full, step);
      full.reduction.finish(exec);
      backward(sharded, step);
      sharded.reduction.finish(exec);
      expect_equal_slices(full, sharded);
    }
  }
}

TEST_P(ShardedGradients, OfARankWithoutSamplesAreZeros) {
  const Chain chain = chain_of(GetParam(), {});
  Copy full(chain, *communicator, 0);
  Copy sharded(chain, *communicator, buckets_in_flight);
  for (int step = 0; step < 2; ++step) {  // the second step starts with the first step's gradients
    for (Copy* copy : {&full, &sharded}) {
      if (communicator->rank() == 0) {
        copy->reduction.finish_with_zeros(exec);
      } else {
        backward(*copy, step);
        copy->reduction.finish(exec);
      }
    }
    expect_equal_slices(full, sharded);
    if (communicator->size() > 1) continue;
    for (const Tensor& slice : sharded.reduction.own_slices()) {
      for (const float value : test::values_of(slice)) ASSERT_EQ(value, 0.0f);
    }
  }
}

TEST_P(ShardedGradients, OfABackwardPassThatBrokeOffDoNotSpoilTheNext) {
  const Chain chain = chain_of(GetParam(), {});
  Copy full(chain, *communicator, 0);
  Copy sharded(chain, *communicator, buckets_in_flight);
  backward(sharded, 0, communicator->rank() == 0 ? 5 : 0);
  sharded.reduction.finish(exec);
  backward(full, 1);
  full.reduction.finish(exec);
  backward(sharded, 1);
  sharded.reduction.finish(exec);
  expect_equal_slices(full, sharded);
}

}  // namespace mylos::sharded_reduction_test
