// In what the network of a file of initial weights computes otherwise than the one that is to take them.
#include "mylos/train/start/initial_meaning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "support/refusal.hpp"

namespace mylos::initial_meaning_test {

using testing::ElementsAre;
using testing::IsEmpty;

using Taken = std::vector<TakenLayer>;

std::vector<std::string> keys_of(const std::vector<KeyDifference>& differences) {
  std::vector<std::string> keys;
  for (const KeyDifference& difference : differences) keys.push_back(difference.key);
  return keys;
}

std::vector<std::string> differing(const Options& file, const Options& here, const Taken& taken,
                                   const std::vector<std::int64_t>& grid = {}) {
  return keys_of(differing_networks(file, grid, here, taken));
}

Options mlp() {
  Options options;
  options.model.hidden = {8, 8};
  options.data.train = "data.h5";
  return options;
}

const Taken all_of_mlp{{"hidden1", "hidden1"}, {"hidden2", "hidden2"}, {"head", "head"}};

TEST(InitialMeaning, OfAnMlpIsItsActivationNormAndNormalisation) {
  Options file = mlp();
  EXPECT_THAT(differing(file, mlp(), all_of_mlp), IsEmpty());
  file.model.activation = Activation::silu;
  const auto differences = differing_networks(file, {}, mlp(), all_of_mlp);
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0].key, "model.activation");
  EXPECT_EQ(differences[0].before, "\"silu\"");
  EXPECT_EQ(differences[0].after, "\"relu\"");
  file.model.norm = NormType::layernorm;  // of which this network takes nothing
  file.data.normalize = Normalize::standard;
  EXPECT_THAT(differing(file, mlp(), all_of_mlp),
              ElementsAre("model.activation", "model.norm", "data.normalize"));
  EXPECT_THAT(differing(file, mlp(), {{"head", "head"}}), ElementsAre("data.normalize"))
      << "a head alone has no activation";
  EXPECT_THAT(differing(file, mlp(), {{"hidden2", "hidden2"}}),
              ElementsAre("model.activation", "model.norm"));
}

TEST(InitialMeaning, OfAnMlpIsWhereItsNormStands) {
  Options file = mlp();
  Options here = mlp();
  file.model.norm = here.model.norm = NormType::layernorm;
  here.model.norm_first = true;
  const Taken all{{"hidden1", "hidden1"},
                  {"norm1", "norm1"},
                  {"hidden2", "hidden2"},
                  {"norm2", "norm2"},
                  {"head", "head"}};
  EXPECT_THAT(differing(file, here, all), ElementsAre("model.norm_first"));
  file.model.activation = Activation::silu;
  EXPECT_THAT(differing(file, here, all), testing::Contains("model.activation"));
}

TEST(InitialMeaning, OfALastLayerIsWhetherTheInputIsAdded) {
  Options file = mlp();
  Options here = mlp();
  file.model.loss = here.model.loss = losses::Mse{};
  file.model.residual = true;
  EXPECT_THAT(differing(file, here, all_of_mlp), ElementsAre("model.residual"));
  EXPECT_THAT(differing(here, file, {{"head", "head"}}), ElementsAre("model.residual"));
  EXPECT_THAT(differing(file, here, {{"hidden1", "hidden1"}, {"hidden2", "hidden2"}}), IsEmpty());
}

TEST(InitialMeaning, LeavesOutWhatFineTuningChanges) {
  Options file = mlp();
  Options here = mlp();
  here.model.dropout = 0.5;
  here.model.loss = losses::Mse{};
  here.precision.compute = DType::fp16;
  here.optimizer.lr = 7;
  here.data.train = "other.h5";
  here.model.initialize = {{.match = {"*"}, .kind = Initializer::constant}};
  EXPECT_THAT(differing(file, here, all_of_mlp), IsEmpty());
}

Options gpt() {
  Options options;
  options.model.type = ModelType::gpt;
  options.model.norm = NormType::layernorm;
  options.model.layers = 1;
  options.model.heads = 2;
  options.model.width = 8;
  options.model.context = 4;
  return options;
}

