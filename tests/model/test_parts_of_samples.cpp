// Networks of samples in boxes, one on each rank, against the same networks of whole samples: outputs, loss,
// every gradient, and what the ranks exchange.
#include "model/parts_of_samples.hpp"

#include "model/listed_layers.hpp"

namespace mylos::parts_of_samples_test {

using test::conv;
using test::model_on;

TEST(PartsOfSamples, UNetsAreThoseOfWholeSamples) {
  ModelOptions model = field({24, 24, 3}, 2, {});
  model.type = ModelType::unet;
  model.channels = {4, 6};
  model.fields = 2;
  for (const NormType norm :
       {NormType::none, NormType::batchnorm, NormType::groupnorm, NormType::layernorm}) {
    model.norm = norm;
    model.edges = norm == NormType::none ? Padding::periodic : Padding::zero;
    if (norm == NormType::groupnorm) continue;  // eight groups
    expect_parts(model, fmt::format("unet, {}", name_of(norm)));
  }
  model.norm = NormType::none;
  expect_parts(model, "unet in bf16", DType::bf16);
}

TEST(PartsOfSamples, ClassifiersCountEachBoxOnce) {
  const LayerOptions head{.kind = kinds::Dense{}};
  const LayerOptions pool{.kind = kinds::GlobalPool{}};
  ModelOptions model = model_on({24, 24, 3}, 5,
                                {with_norm(conv("a", 4, {3}, {2}), NormType::groupnorm),
                                 with_norm(conv("b", 6, {3}), NormType::batchnorm),
                                 pool,
                                 {.kind = kinds::Dense{}, .outputs = 7, .activation = Activation::tanh},
                                 head});
  expect_parts(model, "classifier");
}

/// The networks of model.type = "cnn" and "resnet", and the losses of vectors.
TEST(PartsOfSamples, NetworksOfVectorsAreThoseOfWholeSamples) {
  ModelOptions cnn = model_on({48, 48, 2}, 5, {});
  cnn.type = ModelType::cnn;
  cnn.channels = {4, 6};
  cnn.hidden = {7};
  cnn.norm = NormType::layernorm;
  ModelOptions resnet = model_on({24, 24, 2}, 5, {});
  resnet.type = ModelType::resnet;
  resnet.channels = {4, 6};
  resnet.blocks = 1;
  resnet.norm = NormType::batchnorm;
  const auto expect = [](ModelOptions model, const std::vector<Loss>& of_numbers) {
    const std::string name(name_of(model.type));
    for (const DType compute : {DType::fp32, DType::bf16, DType::fp16})
      expect_parts(model, fmt::format("{} in {}", name, name_of(compute)), compute);
    for (const Loss& loss : of_numbers) {
      model.loss = loss;
      expect_parts(model, fmt::format("{}, {}", name, name_of(loss)));
    }
  };
  expect(cnn, {losses::Mse{}});
  expect(resnet, {losses::RelativeL2{}, losses::Gaussian{}});
}

/// Dense layers on lines and volumes, also as the first layer, and as many outputs as there are points.
TEST(PartsOfSamples, DenseLayersReadWholeGrids) {
  const auto dense = [](std::int64_t outputs, Activation activation = Activation::gelu) {
    return LayerOptions{.kind = kinds::Dense{}, .outputs = outputs, .activation = activation};
  };
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{24, 2}, {12, 12, 24, 2}}) {
    ModelOptions model = model_on(shape, 24, {conv("a", 2, {3}), dense(6), dense(24, Activation::none)});
    model.loss = losses::Mse{};
    expect_parts(model, fmt::format("dense on {} axes", shape.size() - 1));
  }
  ModelOptions first = model_on({24, 24, 2}, 5, {dense(6), dense(0, Activation::none)});
  expect_parts(first, "dense alone");
}

TEST(PartsOfSamples, EveryKindOfLayerThatTakesPartsIsThatOfWholeSamples) {
  LayerOptions ring = conv("ring", 4, {5});
  std::get<kinds::Conv>(ring.kind).edges = Padding::periodic;
  LayerOptions up = conv("up", 4, {4}, {2});
  up.kind = kinds::Conv{.kernel = {4}, .stride = {2}, .padding = {1}, .transposed = true};
  LayerOptions over_ranks = with_norm(conv("over_ranks", 4, {3}), NormType::batchnorm, Activation::relu);
  over_ranks.norm_over = NormOver::ranks;
  std::get<kinds::Conv>(over_ranks.kind).edges = Padding::reflect;
  ModelOptions model =
      field({24, 24, 2}, 2,
            {{.kind = kinds::Coordinates{}},
             with_norm(ring, NormType::groupnorm),
             {.kind = kinds::AveragePool{{.kernel = {3}, .stride = {2}, .padding = {1}}}, .name = "coarse"},
             over_ranks,
             {.kind = kinds::Add{.gated = true}, .skip_from = "coarse"},
             up,
             {.kind = kinds::Concat{}, .skip_from = "ring"},
             {.kind = kinds::MaxPool{{.kernel = {4}, .stride = {2}, .padding = {1}}}},
             {.kind = kinds::Upsample{.between = Between::linear}},
             {.kind = kinds::MaxPool{}},
             {.kind = kinds::Upsample{}},
             {.kind = kinds::Norm{}, .norm = NormType::rmsnorm},
             {.kind = kinds::Activation{}, .activation = Activation::silu},
             conv("head", 2, {1})});
  model.residual = true;
  expect_parts(model, "layers");
  model.residual = false;
  for (const Loss& loss : std::vector<Loss>{losses::L1{}, losses::Huber{}, losses::Gaussian{},
                                            losses::Quantile{.levels = {0.1, 0.5}}}) {
    model.loss = loss;
    expect_parts(model, std::string(name_of(loss)));
  }
}

