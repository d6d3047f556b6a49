// Derivatives of a model, compared with differences of its outputs.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "../../apps/custom_layer/advection.hpp"
#include "inference/stored_models.hpp"
#include "io/support.hpp"
#include "mylos/base/errors/calls.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"

namespace mylos::model_derivatives_test {

using Numbers = std::vector<double>;

/// The outputs of one sample, by a model in float, in double.
class Function {
 public:
  Function(const Model& model, Units units) : model_(model), units_(units) {}

  [[nodiscard]] Numbers operator()(const Numbers& x) const {
    Kokkos::View<double*, Kokkos::HostSpace> in("x", x.size());
    std::copy(x.begin(), x.end(), in.data());
    Kokkos::View<double*, Kokkos::HostSpace> out("y", static_cast<std::size_t>(model_.outputs()));
    model_.infer(Execution(), in, out, units_);
    return {out.data(), out.data() + out.size()};
  }
  /// The derivatives of all outputs with respect to input `i`: differences extrapolated to a step of 0
  /// (Richardson), whose error is of fourth order.
  [[nodiscard]] Numbers derivative(const Numbers& x, std::size_t i, double step) const {
    const Numbers coarse = difference(x, i, step);
    const Numbers fine = difference(x, i, step / 2);
    Numbers result(fine.size());
    for (std::size_t o = 0; o < fine.size(); ++o) result[o] = (4 * fine[o] - coarse[o]) / 3;
    return result;
  }

 private:
  [[nodiscard]] Numbers difference(Numbers x, std::size_t i, double step) const {
    const double at = x[i];
    x[i] = at + step;
    const Numbers above = (*this)(x);
    x[i] = at - step;
    const Numbers below = (*this)(x);
    Numbers result(above.size());
    for (std::size_t o = 0; o < above.size(); ++o) result[o] = (above[o] - below[o]) / (2 * step);
    return result;
  }