TEST(InitialMeaning, OfAGptAreItsHeadsPositionsNormsAndLayers) {
  const Taken all{{"embedding", "embedding"},
                  {"attention1", "attention1"},
                  {"mlp1", "mlp1"},
                  {"final_norm", "final_norm"}};
  Options file = gpt();
  EXPECT_THAT(differing(file, gpt(), all), IsEmpty());
  file.model.heads = 4;
  file.model.positions = PositionType::rotary;
  EXPECT_THAT(differing(file, gpt(), all), testing::UnorderedElementsAre("model.heads", "model.positions"));
  EXPECT_THAT(differing(file, gpt(), {{"embedding", "embedding"}}), IsEmpty());
  file = gpt();
  file.model.tied = false;
  EXPECT_THAT(differing(file, gpt(), all), ElementsAre("model.tied"));
  EXPECT_THAT(differing(gpt(), file, all), IsEmpty()) << "a head that the file lacks is missed by its name";
  Options here = gpt();
  here.model.bias = false;
  EXPECT_THAT(differing(gpt(), here, all), ElementsAre("model.bias"));
  file = gpt();
  file.model.context = 9;
  EXPECT_THAT(differing(file, gpt(), all), IsEmpty());
}

Options net() {
  Options options;
  options.model.type = ModelType::chain;
  options.model.shape = options.data.shape = {8, 8, 1};
  options.model.chain = {
      {.kind = kinds::Conv{.kernel = {3}}, .name = "conv1", .outputs = 4, .activation = Activation::relu},
      {.kind = kinds::MaxPool{}, .name = "pool"},
      {.kind = kinds::Conv{.kernel = {3}}, .name = "conv2", .outputs = 4, .repeat = 2},
      {.kind = kinds::Add{}, .name = "sum", .skip_from = "pool"},
      {.kind = kinds::Dense{}, .name = "head"}};
  return options;
}

const Taken all_of_net{{"conv1", "conv1"}, {"conv2.1", "conv2.1"}, {"conv2.2", "conv2.2"}, {"head", "head"}};

TEST(InitialMeaning, OfAChainIsEachLayerThatIsTakenAndWhatLiesBetween) {
  EXPECT_THAT(differing(net(), net(), all_of_net), IsEmpty());
  Options file = net();
  file.model.chain[0].activation = Activation::gelu;
  std::get<kinds::Conv>(file.model.chain[0].kind).stride = {2};
  file.model.chain[1].kind = kinds::AveragePool{};
  std::get<kinds::Conv>(file.model.chain[2].kind).edges = Padding::periodic;
  EXPECT_THAT(differing(file, net(), all_of_net),
              testing::UnorderedElementsAre("model.layers.conv1.activation", "model.layers.conv1.stride",
                                            "model.layers.pool.kind", "model.layers.conv2.1.edges",
                                            "model.layers.conv2.2.edges"));
  EXPECT_THAT(differing(file, net(), {{"head", "head"}}), IsEmpty());
}

TEST(InitialMeaning, DefaultsAndEqualAxesAreNoDifference) {
  Options file = net();
  file.model.chain[0].kind = kinds::Conv{
      .kernel = {3, 3}, .stride = {1}, .padding = {1, 1}, .edges = std::vector{Padding::zero, Padding::zero}};
  file.model.chain[1].kind = kinds::MaxPool{{.kernel = {2}, .stride = {2}}};
  file.model.chain[0].norm_groups = 4;  // without a norm
  EXPECT_THAT(differing(file, net(), all_of_net), IsEmpty());
}

TEST(InitialMeaning, LayersMayHaveOtherNames) {
  Options file = net();
  file.model.chain[0].name = "a";
  file.model.chain[1].name = "b";
  file.model.chain[3].skip_from = "b";
  const Taken taken{{"conv1", "a"}, {"conv2.1", "conv2.1"}, {"conv2.2", "conv2.2"}, {"head", "head"}};
  EXPECT_THAT(differing(file, net(), taken), IsEmpty());
  file.model.chain[3].skip_from = "conv2.1";
  EXPECT_THAT(differing(file, net(), taken), ElementsAre("model.layers.sum.skip_from"));
}

