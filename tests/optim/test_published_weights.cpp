// The fused update against PyTorch's numbers, and Lamb's against Optax's.
#include <gtest/gtest.h>

#include <array>

#include "optim/updates.hpp"
#include "support/device_values.hpp"

namespace mylos::published_weights_test {

using test::chain_of;
using test::control_of;

// A weight [2, 3] with decay 0.1 and a bias [2] without, after five updates in double by PyTorch 2.15:
//   w = torch.tensor([[(i - 3) / 4 for i in range(r*3, r*3+3)] for r in range(2)], dtype=torch.float64)
//   b = torch.tensor([3 / 4, 1.0], dtype=torch.float64)
//   opt = make([{"params": [w]}, {"params": [b], "weight_decay": 0.0}])
//   for t in range(5):
//     g = [(((i * 7 + t * 3) % 11) - 5) / 8 for i in range(8)]     # w.grad = g[:6], b.grad = g[6:]
//     opt.step()
// with make = SGD(lr=0.1, momentum=0.9, weight_decay=0.1), Adam(lr=0.01, weight_decay=0.1) and
// AdamW(lr=0.01, weight_decay=0.1), else as by default. Of SGD(nesterov=True) and of Lion(lr=0.01,
// betas=(0.9, 0.99), weight_decay=0.1): the same by the loops that PyTorch's documentation of SGD and arXiv
// 2302.06675 (program 1) give, in double by Python. Of Lamb: the same in double by Optax 0.2.8 with
//   optax.lamb(0.01, eps=1e-8, weight_decay=0.1, mask={"w": True, "b": False})
struct Published {
  OptimizerType type;
  double lr;
  std::array<double, 8> weights;
  bool nesterov = false;
};
const std::array<Published, 6> published{{
    {OptimizerType::sgd,
     0.1,
     {-0.402568268800, -0.680573285700, -0.188248658725, -0.128104188125, 0.133609701350, 0.625934328325,
      0.641070000000, 1.075412500000}},
    {OptimizerType::adam,
     0.01,
     {-0.717793738864, -0.525986187273, -0.236203044961, -0.016259058342, 0.228030812652, 0.519499105110,
      0.737346151697, 1.001246265824}},
    {OptimizerType::adamw,
     0.01,
     {-0.718373713264, -0.527112079103, -0.237979538950, -0.016283413951, 0.228880062554, 0.522071297259,
      0.737346151697, 1.001246265824}},
    {OptimizerType::sgd,
     0.1,
     {-0.339923244415, -0.717498063280, -0.158888750303, -0.107463720707, 0.113281555060, 0.671890868037,
      0.576963000000, 1.105371250000},
     true},
    {OptimizerType::lion,
     0.01,
     {-0.736297412554, -0.527445074953, -0.238752477531, -0.009960039970, 0.238792417551, 0.527445074953,
      0.740000000000, 1.000000000000}},
    {OptimizerType::lamb,
     0.01,
     {-0.723519041268, -0.522965083389, -0.243966502265, -0.013306272235, 0.237431386995, 0.519146442809,
      0.731559371587, 1.016769612203}},
}};

TEST(Optimizer, GivesThePublishedProgramsWeights) {
  for (const Published& torch : published) {
    for (const GradientType gradient : {GradientType::compute, GradientType::fp32}) {
      for (const DType compute : {DType::fp32, DType::fp16, DType::bf16}) {
        ParameterStore store(make_parameter_layout(chain_of({}, 3, 2, compute, gradient), 1 << 20, 1));
        const ParameterSlot& weight = store.layout().slots[0];
        const ParameterSlot& bias = store.layout().slots[1];
        test::set_values(store.master(weight), {-0.75f, -0.5f, -0.25f, 0, 0.25f, 0.5f});
        test::set_values(store.master(bias), {0.75f, 1});
        OptimizerOptions options;
        options.type = torch.type;
        options.lr = torch.lr;
        options.weight_decay = 0.1;
        options.nesterov = torch.nesterov;
        if (torch.type == OptimizerType::lion) options.beta2 = 0.99;
        const Optimizer optimizer(options, store, std::array{4.0f});
        const Execution exec;
        for (int t = 0; t < 5; ++t) {
          std::vector<float> g;  // scaled by 64; eighths stay exact in every type
          for (int i = 0; i < 8; ++i) g.push_back(static_cast<float>((i * 7 + t * 3) % 11 - 5) * 8);
          test::set_values(store.gradient(weight), {g.begin(), g.begin() + 6});
          test::set_values(store.gradient(bias), {g.begin() + 6, g.end()});
          const test::DeviceValue<UpdateControl> control(control_of(options, t + 1, 1.0f / 16));
          optimizer.update(exec, control.data());
          exec.fence();
        }
        std::vector<float> masters = test::values_of(store.master(weight));
        for (const float value : test::values_of(store.master(bias))) masters.push_back(value);
        for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(masters[i], torch.weights[i], 5e-7) << i;
        for (const ParameterSlot& slot : store.layout().slots) {
          const auto values = test::values_of(store.master(slot));
          const auto weights = test::values_of(store.compute_weight(slot));
          for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(weights[i], test::rounded_to(compute, values[i]));
        }
      }
    }
  }
}

}  // namespace mylos::published_weights_test