  const Model& model_;
  Units units_;
};

double norm_of(const Numbers& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number * number;
  return std::sqrt(sum);
}

/// Smooth networks, so that differences converge: of vectors, and of grids with skips and running statistics.
Options smooth(Options options) {
  options.model.activation = Activation::tanh;
  for (LayerOptions& layer : options.model.chain)
    if (layer.activation != Activation::none) layer.activation = Activation::gelu;
  return options;
}

Options joined_grid() {
  Options options = smooth(test::grid_options(DType::fp32));
  options.model.chain.insert(options.model.chain.begin() + 1,
                             {{.kind = kinds::Concat{}, .name = "beside", .skip_from = "input"},
                              {.kind = kinds::Spectral{.modes = {3}},
                               .name = "wave",
                               .outputs = 6,
                               .norm = NormType::groupnorm,
                               .norm_groups = 2,
                               .activation = Activation::silu}});
  return options;
}

struct Case {
  const char* name;
  Options options;
  Units units = Units::data;
};

std::vector<Case> cases() {
  Options normed = smooth(test::vector_options(DType::fp32));
  normed.model.norm = NormType::layernorm;
  Options residual = joined_grid();
  residual.model.chain.back().outputs = 2;
  residual.model.outputs = 40;
  residual.model.residual = true;
  return {{"vectors", smooth(test::vector_options(DType::fp32))},
          {"norms, in units of the network", normed, Units::network},
          {"classes", smooth(test::vector_options(DType::fp32, losses::CrossEntropy{}))},
          {"logits", smooth(test::vector_options(DType::fp32, losses::CrossEntropy{})), Units::network},
          {"probabilities", smooth(test::vector_options(DType::fp32, losses::BinaryCrossEntropy{}))},
          {"means", smooth(test::vector_options(DType::fp32, losses::Gaussian{}))},
          {"medians", smooth(test::vector_options(DType::fp32, losses::Quantile{}))},
          {"grids", joined_grid()},
          {"residual grids", residual}};
}

class ModelDerivatives : public testing::Test {
 protected:
  Model open(const Options& options, int threads = 1) {
    const bool is_scaled = is_of_numbers(options.model.prediction());
    const test::StoredModel stored(ranks, path, options, is_scaled);
    return Model(path, {.threads = threads, .derivatives = true});
  }
  [[nodiscard]] static Numbers sample(const Model& model) {
    Numbers x(static_cast<std::size_t>(model.inputs()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.3 + 0.9 * std::sin(0.7 * static_cast<double>(i) + 1);
    return x;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string path = folder.path() + "/model.h5";
  Execution exec;
};

TEST_F(ModelDerivatives, AreThoseOfTheOutputs) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Model model = open(each.options);
    const Function function(model, each.units);
    const Numbers x = sample(model);
    Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> jacobian(
        "jacobian", 1, static_cast<std::size_t>(model.outputs()), x.size());
    Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> in("x", 1, x.size());
    std::copy(x.begin(), x.end(), in.data());
    model.jacobian(exec, in, jacobian, each.units);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Numbers expected = function.derivative(x, i, 0.05);
      Numbers wrong;
      for (std::size_t o = 0; o < expected.size(); ++o) wrong.push_back(jacobian(0, o, i) - expected[o]);
      EXPECT_LT(norm_of(wrong), 1e-3 * norm_of(expected)) << "input " << i;
    }
  }
}

TEST_F(ModelDerivatives, ArePulledBackAsByTheJacobianForAnyNumberOfSamples) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const Model model = open(each.options);
    const auto inputs = static_cast<std::size_t>(model.inputs());
    const auto outputs = static_cast<std::size_t>(model.outputs());
    const std::size_t samples = inputs > 10 ? 3 : 300;  // beyond a piece
    Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> x("x", samples, inputs);
    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> dy("dy", samples, outputs);
    Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> dx("dx", samples, inputs);
    Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> j("j", samples, outputs, inputs);
    for (std::size_t s = 0; s < samples; ++s) {
      for (std::size_t i = 0; i < inputs; ++i) x(s, i) = std::sin(static_cast<double>(s * inputs + i));
      for (std::size_t o = 0; o < outputs; ++o) dy(s, o) = std::cos(static_cast<float>(s * outputs + o));
    }
    Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> along("dx", samples, inputs);
    Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> d_outputs("dy", samples, outputs);
    for (std::size_t i = 0; i < along.size(); ++i) along.data()[i] = std::cos(0.3 * static_cast<double>(i));
    model.vjp(exec, x, dy, dx, each.units);
    model.jvp(exec, x, along, d_outputs, each.units);
    model.jacobian(exec, x, j, each.units);
    for (std::size_t s = 0; s < samples; ++s) {
      Numbers expected(inputs), wrong;
      for (std::size_t i = 0; i < inputs; ++i) {
        for (std::size_t o = 0; o < outputs; ++o) expected[i] += static_cast<double>(dy(s, o)) * j(s, o, i);
        wrong.push_back(dx(s, i) - expected[i]);
      }
      EXPECT_LT(norm_of(wrong), 1e-5 * norm_of(expected) + 1e-6) << "sample " << s;
      for (std::size_t o = 0; o < outputs; ++o) {
        double sum = 0;
        double sizes = 0;
        for (std::size_t i = 0; i < inputs; ++i) {
          sum += j(s, o, i) * along(s, i);
          sizes += std::abs(j(s, o, i) * along(s, i));
        }
        EXPECT_NEAR(static_cast<double>(d_outputs(s, o)), sum, 1e-6 * sizes) << "sample " << s;
      }
    }
  }
}

TEST_F(ModelDerivatives, OfANetworkIn16BitsAreThoseOfItsWeightsInFloat) {
  const auto jacobian_of = [&](DType type) {
    const Model model = open(smooth(test::vector_options(type)));
    Kokkos::View<float*, Kokkos::HostSpace> x("x", 6);
    Kokkos::deep_copy(x, 0.4f);
    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> j("j", 4, 6);
    model.jacobian(exec, x, j);
    return std::vector<float>(j.data(), j.data() + j.size());
  };
  const std::vector<float> in_float = jacobian_of(DType::fp32);
  EXPECT_EQ(jacobian_of(DType::bf16), in_float);
  EXPECT_EQ(jacobian_of(DType::fp16), in_float);
}

TEST_F(ModelDerivatives, OfClonesAndOtherWorkspacesAreTheSameBits) {
  const Model model = open(smooth(test::grid_options(DType::fp32)), 2);
  const Model clone = model.clone();
  EXPECT_EQ(clone.bytes().total(), model.bytes().total());
  const auto pulled = [&](const Model& from) {
    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> x("x", 2, 40), dx("dx", 2, 40);
    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> dy("dy", 2, 60);
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = std::sin(static_cast<float>(i));
    Kokkos::deep_copy(dy, 0.5f);
    from.vjp(exec, x, dy, dx);
    return std::vector<float>(dx.data(), dx.data() + dx.size());
  };
  EXPECT_EQ(pulled(clone), pulled(model));
}

