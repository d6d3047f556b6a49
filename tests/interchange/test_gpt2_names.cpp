#include "mylos/interchange/gpt2_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/interchange/gpt_weights.hpp"

namespace mylos::gpt2_names_test {

ModelOptions three_layers(bool tied) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = 3;
  model.heads = 2;
  model.width = 8;
  model.context = 5;
  model.vocabulary = 13;
  model.tied = tied;
  return model;
}

TEST(Gpt2Names, EveryParameterHasOneName) {
  for (const bool tied : {true, false}) {
    const ModelOptions model = three_layers(tied);
    std::vector<std::string> parameters, named;
    for (const GptParameter& parameter : gpt_parameters(model)) parameters.push_back(parameter.path);
    std::set<std::string> tensors;
    for (const TensorName& name : gpt2_names(model)) {
      named.push_back(name.parameter);
      EXPECT_TRUE(tensors.insert(name.tensor).second) << name.tensor;
    }
    EXPECT_THAT(named, testing::UnorderedElementsAreArray(parameters));
  }
}

TEST(Gpt2Names, TheMatricesOfLinearLayersAloneAreTransposed) {
  std::map<std::string, bool> transposed;
  const ModelOptions model = three_layers(false);
  for (const TensorName& name : gpt2_names(model)) transposed[name.parameter] = name.transposed;
  for (const GptParameter& parameter : gpt_parameters(model)) {
    const bool of_a_linear_layer = parameter.spec.is_matrix && (parameter.path.starts_with("attention") ||
                                                                parameter.path.starts_with("mlp"));
    EXPECT_EQ(transposed.at(parameter.path), of_a_linear_layer) << parameter.path;
  }
}

}  // namespace mylos::gpt2_names_test
