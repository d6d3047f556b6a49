// Networks of samples in boxes whose sums are taken by the same boxes (GridPart::sums): every division has
// the bits of whole samples.
#include "model/parts_of_samples.hpp"
#include "mylos/base/device/each_index.hpp"

namespace mylos::parts_of_samples_test {

using test::conv;

/// Every division has the bits of whole samples, if both take sums by the same boxes.
void expect_bits(const ModelOptions& model, const Extents& sums, const std::string& name, DType compute) {
  const Batch batch(model);
  const GridShape input = grid_of(model.shape);
  const auto step_with = [&](const GridPart& part, SampleRanks& ranks) {
    ModelOptions of_part = model;
    of_part.part = part;
    for (std::size_t axis = 0; axis < 3; ++axis) of_part.part.sums[axis] = sums[axis] / part.boxes[axis];
    Batch own = batch;
    own.inputs = test::cropped(batch.inputs, input, part);
    own.targets = test::cropped(batch.targets, grid_of_sample(model, model.outputs), part);
    return step_of(of_part, compute, own, &ranks, keeping_all, true);
  };
  test::OwnSamples one_rank;
  const Result whole = step_with({}, one_rank);
  std::size_t tested = 0;
  for (const GridPart& part : test::own_parts()) {
    bool in_order = true;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (sums[axis] % part.boxes[axis] != 0) in_order = false;
      for (std::size_t before = 0; before < axis; ++before)
        if (part.boxes[axis] > 1 && part.boxes[before] < sums[before]) in_order = false;
    }
    if (!in_order) continue;
    ++tested;
    test::MpiSampleRanks ranks(part);
    const Result box = step_with(part, ranks);
    const std::string what = fmt::format("{}, {}, in {} x {} x {} boxes", name, name_of(compute),
                                         part.boxes[0], part.boxes[1], part.boxes[2]);
    const auto numbers = static_cast<std::int64_t>(whole.outputs.size()) / rows;
    EXPECT_EQ(box.outputs, test::cropped(whole.outputs, grid_of_sample(model, numbers), part)) << what;
    EXPECT_EQ(box.input_gradient.empty(), !wants_input_gradient(compute)) << what;
    if (wants_input_gradient(compute)) {
      EXPECT_EQ(box.input_gradient, test::cropped(whole.input_gradient, input, part)) << what;
    }
    const std::vector<float> own(box.gradients.begin(), box.gradients.end());
    EXPECT_EQ(test::summed_by_tree(own), std::vector<float>(whole.gradients.begin(), whole.gradients.end()))
        << what;
    EXPECT_NEAR(test::summed({box.loss})[0] / static_cast<double>(part.count()), whole.loss,
                1e-14 * whole.loss)
        << what;
  }
  EXPECT_GT(tested, 0u) << name;
}

TEST(SumsByBoxes, HaveTheBitsOfEveryDivision) {
  if (!runs_on_host) GTEST_SKIP() << "the engine is one of hosts";
  if (test::world_size() == 3) return;  // no power of two
  LayerOptions ring = conv("ring", 4, {5, 3});
  std::get<kinds::Conv>(ring.kind).edges = Padding::periodic;
  LayerOptions grouped = conv("grouped", 4, {3}, {2});
  std::get<kinds::Conv>(grouped.kind).groups = 2;
  LayerOptions mirrored = with_norm(conv("mirrored", 4, {3}), NormType::groupnorm, Activation::relu);
  std::get<kinds::Conv>(mirrored.kind).edges = Padding::reflect;
  LayerOptions up{.kind = kinds::Conv{.kernel = {4}, .stride = {2}, .padding = {1}, .transposed = true},
                  .name = "up",
                  .outputs = 6};
  ModelOptions model = field({16, 24, 2}, 2,
                             {{.kind = kinds::Coordinates{}},
                              with_norm(ring, NormType::groupnorm),
                              {.kind = kinds::MaxPool{{.kernel = {3}, .stride = {2}, .padding = {1}}}},
                              {.kind = kinds::Upsample{.between = Between::linear}},
                              with_norm(grouped, NormType::layernorm, Activation::silu),
                              {.kind = kinds::Norm{}, .norm = NormType::rmsnorm},
                              up,
                              mirrored,
                              {.kind = kinds::Add{.gated = true}, .skip_from = "ring"},
                              conv("head", 2, {1})});
  for (const DType compute : {DType::fp32, DType::bf16, DType::fp16})
    expect_bits(model, {1, 4, 2}, "layers", compute);
  const auto spectral = [](const char* name, Activation activation) -> LayerOptions {
    return {.kind = kinds::Spectral{.modes = {6, 9}}, .name = name, .outputs = 3, .activation = activation};
  };
  const ModelOptions modes = field(
      {16, 24, 2}, 3, {spectral("a", Activation::gelu), conv("b", 3, {3}), spectral("c", Activation::none)});
  for (const DType compute : {DType::fp32, DType::bf16}) expect_bits(modes, {1, 4, 2}, "spectral", compute);
  auto weights = std::make_shared<PointWeights>();
  weights->extents = {16, 24};
  weights->values = test::random_values(DType::fp32, 16 * 24, 0, 2, 7);
  model.point_weights = weights;
  for (const Loss& loss : std::vector<Loss>{losses::L1{}, losses::Huber{}, losses::Gaussian{},
                                            losses::Quantile{.levels = {0.1, 0.5}}}) {
    model.loss = loss;
    expect_bits(model, {1, 2, 2}, std::string(name_of(loss)), DType::fp32);
  }
  expect_bits(field({48, 2}, 3, {with_norm(conv("a", 4, {7}), NormType::groupnorm), conv("b", 3, {3})}),
              {1, 1, 4}, "line", DType::fp32);
  expect_bits(field({8, 12, 8, 2}, 3, {with_norm(conv("a", 4, {3}), NormType::layernorm), conv("b", 3, {3})}),
              {2, 2, 2}, "volume", DType::fp32);
}

}  // namespace mylos::parts_of_samples_test
