// Layers of equal shapes: what states their order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interchange/weight_matching.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "support/refusal.hpp"

namespace mylos::weight_matching_test {

TEST(WeightMatching, SortedNamesCountByTheirNumbersAlone) {
  std::vector<LayerOptions> layers;
  Tensors sorted;
  for (int i = 0; i < 12; ++i) layers.push_back(dense("d" + std::to_string(i), 3));
  for (const int i : {0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9}) {
    sorted.push_back({"net." + std::to_string(i) + ".bias", {3}});
    sorted.push_back({"net." + std::to_string(i) + ".weight", {3, 3}});
  }
  const ModelOptions model = vector_model(layers, 3);
  const std::vector<std::string> found = pairs(model, sorted, "", TensorOrder::by_name);
  EXPECT_EQ(found[4], "net.2.weight = d2/weight");
  EXPECT_EQ(found[20], "net.10.weight = d10/weight");

  Tensors words;
  for (const char* name : {"decoder", "encoder"}) {
    words.push_back({std::string(name) + ".bias", {3}});
    words.push_back({std::string(name) + ".weight", {3, 3}});
  }
  const ModelOptions two = vector_model({dense("first", 3), dense("second", 3)}, 3);
  EXPECT_TRUE(test::refuses(errors::missing_argument, {"'decoder'", "'encoder'", "--map", "mylos.order"},
                            [&] { static_cast<void>(matched(two, words, "", TensorOrder::by_name)); }));
}

TEST(WeightMatching, PartsOfTheNetworkCountInTheOrderOfTheirSureLayers) {
  const ModelOptions model =
      vector_model({dense("first", 5), dense("second", 5), dense("third", 5), dense("last", 2)}, 3);
  // `last_part` has the last layer, whose shapes no other layer has, and one of two equal layers.
  const auto tensors = [](const std::string& first_part, const std::string& last_part) {
    Tensors sorted;
    const auto add = [&](const std::string& layer, std::int64_t outputs, std::int64_t inputs) {
      sorted.push_back({layer + ".bias", {outputs}});
      sorted.push_back({layer + ".weight", {outputs, inputs}});
    };
    for (const std::string& part : {std::min(first_part, last_part), std::max(first_part, last_part)}) {
      if (part == first_part) add(part + ".in", 5, 3);
      add(part + (part == first_part ? ".middle" : ".of"), 5, 5);
      if (part == last_part) add(part + ".out", 2, 5);
    }
    return sorted;
  };
  EXPECT_THAT(pairs(model, tensors("downs", "ups"), "", TensorOrder::by_name),
              testing::IsSupersetOf({"downs.middle.weight = second/weight", "ups.of.weight = third/weight"}));
  EXPECT_TRUE(test::refuses(errors::missing_argument, {"'decoder.of'", "'encoder.middle'", "--map"}, [&] {
    static_cast<void>(matched(model, tensors("encoder", "decoder"), "", TensorOrder::by_name));
  }));
}

TEST(WeightMatching, MetadataMayStateTheOrder) {
  const Tensors sorted{{"a.bias", {2}}, {"a.weight", {2, 4}}, {"b.bias", {4}}, {"b.weight", {4, 3}}};
  EXPECT_EQ(in_network_order({"f", sorted}, "").order, TensorOrder::by_name);
  EXPECT_EQ(in_network_order({"f", two_theirs}, "").order, TensorOrder::network);
  const TheirTensors found = in_network_order({"f", sorted}, "b.weight\nb.bias\na.weight\na.bias");
  EXPECT_EQ(found.order, TensorOrder::network);
  EXPECT_EQ(found.tensors[0].name, "b.weight");
  EXPECT_TRUE(test::refuses(errors::damaged, {"f: ", "mylos.order", "'a.bias'"}, [&] {
    static_cast<void>(in_network_order({"f", sorted}, "b.weight"));
  }));
}

/// A block of a residual network; ours has the shortcut first, PyTorch's the convolutions.
std::vector<LayerOptions> residual_layers() {
  LayerOptions shortcut = conv("shortcut", 4, {1});
  LayerOptions first = conv("first", 4, {3});
  LayerOptions second = conv("second", 4, {3});
  for (LayerOptions* layer : {&shortcut, &first, &second}) {
    std::get<kinds::Conv>(layer->kind).bias = false;
    layer->norm = NormType::batchnorm;
  }
  return {shortcut,
          {.kind = kinds::Branch{}, .name = "branch", .skip_from = "input"},
          first,
          second,
          {.kind = kinds::Add{}, .name = "sum", .skip_from = "shortcut"}};
}

void add_batch_norm(Tensors& tensors, const std::string& name) {
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
    tensors.push_back({name + part, {4}});
}

TEST(WeightMatching, ANormalisationStaysWithItsConvolution) {
  Tensors tensors{{"0.conv1.weight", {4, 2, 3, 3}}};
  add_batch_norm(tensors, "0.bn1");
  tensors.push_back({"0.conv2.weight", {4, 4, 3, 3}});
  add_batch_norm(tensors, "0.bn2");
  tensors.push_back({"0.downsample.0.weight", {4, 2, 1, 1}});
  add_batch_norm(tensors, "0.downsample.1");
  const std::vector<std::string> found = pairs(grid_model(residual_layers()), tensors);
  EXPECT_THAT(found,
              testing::IsSupersetOf(
                  {"0.downsample.0.weight = shortcut/weight", "0.downsample.1.bias = shortcut.norm/bias",
                   "0.bn1.running_var = first.norm/running_variance", "0.bn2.weight = second.norm/weight"}));
}

TEST(WeightMatching, NormalisationsInAnotherOrderNeedTheMap) {
  Tensors tensors{
      {"c1.weight", {4, 2, 3, 3}}, {"c2.weight", {4, 4, 3, 3}}, {"projection.weight", {4, 2, 1, 1}}};
  for (const char* name : {"n1", "n2", "n"}) add_batch_norm(tensors, name);
  EXPECT_TRUE(test::refuses(errors::missing_argument, {"net.safetensors: ", "'n2'", "'n'", "--map"},
                            [&] { static_cast<void>(matched(grid_model(residual_layers()), tensors)); }));
}

}  // namespace mylos::weight_matching_test
