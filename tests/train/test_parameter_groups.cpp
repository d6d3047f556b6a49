// What parameters do by the groups of the deck.
#include "mylos/optim/update/parameter_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "mylos/base/errors/deck.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "support/refusal.hpp"
#include "train/synthetic.hpp"

namespace mylos::parameter_groups_test {

using namespace testing_support;  // NOLINT

using Bytes = decltype(test::bytes_of(Tensor()));

std::map<std::string, Bytes> weights_of(const SmallRun& run) {
  std::map<std::string, Bytes> weights;
  const ParameterStore& parameters = run.trainer->model().parameters();
  for (const ParameterSlot& slot : parameters.layout().slots)
    weights[slot.path()] = test::bytes_of(parameters.master(slot));
  return weights;
}

class GroupsOfTypes : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, GroupsOfTypes, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(GroupsOfTypes, OfWhatIsFrozenNotABitMoves) {
  for (const MasterWeights masters : masters_with(GetParam())) {
    for (const std::int64_t health : {0, 2}) {
      Options options = small_options(GetParam());
      options.precision.masters = masters;
      options.optimizer.weight_decay = 0.1;
      options.optimizer.groups = {{{"*"}, {}, {}, true}, {{"hidden2/*", "head/bias"}, {}, {}, false}};
      options.health.every = health;
      SmallRun run(options);
      const auto before = weights_of(run);
      for (int i = 0; i < 4; ++i) run.step();
      for (const auto& [name, after] : weights_of(run)) {
        const bool moves = name.starts_with("hidden2/") || name == "head/bias";
        EXPECT_EQ(after != before.at(name), moves) << name;
      }
    }
  }
}

TEST(Groups, AFrozenGradientIsNoPartOfTheNorm) {
  Options options = small_options(DType::fp32);
  options.optimizer.groups = {{{"*"}, {}, {}, true}};
  SmallRun all(options);
  EXPECT_EQ(all.step().record.gradient_norm, 0);
  const auto squared_norm = [&](const std::string& frozen) {
    options.optimizer.groups.clear();
    if (!frozen.empty()) options.optimizer.groups = {{{frozen}, {}, {}, true}};
    SmallRun run(options);
    const double norm = run.step().record.gradient_norm;
    return norm * norm;
  };
  const double without_head = squared_norm("head/*");
  const double without_hidden = squared_norm("hidden*");
  EXPECT_GT(without_head, 0);
  EXPECT_GT(without_hidden, 0);
  EXPECT_NEAR(without_head + without_hidden, squared_norm(""), 1e-6);
}

TEST(Groups, TheLastOneThatSaysSomethingCounts) {
  ParameterSlot slot;
  slot.layer = "hidden1";
  slot.spec.name = "weight";
  slot.spec.decay_factor = 1;
  OptimizerOptions options;
  options.weight_decay = 0.5;
  EXPECT_EQ(settings_of(options, slot).decay, 0.5f);
  options.groups = {
      {{"*/weight"}, 0.25, {}, {}}, {{"head/*", "hid*1/*"}, {}, 2.0, {}}, {{"norm*"}, 9, 9, true}};
  const ParameterSettings settings = settings_of(options, slot);
  EXPECT_EQ(settings.lr_factor, 0.25f);
  EXPECT_EQ(settings.decay, 2.0f);
  EXPECT_FALSE(settings.frozen);
  slot.spec.name = "bias";
  slot.spec.decay_factor = 0;
  EXPECT_EQ(settings_of(options, slot).lr_factor, 1.0f);
  EXPECT_EQ(settings_of(options, slot).decay, 2.0f) << "also for vectors";
}

TEST(Groups, HalfTheLearningRateMovesSgdHalfAsFar) {
  Options options = small_options(DType::fp32);
  options.optimizer.type = OptimizerType::sgd;
  options.optimizer.weight_decay = 0;
  SmallRun whole(options);
  options.optimizer.groups = {{{"hidden1/weight"}, 0.5, {}, {}}};
  SmallRun half(options);
  const std::vector<float> before = whole.masters();
  whole.step();
  half.step();
  const std::vector<float> far = whole.masters();
  const std::vector<float> near = half.masters();
  std::size_t halved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const float step = far[i] - before[i];
    const float other = near[i] - before[i];
    if (other == step) continue;
    EXPECT_NEAR(other, 0.5f * step, 1e-7f);
    ++halved;
  }
  EXPECT_GT(halved, 100u);
  EXPECT_LE(halved, static_cast<std::size_t>(24 * features));
}

TEST(Groups, APatternThatMatchesNothingIsToldWithNamesThatAreNear) {
  const Options options = small_options(DType::fp32);
  const Chain chain = make_chain(options.model, options.precision, 1, false);
  OptimizerOptions optimizer;
  optimizer.groups = {{{"hidden1/*", "hiden2/weight"}, {}, {}, true}};
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::unknown_name,
                            {"optimizer.groups: 'hiden2/weight'", "hidden2/weight, hidden1/weight, "},
                            [&] { require_groups_match(chain, optimizer); }));
  optimizer.groups[0].match.pop_back();
  EXPECT_NO_THROW(require_groups_match(chain, optimizer));
}

/// Unless a later group lets some of it learn.
TEST(Groups, SettingsOfWhatIsFrozenAreRefused) {
  const Options options = small_options(DType::fp32);
  const Chain chain = make_chain(options.model, options.precision, 1, false);
  for (const bool is_factor : {true, false}) {
    const std::string said = is_factor ? "'lr_factor' has no effect" : "'weight_decay' has no effect";
    ParameterGroup frozen{{"hidden1/*"}, {}, {}, true};
    (is_factor ? frozen.lr_factor : frozen.weight_decay) = 0.5;
    OptimizerOptions optimizer;
    optimizer.groups = {frozen};
    const auto require = [&] { require_groups_match(chain, optimizer); };
    EXPECT_TRUE(test::refuses(errors::key_without_effect, {said, "frozen"}, require));
    optimizer.groups.push_back({{"hidden1/bias"}, {}, {}, false});
    EXPECT_NO_THROW(require());
  }
}

TEST(Groups, AModelOfWhichEverythingIsFrozenIsRefused) {
  const Options options = small_options(DType::fp32);
  const Chain chain = make_chain(options.model, options.precision, 1, false);
  OptimizerOptions optimizer;
  optimizer.groups = {{{"*"}, {}, {}, true}};
  EXPECT_THROW(require_groups_match(chain, optimizer), Error);
  optimizer.groups.push_back({{"head/bias"}, {}, {}, false});
  EXPECT_NO_THROW(require_groups_match(chain, optimizer));
}

}  // namespace mylos::parameter_groups_test
