// What is drawn for samples in boxes, one on each rank, is the box's part of what is drawn for whole samples.
#include <fmt/ranges.h>

#include <algorithm>

#include "model/parts_of_samples.hpp"
#include "mylos/kernels/pointwise/fields/box_of_part.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"

namespace mylos::drawn_parts_test {

using parts_of_samples_test::Batch;
using parts_of_samples_test::expect_parts;
using parts_of_samples_test::field;
using parts_of_samples_test::Result;
using parts_of_samples_test::rows;
using parts_of_samples_test::step_of;
using parts_of_samples_test::with_norm;
using test::conv;

LayerOptions dropping(LayerOptions layer, double probability = 0.3) {
  layer.dropout = probability;
  return layer;
}

LayerOptions activation(Activation activation) {
  return dropping({.kind = kinds::Activation{}, .activation = activation});
}

/// Layers whose numbers are those of their own points alone, so that all bits are those of whole samples.
TEST(DrawnParts, MasksOfBoxesAreThoseOfWholeSamples) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{24, 12, 4},
                                                 {12, 12, 5},
                                                 {12, 24, 3},
                                                 {24, 6},
                                                 {4, 12, 6, 7},
                                                 {6, 4, 12, 1}}) {
    const GridShape grid = grid_of(shape);
    const ModelOptions model =
        field(shape, grid.channels,
              {activation(Activation::none), activation(Activation::gelu), activation(Activation::tanh)});
    const Batch batch(model);
    const Result whole = step_of(model, DType::fp32, batch, nullptr);
    EXPECT_GT(std::count(whole.outputs.begin(), whole.outputs.end(), 0.0f), 0);
    for (const GridPart& part : test::own_parts()) {
      if (!test::divides(part, grid.extent)) continue;
      ModelOptions of_box = model;
      of_box.part = part;
      Batch own = batch;
      own.inputs = test::cropped(batch.inputs, grid, part);
      own.targets = test::cropped(batch.targets, grid, part);
      const Result box = step_of(of_box, DType::fp32, own, nullptr);
      const std::string what = fmt::format("[{}] in {} x {} x {} boxes", fmt::join(shape, ", "),
                                           part.boxes[0], part.boxes[1], part.boxes[2]);
      EXPECT_EQ(box.outputs, test::cropped(whole.outputs, grid, part)) << what;
      const bool is_exact = (part.count() & (part.count() - 1)) == 0;  // a mean over a power of two
      if (is_exact) {
        EXPECT_EQ(box.input_gradient, test::cropped(whole.input_gradient, grid, part)) << what;
      }
    }
  }
}

TEST(DrawnParts, NetworksWithDropoutAreThoseOfWholeSamples) {
  LayerOptions up = dropping(conv("up", 6, {4}, {2}));
  up.kind = kinds::Conv{.kernel = {4}, .stride = {2}, .padding = {1}, .transposed = true};
  up.activation = Activation::relu;
  LayerOptions fused = dropping(conv("fused", 5, {3}));
  fused.activation = Activation::tanh;
  const std::vector<LayerOptions> layers{dropping(with_norm(conv("a", 6, {3}), NormType::layernorm)),
                                         fused,
                                         dropping(conv("alone", 4, {3}, {2})),
                                         up,
                                         dropping({.kind = kinds::Spectral{.modes = {5, 6}}, .outputs = 3}),
                                         conv("head", 2, {1})};
  const ModelOptions model = field({24, 24, 2}, 2, layers);
  expect_parts(model, "dropout");
  expect_parts(model, "dropout in bf16", DType::bf16);

  ModelOptions classifier = test::model_on({24, 24, 3}, 5,
                                           {dropping(conv("a", 4, {3})),
                                            dropping({.kind = kinds::GlobalPool{}}),
                                            dropping({.kind = kinds::Dense{}, .outputs = 7}),
                                            {.kind = kinds::Dense{}}});
  expect_parts(classifier, "classifier with dropout");
}

TEST(DrawnParts, NoiseOfFirstInputsIsThatOfWholeSamples) {
  const Execution exec;
  for (const std::int64_t channels : {1, 3, 4}) {
    const GridShape grid{{4, 12, 6}, channels};
    const std::vector<FeedbackEntry> entries(static_cast<std::size_t>(channels), {.noise = 0.5f});
    const Arena table("table", 4096);
    test::copy_to_device(entries.data(), table.data(), entries.size() * sizeof(FeedbackEntry));
    const FeedbackTables tables{.inputs = reinterpret_cast<const FeedbackEntry*>(table.data())};
    const test::DeviceValue<std::uint64_t> step(3);
    const auto first = [&](const GridShape& own, std::optional<GridBox> box) {
      const Arena numbers("numbers", 1 << 16);
      const Tensor x(numbers.data(), DType::fp32, rows, own.columns());
      test::set_values(x, std::vector<float>(static_cast<std::size_t>(x.size()), 0.0f));
      const FeedbackShape shape{
          .points = own.points(), .inputs = channels, .outputs = channels, .rows = channels};
      first_input(exec, shape, tables, x,
                  {RandomStream(9, RandomPurpose::augmentation, "noise"), true, step.data(), 5, box}, x);
      exec.fence();
      return test::values_of(x);
    };
    const std::vector<float> whole = first(grid, std::nullopt);
    for (const GridPart& part : test::own_parts()) {
      if (!test::divides(part, grid.extent)) continue;
      const GridShape own = test::box_of(grid, part);
      EXPECT_EQ(first(own, box_of_part(own, part)), test::cropped(whole, grid, part))
          << channels << " channels";
    }
  }
}

}  // namespace mylos::drawn_parts_test
