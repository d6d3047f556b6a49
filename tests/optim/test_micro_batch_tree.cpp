// Gradients and losses of micro-batches, added by the tree, against a recursive implementation.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/binary_tree.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/optim/gradients/micro_batch_tree.hpp"
#include "support/device_values.hpp"
#include "support/tree.hpp"

namespace mylos::micro_batch_tree_test {

/// Returns the value of element `i` of leaf `leaf`: sums in another order have other bits.
float value_of(int leaf, std::int64_t i) {
  return std::ldexp(1.0f + static_cast<float>((leaf * 7919 + i * 104729) % 1000) / 999.0f,
                    (leaf * 5) % 11 - 5);
}

Chain small_chain() {
  ModelOptions model;
  model.inputs = 5;
  model.outputs = 3;
  model.hidden = {7};
  return make_chain(model, {}, 1, true);
}

class MicroBatchTreeTest : public testing::TestWithParam<int> {};

TEST_P(MicroBatchTreeTest, SumsAreThoseOfTheTreeInEveryBit) {
  const int leaves = GetParam();
  const Execution exec;
  ParameterStore parameters(make_parameter_layout(small_chain(), 64, 1));
  MicroBatchTree tree(parameters, leaves);
  EXPECT_EQ(MicroBatchTree::memory(parameters.layout(), leaves).front().bytes,
            static_cast<std::size_t>(max_waiting(leaves)) *
                (parameters.layout().gradient_bytes + sizeof(LossSums)));
  test::DeviceValue<LossSums> losses{LossSums{}};
  for (int step = 0; step < 2; ++step) {  // the second step is independent of the first
    tree.begin();
    for (int leaf = 0; leaf < leaves; ++leaf) {
      for (const ParameterSlot& slot : parameters.layout().slots) {
        std::vector<float> values;
        for (std::int64_t i = 0; i < slot.size(); ++i) values.push_back(value_of(leaf, i));
        test::set_values(parameters.gradient(slot), values);
      }
      const LossSums own{static_cast<double>(value_of(leaf, 3)) / 3, leaf};
      test::copy_to_device(&own, losses.data(), sizeof own);
      if (leaf + 1 == leaves) {
        for (std::size_t block = parameters.layout().slots_of_block.size(); block-- > 0;)
          tree.add_to_block(exec, block);
      }
      tree.take(exec, losses.data());
    }
    exec.fence();
    for (const ParameterSlot& slot : parameters.layout().slots) {
      const std::vector<float> sums = test::values_of(parameters.gradient(slot));
      for (std::int64_t i = 0; i < slot.size(); ++i) {
        const auto leaf_value = [i](int leaf) { return value_of(leaf, i); };
        ASSERT_EQ(sums[static_cast<std::size_t>(i)], test::sum_by_tree<float>(0, leaves, leaf_value));
      }
    }
    LossSums found;
    test::copy_to_host(losses.data(), &found, sizeof found);
    const auto loss_of = [](int leaf) { return static_cast<double>(value_of(leaf, 3)) / 3; };
    EXPECT_EQ(found.loss, test::sum_by_tree<double>(0, leaves, loss_of));
    EXPECT_EQ(found.correct, leaves * (leaves - 1) / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Leaves, MicroBatchTreeTest, testing::Values(1, 2, 3, 4, 5, 8, 13, 16));

}  // namespace mylos::micro_batch_tree_test