TEST(PartsOfSamples, WeightsOfPointsAreThoseOfTheBox) {
  ModelOptions model = field({12, 24, 2}, 3, {conv("a", 3, {3})});
  auto weights = std::make_shared<PointWeights>();
  weights->extents = {12, 24};
  weights->values = test::random_values(DType::fp32, 12 * 24, 0, 2, 7);
  model.point_weights = weights;
  for (const Loss& loss : std::vector<Loss>{losses::Mse{}, losses::L1{}}) {
    model.loss = loss;
    expect_parts(model, fmt::format("weighted {}", name_of(loss)));
  }
}

TEST(PartsOfSamples, MissingTargetsCountNowhere) {
  ModelOptions model = field({12, 24, 2}, 3, {conv("a", 3, {3})});
  model.has_missing_targets = true;
  for (const Loss& loss : std::vector<Loss>{losses::Mse{}, losses::Huber{}, losses::Gaussian{},
                                            losses::Quantile{.levels = {0.1, 0.5}}}) {
    model.loss = loss;
    expect_parts(model, fmt::format("{} with missing targets", name_of(loss)));
  }
}

TEST(PartsOfSamples, LinesAndVolumesAreDividedToo) {
  LayerOptions down = conv("down", 4, {4}, {2});
  std::get<kinds::Conv>(down.kind).padding = {1};
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{48, 2}, {12, 12, 24, 2}}) {
    LayerOptions up = conv("up", 3, {2}, {2});
    up.kind = kinds::Conv{.kernel = {2}, .stride = {2}, .padding = {0}, .transposed = true};
    if (shape.size() == 4) {
      std::get<kinds::Conv>(down.kind) = {.kernel = {1, 3, 4}, .stride = {1, 1, 2}, .padding = {0, 1, 1}};
      std::get<kinds::Conv>(up.kind) = {
          .kernel = {1, 1, 2}, .stride = {1, 1, 2}, .padding = {0}, .transposed = true};
    }
    expect_parts(field(shape, 3, {with_norm(conv("a", 4, {3}), NormType::groupnorm), down, up}),
                 fmt::format("{} axes", shape.size() - 1));
  }
}

LayerOptions spectral(std::string name, std::int64_t outputs, PerAxis modes,
                      Activation activation = Activation::none) {
  return {.kind = kinds::Spectral{.modes = std::move(modes)},
          .name = std::move(name),
          .outputs = outputs,
          .activation = activation};
}

TEST(PartsOfSamples, SpectralLayersTransformWholeSamples) {
  const auto expect = [](const std::vector<std::int64_t>& shape, const PerAxis& modes, const PerAxis& fewer) {
    const PerAxis halves = shape.size() == 4 ? PerAxis{1, 1, 2} : PerAxis{2};  // boxes of 3 points exist
    LayerOptions down = conv("down", 4, halves, halves);
    std::get<kinds::Conv>(down.kind).padding = {0};
    const LayerOptions up{.kind = kinds::Upsample{.factor = halves}};
    LayerOptions coarse = with_norm(spectral("b", 4, fewer), NormType::batchnorm);
    std::get<kinds::Spectral>(coarse.kind).bias = false;  // its gradient would be zero but for rounding
    const ModelOptions model = field(shape, 3,
                                     {spectral("a", 4, modes, Activation::gelu),
                                      down,
                                      coarse,
                                      up,
                                      {.kind = kinds::Concat{}, .skip_from = "a"},
                                      conv("c", 4, {1}),
                                      spectral("d", 3, modes)});
    expect_parts(model, fmt::format("spectral layers on {} axes", shape.size() - 1));
    expect_parts(model, fmt::format("spectral layers on {} axes in bf16", shape.size() - 1), DType::bf16);
  };
  expect({48, 2}, {11}, {24});
  expect({24, 24, 2}, {5, 8}, {3, 12});
  expect({12, 12, 24, 2}, {3, 4, 5}, {2, 3, 4});
}

TEST(PartsOfSamples, FourierNeuralOperatorsAreThoseOfWholeSamples) {
  ModelOptions model = field({24, 12, 3}, 2, {});
  model.type = ModelType::fno;
  model.width = 6;
  model.blocks = 2;
  model.modes = {8, 5};
  model.fields = 2;
  model.activation = Activation::gelu;
  expect_parts(model, "fno");
}

}  // namespace mylos::parts_of_samples_test
