#include "mylos/inference/source/source_network_of.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "interchange/onnx_networks.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "support/refusal.hpp"

namespace mylos::source_network_test {

using test::network_of;
using test::plane_model;
using test::weights_of;

ModelOptions mlp(Loss loss = losses::Mse{}) {
  ModelOptions model;
  model.type = ModelType::mlp;
  model.loss = loss;
  model.inputs = 3;
  model.outputs = 2;
  model.hidden = {4};
  model.activation = Activation::gelu;
  return model;
}

constexpr SourcePurpose purpose{"be tested", "use another", true};

SourceNetwork source_of(const StoredNetwork& network) {
  return source_network_of(network, weights_of(network.chain), purpose);
}

TEST(SourceNetworkOf, WeightsAreTransposedAndActivationsAreOperations) {
  const StoredNetwork network = network_of(mlp());
  const SourceNetwork source = source_of(network);
  ASSERT_EQ(source.operations.size(), 3U);
  const auto& first = std::get<SourceLinear>(source.operations[0].kind);
  const std::vector<float> stored = weights_of(network.chain)("hidden1/weight");  // [4, 3]
  for (std::size_t input = 0; input < 3; ++input) {
    for (std::size_t output = 0; output < 4; ++output)
      EXPECT_EQ(first.weight[input * 4 + output], stored[output * 3 + input]);
  }
  EXPECT_EQ(std::get<SourceActivation>(source.operations[1].kind).function, Activation::gelu);
  EXPECT_EQ(source.outputs(), 2);
}

TEST(SourceNetworkOf, ScalingIsFirstAndUnitsAreLast) {
  StoredNetwork network = network_of(mlp());
  network.training.normalizer.inputs = {{1, 2, 3}, {4, 5, 6}};
  network.training.normalizer.targets = {{7, 8}, {0.5, 0.25}};
  const SourceNetwork source = source_of(network);
  EXPECT_EQ(std::get<SourceScaling>(source.operations.front().kind).scale, (std::vector<double>{4, 5, 6}));
  const auto& units = std::get<SourceUnits>(source.operations.back().kind);
  EXPECT_EQ(units.shift, (std::vector<double>{7, 8}));
  EXPECT_EQ(units.scale, (std::vector<double>{2, 4}));
}

TEST(SourceNetworkOf, LossesDecideWhatOutputsAre) {
  const auto last = [](Loss loss) { return source_of(network_of(mlp(loss))).operations.back().kind; };
  EXPECT_TRUE(std::holds_alternative<SourceSoftmax>(last(losses::CrossEntropy{})));
  EXPECT_TRUE(std::holds_alternative<SourceSigmoid>(last(losses::BinaryCrossEntropy{})));
  EXPECT_TRUE(std::holds_alternative<SourceGaussian>(last(losses::Gaussian{})));
  EXPECT_TRUE(std::holds_alternative<SourceLinear>(last(losses::Mse{})));
}

TEST(SourceNetworkOf, LayersOnGridsAreRefusedByName) {
  const StoredNetwork network = network_of(plane_model());
  EXPECT_TRUE(test::refuses(errors::unsupported_feature,
                            {"'first'", "'conv'", purpose.to_do, purpose.what_helps},
                            [&] { (void)source_of(network); }));
}

TEST(SourceNetworkOf, NumbersThatAreNotFiniteAreRefusedByLayer) {
  const StoredNetwork network = network_of(mlp());
  const auto infinite = [](const std::string& path) {
    const float value = path == "head/weight" ? std::numeric_limits<float>::infinity() : 1.0F;
    return std::vector<float>(
        path.ends_with("bias") ? (path.starts_with("head") ? 2 : 4) : (path.starts_with("head") ? 8 : 12),
        value);
  };
  EXPECT_TRUE(test::refuses(errors::not_finite, {"'head'"},
                            [&] { (void)source_network_of(network, infinite, purpose); }));
}

}  // namespace mylos::source_network_test
