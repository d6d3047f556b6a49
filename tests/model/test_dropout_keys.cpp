// The dependence of dropout's random numbers, in complete networks: every layer, step, sample and token drops
// different elements, and the division of a batch into micro-batches does not change which.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/small_gpt.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::dropout_keys_test {

constexpr std::int64_t samples = 6;
constexpr std::uint64_t first_sample = 512;
constexpr std::int64_t tokens = 11;
constexpr std::int64_t width = 64;  // wide enough that no two rows drop the same elements by chance

/// The surviving elements of a row.
using Row = std::vector<bool>;
/// The rows of each block with dropout, by its name.
using Masks = std::map<std::string, std::vector<Row>>;

/// A network whose outputs show the dropped elements: blocks either end with dropout, or add their dropped
/// tensor to their input.
class Network {
 public:
  explicit Network(ModelType type) : is_gpt_(type == ModelType::gpt) {
    ModelOptions options = is_gpt_ ? test::small_gpt_options() : ModelOptions{};
    options.dropout = 0.5;
    if (is_gpt_) {
      options.width = width;
      options.context = tokens;
    } else {
      options.inputs = 3;
      options.outputs = 2;
      options.hidden = {width, width, width};
      options.activation = Activation::none;
    }
    PrecisionOptions precision;
    precision.compute = DType::fp32;
    model_ = std::make_unique<TrainingModel>(make_chain(options, precision, 9, false), *engines_, samples,
                                             1 << 20, 1);
    test::set_lively_weights(model_->parameters());
    const std::int64_t rows = samples * model_->chain().rows_per_sample;
    if (is_gpt_) {
      tokens_ = test::drawn_tokens(static_cast<std::size_t>(rows), 13, 1);
      token_array_ = std::make_unique<test::TokenArray>(tokens_);
      input_ = token_array_->tensor();
    } else {
      input_ = inputs_.tensor(0, DType::fp32, rows, 3);
      test::set_values(input_, test::drawn_values(rows * 3, 4));
    }
  }

  /// The masks of all samples, in micro-batches of `together` samples.
  Masks masks(std::uint64_t step = 3, std::int64_t together = samples) {
    step_.set(step);
    Masks result;
    for (std::int64_t first = 0; first < samples; first += together) {
      add_masks(first, std::min(together, samples - first), result);
    }
    return result;
  }

 private:
  void add_masks(std::int64_t first, std::int64_t count, Masks& masks) {
    const std::int64_t length = model_->chain().rows_per_sample;
    const StepContext context{.exec = exec_,
                              .engines = *engines_,
                              .step = step_.data(),
                              .first_sample = first_sample + static_cast<std::uint64_t>(first)};
    std::vector<float> before;
    const Observer observer = [&](const Observation& seen) {
      if (std::string_view(seen.tensor) != "output") return;
      exec_.fence();
      const std::vector<float> after = test::values_of(seen.value);
      const std::string name = model_->chain().stage_name(seen.block);
      const bool adds = name.starts_with("attention") || name.starts_with("mlp");
      const bool drops = adds || name.starts_with("hidden") || name == "embedding";
      for (std::size_t e = 0; drops && e < after.size(); ++e) {
        if (e % width == 0) masks[name].emplace_back();
        masks[name].back().push_back(after[e] != (adds ? before[e] : 0));
      }
      before = after;
    };
    model_->forward(context, input_.row_range(first * length, count * length), &observer);
    exec_.fence();
  }

  bool is_gpt_;
  Execution exec_;
  std::unique_ptr<EngineSet> engines_ = make_engines({});
  std::unique_ptr<TrainingModel> model_;
  std::vector<std::int32_t> tokens_;
  std::unique_ptr<test::TokenArray> token_array_;
  Arena inputs_{"inputs", samples * 3 * sizeof(float)};
  Tensor input_;
  test::DeviceValue<std::uint64_t> step_;
};

class DropoutKeys : public testing::TestWithParam<ModelType> {
 protected:
  Network network_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Networks, DropoutKeys, testing::Values(ModelType::mlp, ModelType::gpt),
                         [](const auto& type) { return type.param == ModelType::gpt ? "Gpt" : "Mlp"; });

TEST_P(DropoutKeys, EveryTokenOfEverySampleDropsOthers) {
  for (const auto& [layer, rows] : network_.masks()) {
    EXPECT_EQ(rows.size(),
              static_cast<std::size_t>(GetParam() == ModelType::gpt ? samples * tokens : samples));
    EXPECT_EQ(std::set<Row>(rows.begin(), rows.end()).size(), rows.size()) << layer;
    for (const Row& row : rows) {
      const auto kept = std::count(row.begin(), row.end(), true);
      EXPECT_TRUE(8 < kept && kept < 56) << layer << " keeps " << kept << " of " << row.size();
    }
  }
}

TEST_P(DropoutKeys, EveryLayerDropsOthers) {
  const Masks masks = network_.masks();
  EXPECT_EQ(masks.size(), GetParam() == ModelType::gpt ? 5u : 3u);
  std::set<std::vector<Row>> different;
  for (const auto& [layer, rows] : masks) different.insert(rows);
  EXPECT_EQ(different.size(), masks.size());
}

TEST_P(DropoutKeys, EveryStepDropsOthersAndTheSameStepTheSame) {
  const Masks third = network_.masks(3);
  const Masks fourth = network_.masks(4);
  for (const auto& [layer, rows] : third) EXPECT_NE(rows, fourth.at(layer)) << layer;
  EXPECT_EQ(network_.masks(3), third);
}

TEST_P(DropoutKeys, NoCutIntoMicroBatchesChangesWhatIsDropped) {
  const Masks whole = network_.masks();
  for (const std::int64_t together : {1, 2, 4}) {
    EXPECT_EQ(network_.masks(3, together), whole) << "micro-batches of " << together;
  }
}

}  // namespace mylos::dropout_keys_test
