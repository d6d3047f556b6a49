// Layers of a program: that of apps/custom_layer among ours, and programs that state what is not so.
#include <gtest/gtest.h>

#include <cmath>

#include "../../apps/custom_layer/advection.hpp"
#include "model/guarded_block.hpp"
#include "model/listed_layers.hpp"
#include "model/recompute.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/network/network.hpp"
#include "support/said.hpp"

namespace mylos::custom_layers_test {

using test::conv;
using test::model_on;

LayerOptions advection(std::string name) {
  return {.kind = kinds::Custom{.layer = "advection", .settings = {{"speed", 0.25}}},
          .name = std::move(name)};
}

/// The program's layer between ours, with all that a layer of a deck may have after it, twice.
ModelOptions network_of(CustomLayers layers) {
  LayerOptions moved = advection("moved");
  moved.norm = NormType::groupnorm;
  moved.norm_groups = 2;
  moved.activation = Activation::gelu;
  moved.repeat = 2;
  ModelOptions model = model_on({12, 2}, 12,
                                {conv("lift", 4, {3}),
                                 moved,
                                 {.kind = kinds::Add{}, .name = "sum", .skip_from = "lift"},
                                 conv("head", 1, {1})});
  model.loss = losses::Mse{};
  model.custom_layers = std::move(layers);
  return model;
}

TEST(CustomLayers, GiveTheSameBitsWhateverIsComputedAgain) {
  const ModelOptions model = network_of({std::make_shared<Advection>()});
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  precision.rules = {{"advection", DType::fp32}};  // by the kind that the program names
  const Chain chain = make_network(model, precision, 3, true);
  EXPECT_EQ(chain.signature(1).name, "moved.1");
  EXPECT_EQ(chain.signature(1).compute_type, DType::fp32);
  test::expect_equal_bits_in_all_types(model, precision.rules);
}

/// Its formula in double, of two channels on 6 points, and the bounds of its rounding.
TEST(CustomLayers, ComputeTheFormulaInEveryType) {
  constexpr std::int64_t rows = 3;
  constexpr std::int64_t points = 6;
  constexpr std::int64_t channels = 2;
  constexpr std::int64_t columns = points * channels;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const CustomBlock made = Advection().make({.name = "a",
                                               .shape = {points, channels},
                                               .type = type,
                                               .compute = type,
                                               .gradient = DType::fp32,
                                               .settings = {}});
    test::GuardedBlock memory(*made.block, rows, true);
    test::set_values(memory.input(), test::drawn_values(rows * columns, 1));
    test::set_values(memory.weights()[0], {0.25F, 0.75F});
    memory.forward();
    test::set_values(memory.output_gradient(), test::drawn_values(rows * columns, 2));
    const std::vector<double> x = test::doubles_of(memory.input());
    const std::vector<double> dy = test::doubles_of(memory.output_gradient());
    memory.backward();
    const std::vector<double> y = test::doubles_of(memory.output());
    const std::vector<double> dx = test::doubles_of(memory.input_gradient());
    const std::vector<double> dc = test::doubles_of(memory.gradients()[0]);
    const double unit = type == DType::fp32 ? 0x1p-24 : type == DType::fp16 ? 0x1p-11 : 0x1p-8;
    double expected_dc[channels] = {};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t point = 0; point < points; ++point) {
        for (std::int64_t channel = 0; channel < channels; ++channel) {
          const auto at = [&](std::int64_t p) {
            return static_cast<std::size_t>(row * columns + (p + points) % points * channels + channel);
          };
          const double c = channel == 0 ? 0.25 : 0.75;
          const double difference = x[at(point)] - x[at(point - 1)];
          const double expected_y = x[at(point)] - c * difference;
          const double expected_dx = (1 - c) * dy[at(point)] + c * dy[at(point + 1)];
          expected_dc[channel] -= dy[at(point)] * difference;
          EXPECT_NEAR(y[at(point)], expected_y, 4 * unit * (std::abs(expected_y) + 1e-3));
          EXPECT_NEAR(dx[at(point)], expected_dx, 4 * unit * (std::abs(expected_dx) + 1e-3));
        }
      }
    }
    for (std::size_t channel = 0; channel < channels; ++channel)
      EXPECT_NEAR(dc[channel], expected_dc[channel], 1e-5 * (1 + std::abs(expected_dc[channel])));
  }
}