TEST_F(ModelDerivatives, OfThreadsAtTheSameTimeAreTheSameBits) {
  constexpr int threads = 3;
  const Model model = open(smooth(test::grid_options(DType::bf16)), threads);
  const auto pulled = [&](int sample) {
    Kokkos::View<float*, Kokkos::HostSpace> x("x", 40), dx("dx", 40), dy("dy", 60);
    for (std::size_t i = 0; i < x.size(); ++i)
      x(i) = std::sin(static_cast<float>(i) * static_cast<float>(sample + 1));
    Kokkos::deep_copy(dy, 0.5f);
    model.vjp(exec, x, dy, dx);
    return std::vector<float>(dx.data(), dx.data() + dx.size());
  };
  std::vector<std::vector<float>> alone;
  for (int sample = 0; sample < threads; ++sample) alone.push_back(pulled(sample));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&, thread] {
      for (int call = 0; call < 50; ++call) {
        const int sample = (thread + call) % threads;
        wrong += pulled(sample) == alone[static_cast<std::size_t>(sample)] ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ModelDerivatives, OfLayersOfAProgram) {
  Options options = test::grid_options(DType::fp32);
  options.model.custom_layers = {std::make_shared<Advection>()};
  options.model.shape = options.data.shape = {20, 2};
  options.model.chain = {
      {.kind = kinds::Conv{.kernel = {3}}, .outputs = 3, .activation = Activation::tanh},
      {.kind = kinds::Custom{.layer = "advection", .settings = {{"speed", 0.25}}}, .name = "moved"},
      {.kind = kinds::Conv{.kernel = {3}}, .outputs = 3}};
  const test::StoredModel stored(ranks, path, options, true);
  const Model model(path, {.derivatives = true, .custom_layers = options.model.custom_layers});
  const Function function(model, Units::data);
  const Numbers x = sample(model);
  Kokkos::View<double*, Kokkos::HostSpace> in("x", x.size()), dx("dx", x.size());
  Kokkos::View<double*, Kokkos::HostSpace> dy("dy", static_cast<std::size_t>(model.outputs()));
  std::copy(x.begin(), x.end(), in.data());
  for (std::size_t o = 0; o < dy.size(); ++o) dy(o) = std::cos(static_cast<double>(o));
  model.vjp(exec, in, dy, dx);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Numbers column = function.derivative(x, i, 0.05);
    double expected = 0;
    for (std::size_t o = 0; o < column.size(); ++o) expected += dy(o) * column[o];
    EXPECT_NEAR(dx(i), expected, 1e-3 * norm_of(column)) << "input " << i;
  }
}

TEST_F(ModelDerivatives, StateTheirMemory) {
  open(test::grid_options(DType::bf16));
  for (const int threads : {1, 3}) {
    const testing_support::AllocationsByLabel allocations;
    const Model counted(path, {.max_samples = 7, .threads = threads, .derivatives = true});
    EXPECT_EQ(testing_support::AllocationsByLabel::total(), counted.bytes().total()) << threads << " threads";
  }
  const Model model(path, {.derivatives = true});
  const InferenceBytes with = Model::memory_of(path, {.derivatives = true});
  const InferenceBytes without = Model::memory_of(path);
  EXPECT_EQ(with.total(), model.bytes().total());
  open(test::grid_options(DType::fp32));
  EXPECT_EQ(with.weights - without.weights, Model::memory_of(path).weights) << "once more, in float";
  EXPECT_GT(with.workspace, without.workspace);
}

TEST_F(ModelDerivatives, AreRefusedWhereTheyWereNotAskedForOrDoNotFit) {
  const Model model = open(test::vector_options(DType::fp32));
  const Model plain(path);
  Kokkos::View<float*, Kokkos::HostSpace> x("x", 6), dx("dx", 6), dy("dy", 4), wrong("wrong", 5);
  Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> j("j", 4, 6), turned("turned", 6, 4);
  EXPECT_TRUE(test::refuses(errors::bad_call, {"Model::vjp", "LoadOptions::derivatives"},
                            [&] { plain.vjp(exec, x, dy, dx); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"Model::jacobian", "LoadOptions::derivatives"},
                            [&] { plain.jacobian(exec, x, j); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"Model::jvp", "LoadOptions::derivatives"},
                            [&] { plain.jvp(exec, x, dx, dy); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"dy"}, [&] { model.jvp(exec, x, dx, wrong); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"dy"}, [&] { model.vjp(exec, x, wrong, dx); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"dx"}, [&] { model.vjp(exec, x, dy, wrong); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"x", "dx"}, [&] { model.vjp(exec, x, dy, x); }));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"j "}, [&] { model.jacobian(exec, x, turned); }));
}

}  // namespace mylos::model_derivatives_test
