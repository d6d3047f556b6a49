// Networks of samples in boxes that differ, one on each rank, against the same networks of whole samples.
#include "model/parts_of_samples.hpp"

namespace mylos::parts_of_samples_test {

using test::conv;

void expect_uneven(const ModelOptions& model, const std::string& name, DType compute = DType::fp32) {
  expect_parts(model, name, compute, Boxes::uneven);
}

TEST(UnevenParts, ChainsOnLinesPlanesAndVolumesAreThoseOfWholeSamples) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{37, 2}, {13, 11, 2}, {7, 5, 11, 2}}) {
    LayerOptions ring = conv("ring", 3, {3});
    std::get<kinds::Conv>(ring.kind).edges = Padding::periodic;
    const ModelOptions model = field(
        shape, 3, {{.kind = kinds::Coordinates{}}, with_norm(ring, NormType::groupnorm), conv("b", 3, {3})});
    ModelOptions even_groups = model;
    even_groups.chain[1].outputs = 4;
    expect_uneven(even_groups, fmt::format("{} axes", shape.size() - 1));
  }
}

TEST(UnevenParts, UNetsOfNineUnitsAreThoseOfWholeSamples) {
  ModelOptions model = field({36, 20, 3}, 2, {});
  model.type = ModelType::unet;
  model.channels = {4, 6, 8};
  model.fields = 2;
  for (const NormType norm : {NormType::none, NormType::batchnorm, NormType::layernorm}) {
    model.norm = norm;
    model.edges = norm == NormType::none ? Padding::periodic : Padding::zero;
    expect_uneven(model, fmt::format("unet, {}", name_of(norm)));
  }
  model.norm = NormType::none;
  expect_uneven(model, "unet in bf16", DType::bf16);
}

TEST(UnevenParts, LayersAndLossesAreThoseOfWholeSamples) {
  LayerOptions up = conv("up", 4, {4}, {2});
  up.kind = kinds::Conv{.kernel = {4}, .stride = {2}, .padding = {1}, .transposed = true};
  LayerOptions over_ranks = with_norm(conv("over_ranks", 4, {3}), NormType::batchnorm, Activation::relu);
  over_ranks.norm_over = NormOver::ranks;
  ModelOptions model = field({18, 22, 2}, 2,
                             {with_norm(conv("a", 4, {5}), NormType::groupnorm),
                              {.kind = kinds::AveragePool{}, .name = "coarse"},
                              over_ranks,
                              {.kind = kinds::Add{.gated = true}, .skip_from = "coarse"},
                              up,
                              {.kind = kinds::Concat{}, .skip_from = "a"},
                              {.kind = kinds::MaxPool{}},
                              {.kind = kinds::Upsample{}},
                              {.kind = kinds::Norm{}, .norm = NormType::rmsnorm},
                              conv("head", 2, {1})});
  model.residual = true;
  expect_uneven(model, "layers");
  model.residual = false;
  for (const Loss& loss : std::vector<Loss>{losses::L1{}, losses::Huber{}, losses::Gaussian{},
                                            losses::Quantile{.levels = {0.1, 0.5}}}) {
    model.loss = loss;
    expect_uneven(model, std::string(name_of(loss)));
  }
}

TEST(UnevenParts, WeightsOfPointsAreThoseOfTheBox) {
  ModelOptions model = field({13, 11, 2}, 3, {conv("a", 3, {3})});
  for (const std::int64_t channels : {1, 3}) {
    auto weights = std::make_shared<PointWeights>();
    weights->extents = {13, 11};
    weights->channels = channels;
    weights->values = test::random_values(DType::fp32, 13 * 11 * channels, 0, 2, 7);
    for (std::size_t i = 20; i < 40; ++i) weights->values[i] = 0;
    model.point_weights = weights;
    for (const Loss& loss : std::vector<Loss>{losses::Mse{}, losses::L1{}}) {
      model.loss = loss;
      expect_uneven(model, fmt::format("weighted {}", name_of(loss)));
    }
  }
}

TEST(UnevenParts, ClassifiersCountEachPointOnce) {
  const ModelOptions model =
      test::model_on({14, 22, 3}, 5,
                     {with_norm(conv("a", 4, {3}, {2}), NormType::groupnorm),
                      with_norm(conv("b", 6, {3}), NormType::batchnorm),
                      {.kind = kinds::GlobalPool{}},
                      {.kind = kinds::Dense{}, .outputs = 7, .activation = Activation::tanh},
                      {.kind = kinds::Dense{}}});
  expect_uneven(model, "classifier");
}

TEST(UnevenParts, FourierNeuralOperatorsAreThoseOfWholeSamples) {
  ModelOptions model = field({17, 13, 3}, 2, {});
  model.type = ModelType::fno;
  model.width = 6;
  model.blocks = 2;
  model.modes = {8, 5};
  model.fields = 2;
  model.activation = Activation::gelu;
  expect_uneven(model, "fno");
  expect_uneven(model, "fno in bf16", DType::bf16);
}

}  // namespace mylos::parts_of_samples_test