TEST(InitialMeaning, ACropTakesTheGridOfTheSameLayerUnderAnyName) {
  const auto cropped = [](const char* name, const char* like) {
    Options options = net();
    options.model.chain[0].name = name;
    options.model.chain.insert(options.model.chain.begin() + 2,
                               {.kind = kinds::Crop{.like = like}, .name = "crop"});
    return options;
  };
  const Taken taken{{"conv1", "a"}, {"conv2.1", "conv2.1"}, {"conv2.2", "conv2.2"}, {"head", "head"}};
  EXPECT_THAT(differing(cropped("a", "a"), cropped("conv1", "conv1"), taken), IsEmpty());
  EXPECT_THAT(differing(cropped("a", "input"), cropped("conv1", "conv1"), taken),
              ElementsAre("model.layers.crop.like"));
}

TEST(InitialMeaning, OfOtherLayersBetweenThoseTakenNamesBothLists) {
  Options file = net();
  file.model.chain.insert(file.model.chain.begin() + 1,
                          {.kind = kinds::Activation{}, .name = "act", .activation = Activation::tanh});
  const auto differences = differing_networks(file, {}, net(), all_of_net);
  EXPECT_THAT(keys_of(differences), ElementsAre("model.layers"));
  EXPECT_EQ(differences.at(0).before, "[conv1, activation act, max_pool pool, conv2.1]");
  EXPECT_EQ(differences.at(0).after, "[conv1, max_pool pool, conv2.1]");
  Options here = net();  // a layer of its own between them is drawn, as its deck wants
  here.model.chain.insert(here.model.chain.begin() + 1, {.kind = kinds::Conv{}, .name = "new", .outputs = 4});
  EXPECT_THAT(differing(net(), here, all_of_net), IsEmpty());
}

TEST(InitialMeaning, ADenseLayerOnAGridKnowsItsPoints) {
  Options here = net();
  here.model.shape = {4, 16, 1};
  EXPECT_THAT(differing(net(), here, all_of_net), ElementsAre("data.shape"));
  Options file = net();
  file.data.shape = {};
  EXPECT_THAT(differing(file, here, all_of_net), IsEmpty());
  EXPECT_THAT(differing(file, here, all_of_net, {8, 8, 1}), ElementsAre("data.shape"));
  EXPECT_THAT(differing(net(), here, {{"conv1", "conv1"}}), IsEmpty()) << "a convolution takes any grid";
}

void compare(const std::vector<KeyDifference>& differences, const std::vector<std::string>& ignore) {
  require_same_network(differences, ignore, "base.h5",
                       {{"model.activation", "deck.toml:4"}, {"initial.ignore", "deck.toml:9"}});
}

testing::AssertionResult refuses(ErrorId id, std::initializer_list<std::string_view> parts,
                                 const std::vector<KeyDifference>& differences,
                                 const std::vector<std::string>& ignore) {
  return test::refuses(ExitCode::bad_input, id, parts, [&] { compare(differences, ignore); });
}

TEST(InitialMeaning, ThatDiffersIsRefusedWithItsKeyUnlessItIsIgnored) {
  const KeyDifference activation{"model.activation", "\"silu\"", "\"relu\""};
  const KeyDifference stride{"model.layers.conv1.stride", "2", "1"};
  EXPECT_TRUE(refuses(errors::model_mismatch,
                      {"deck.toml:4: base.h5: ", "model.activation is \"relu\" here, and \"silu\" there",
                       "initial.ignore = [\"model.activation\"]"},
                      {activation}, {}));
  EXPECT_NO_THROW(compare({activation, stride}, {"model.activation", "model.layers.*"}));
  EXPECT_TRUE(refuses(errors::model_mismatch, {"conv1.stride is 1 here, and 2 there"}, {activation, stride},
                      {"model.activation"}));
  EXPECT_TRUE(refuses(errors::key_without_effect, {"deck.toml:9: initial.ignore: 'model.norm'", "base.h5"},
                      {activation}, {"model.activation", "model.norm"}));
  EXPECT_TRUE(refuses(errors::key_without_effect, {"initial.ignore: '*'"}, {}, {"*"}));
  EXPECT_EQ(require_same_network({activation}, {"model.*"}, "base.h5", {}).size(), 1u);
}

}  // namespace mylos::initial_meaning_test