TEST(CustomLayers, AreRefusedWhereTheProgramHasNoneOfThatName) {
  const auto refusal = [](const LayerOptions& layer, CustomLayers layers) {
    ModelOptions model = network_of(std::move(layers));
    model.chain[1] = layer;
    return test::refusal_of([&] { static_cast<void>(make_network(model, {}, 1, false)); });
  };
  const CustomLayers own{std::make_shared<Advection>()};
  LayerOptions other = advection("moved");
  std::get<kinds::Custom>(other.kind).layer = "diffusion";
  EXPECT_TRUE(test::says(refusal(other, own), errors::unknown_name, {"'moved'", "'diffusion'", "advection"}));
  EXPECT_TRUE(test::says(refusal(other, {}), errors::unknown_name, {"'moved'", "'diffusion'"}));
  std::get<kinds::Custom>(other.kind).layer = "";
  EXPECT_TRUE(test::says(refusal(other, own), errors::missing_key, {"'moved'", "'layer'"}));
  other = advection("moved");
  std::get<kinds::Custom>(other.kind).settings["sped"] = 1;
  EXPECT_TRUE(test::says(refusal(other, own), errors::unknown_key, {"'moved'", "'sped'", "speed"}));
  EXPECT_TRUE(
      test::says(refusal(advection("moved"), {nullptr, own.front()}), errors::bad_call, {"'moved'", "null"}));
  EXPECT_TRUE(test::says(refusal(advection("moved"), {own.front(), own.front()}), errors::bad_call,
                         {"'moved'", "'advection'", "two"}));
  ModelOptions vector = model_on({12}, 12, {advection("moved")});
  vector.shape = {};
  vector.custom_layers = own;
  EXPECT_TRUE(test::says(test::refusal_of([&] { static_cast<void>(make_network(vector, {}, 1, false)); }),
                         errors::bad_layer, {"'moved'"}));
}

/// An advection that states something else than it computes.
class Liar final : public CustomLayer {
 public:
  struct Lie {
    std::function<void(CustomBlock&)> of_block = [](CustomBlock&) {};
    std::function<void(CustomLayerInput&)> of_input = [](CustomLayerInput&) {};
  };
  explicit Liar(Lie lie) : lie_(std::move(lie)) {}
  [[nodiscard]] std::string name() const override { return "advection"; }
  [[nodiscard]] std::vector<std::string> settings() const override { return {"speed"}; }
  [[nodiscard]] CustomBlock make(const CustomLayerInput& input) const override {
    CustomLayerInput changed = input;
    lie_.of_input(changed);
    CustomBlock made = Advection().make(changed);
    lie_.of_block(made);
    return made;
  }

 private:
  Lie lie_;
};

TEST(CustomLayers, AreRefusedWhereTheyStateWhatIsNotSo) {
  const auto refusal = [](Liar::Lie lie) {
    const ModelOptions model = network_of({std::make_shared<Liar>(std::move(lie))});
    return test::refusal_of([&] { static_cast<void>(make_network(model, {}, 1, false)); });
  };
  const auto of_block = [&](std::function<void(CustomBlock&)> lie) {
    return refusal({.of_block = std::move(lie)});
  };
  const auto of_input = [&](std::function<void(CustomLayerInput&)> lie) {
    return refusal({.of_input = std::move(lie)});
  };
  EXPECT_TRUE(
      test::says(of_block([](CustomBlock& made) { made.block = nullptr; }), errors::bad_call, {"'moved.1'"}));
  EXPECT_TRUE(test::says(of_block([](CustomBlock& made) {
                           made.shape = {13, 4};
                         }),
                         errors::bad_call, {"[13, 4]"}));
  EXPECT_TRUE(test::says(of_block([](CustomBlock& made) {
                           made.shape = {-12, -4};
                         }),
                         errors::bad_call, {"[-12, -4]"}));
  EXPECT_TRUE(test::says(of_block([](CustomBlock& made) {
                           made.shape = {3, 4, 4};
                         }),
                         errors::bad_call, {"[3, 4, 4]"}));
  EXPECT_TRUE(test::says(of_block([](CustomBlock& made) { made.shape = {}; }), errors::bad_call, {"[]"}));
  EXPECT_TRUE(test::says(of_input([](CustomLayerInput& input) { input.name = "other"; }), errors::bad_call,
                         {"'other'"}));
  EXPECT_TRUE(test::says(of_input([](CustomLayerInput& input) { input.shape[0] = 13; }), errors::bad_call,
                         {"52", "48"}));
  EXPECT_TRUE(test::says(of_input([](CustomLayerInput& input) { input.type = DType::fp16; }),
                         errors::bad_call, {"fp16"}));
  EXPECT_TRUE(test::says(of_input([](CustomLayerInput& input) { input.compute = DType::fp16; }),
                         errors::bad_call, {"'speed'", "fp16"}));
  EXPECT_NO_THROW(
      static_cast<void>(make_network(network_of({std::make_shared<Liar>(Liar::Lie{})}), {}, 1, false)));
}

