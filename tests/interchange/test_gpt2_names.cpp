#include "mylos/interchange/gpt2_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/interchange/gpt_weights.hpp"
#include "mylos/interchange/weight_matching.hpp"
#include "mylos/model/network/make_chain.hpp"

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

/// GPT-2's names, of linear layers [inputs, outputs] as Hugging Face has them, or [outputs, inputs].
std::vector<TheirTensor> gpt2_tensors(const ModelOptions& model, bool is_conv1d) {
  std::vector<TheirTensor> tensors;
  const std::int64_t w = model.width;
  const auto linear = [&](const std::string& name, std::int64_t outputs, std::int64_t inputs) {
    tensors.push_back(
        {name + ".weight", is_conv1d ? TensorShape{inputs, outputs} : TensorShape{outputs, inputs}});
    tensors.push_back({name + ".bias", {outputs}});
  };
  const auto norm = [&](const std::string& name) {
    tensors.push_back({name + ".weight", {w}});
    tensors.push_back({name + ".bias", {w}});
  };
  tensors.push_back({"lm_head.weight", {model.vocabulary, w}});
  norm("transformer.ln_f");
  tensors.push_back({"transformer.wpe.weight", {model.context, w}});
  tensors.push_back({"transformer.wte.weight", {model.vocabulary, w}});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string prefix = "transformer.h." + std::to_string(layer) + ".";
    linear(prefix + "attn.c_attn", 3 * w, w);
    linear(prefix + "attn.c_proj", w, w);
    linear(prefix + "mlp.c_fc", 4 * w, w);
    linear(prefix + "mlp.c_proj", w, 4 * w);
    norm(prefix + "ln_1");
    norm(prefix + "ln_2");
    tensors.push_back({prefix + "attn.bias", {1, 1, model.context, model.context}});
  }
  return tensors;
}

TEST(Gpt2Names, TheFileIsKnownByItsNamesInBothOrientations) {
  ModelOptions model = three_layers(true);
  model.layers = 2;
  const std::vector<OwnWeight> ours = own_weights(model, make_chain(model, {}, 1, false));
  for (const bool is_conv1d : {true, false}) {
    const MatchedWeights found =
        match_weights(ours, {"net.safetensors", gpt2_tensors(model, is_conv1d)}, {}, model);
    ASSERT_EQ(found.matches.size(), ours.size());
    for (const WeightMatch& match : found.matches) {
      if (ours[match.ours].path != "attention1/output_weight") continue;
      EXPECT_EQ(match.form.kind, is_conv1d ? FormKind::transposed : FormKind::usual);  // square
    }
    ASSERT_EQ(found.unused.size(), 3u);  // two masks, and the head that repeats the embedding
    EXPECT_TRUE(found.unused[2].repeats);
  }
}

}  // namespace mylos::gpt2_names_test