/// An advection whose weights have these names and sizes.
class Renamed final : public CustomLayer {
 public:
  explicit Renamed(std::vector<ParameterSpec> parameters) : parameters_(std::move(parameters)) {}
  [[nodiscard]] std::string name() const override { return "advection"; }
  [[nodiscard]] std::vector<std::string> settings() const override { return {"speed"}; }
  [[nodiscard]] CustomBlock make(const CustomLayerInput& input) const override {
    std::vector<ParameterSpec> parameters = parameters_;
    for (ParameterSpec& parameter : parameters) {
      parameter.type = input.compute;
      parameter.gradient_type = input.gradient;
    }
    return {std::make_unique<const Named>(Advection().make(input).block, std::move(parameters)), input.shape};
  }

 private:
  class Named final : public Block {
   public:
    Named(std::unique_ptr<const Block> block, std::vector<ParameterSpec> parameters)
        : block_(std::move(block)), parameters_(std::move(parameters)) {}
    [[nodiscard]] const Signature& signature() const override { return block_->signature(); }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return parameters_; }
    [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override {
      return block_->cost(engines, rows);
    }
    void forward(const StepContext& /*context*/, const BlockMemory& /*memory*/) const override {}
    void backward(const StepContext& /*context*/, const BlockMemory& /*memory*/,
                  const BlockGradients& /*gradients*/) const override {}

   private:
    std::unique_ptr<const Block> block_;
    std::vector<ParameterSpec> parameters_;
  };

  std::vector<ParameterSpec> parameters_;
};

TEST(CustomLayers, AreRefusedWhereACheckpointCannotHoldTheirWeights) {
  const auto refusal = [](std::vector<ParameterSpec> parameters) {
    const ModelOptions model = network_of({std::make_shared<Renamed>(std::move(parameters))});
    return test::refusal_of([&] { static_cast<void>(make_network(model, {}, 1, false)); });
  };
  for (const char* name : {"", ".", "a/b", "two words"})
    EXPECT_TRUE(test::says(refusal({{.name = name, .columns = 4}}), errors::bad_call, {"'moved.1'", name}));
  EXPECT_TRUE(test::says(refusal({{.name = "speed", .columns = 4}, {.name = "speed", .columns = 4}}),
                         errors::bad_call, {"'speed'"}));
  EXPECT_TRUE(test::says(refusal({{.name = "speed", .rows = 0, .columns = 4}}), errors::bad_call, {"0 x 4"}));
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_TRUE(test::says(refusal({{.name = "speed", .rows = huge, .columns = huge}}), errors::bad_layer,
                         {"a parameter of a custom layer", "64-bit"}));
}

/// A block that states bytes which no arena has.
class UnalignedBlock final : public Block {
 public:
  explicit UnalignedBlock(BlockCost cost) : cost_(std::move(cost)) {}
  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] BlockCost cost(const Engines& /*engines*/, std::int64_t /*rows*/) const override {
    return cost_;
  }
  void forward(const StepContext& /*context*/, const BlockMemory& /*memory*/) const override {}
  void backward(const StepContext& /*context*/, const BlockMemory& /*memory*/,
                const BlockGradients& /*gradients*/) const override {}

 private:
  Signature signature_{.name = "odd", .kind = "odd", .inputs = 16, .outputs = 16};
  BlockCost cost_;
};

TEST(CustomLayers, AreRefusedWhereNoArenaHasTheBytesOfTheirCost) {
  const std::unique_ptr<GemmEngine> gemm = make_gemm_engine({});
  const auto cost_of = [&](const BlockCost& cost) {
    Chain chain = make_network(network_of({std::make_shared<Advection>()}), {}, 1, false);
    chain.blocks[0] = std::make_shared<const UnalignedBlock>(cost);
    static_cast<void>(chain_cost(chain, Engines(*gemm), 4));
  };
  const BlockCost right{.output_bytes = 256, .variants = {{.name = "all"}}};
  EXPECT_NO_THROW(cost_of(right));
  const auto refusal = [&](const std::function<void(BlockCost&)>& change) {
    BlockCost cost = right;
    change(cost);
    return test::refusal_of([&] { cost_of(cost); });
  };
  for (const std::function<void(BlockCost&)>& change : std::vector<std::function<void(BlockCost&)>>{
           [](BlockCost& cost) { cost.variants.clear(); }, [](BlockCost& cost) { cost.output_bytes = 512; },
           [](BlockCost& cost) { cost.forward_workspace = 20; },
           [](BlockCost& cost) { cost.variants[0].saved_bytes = 20; },
           [](BlockCost& cost) { cost.variants[0].backward_workspace = 20; }})
    EXPECT_TRUE(test::says(refusal(change), errors::bad_call, {"'odd'"}));
}

}  // namespace mylos::custom_layers_test
