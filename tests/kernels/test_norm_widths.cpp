// Norms of rows that the lanes of a device's threads hold (up to 2048 columns forward, 768 and 1024 backward)
// or do not: residual sums before them, gradients that bypass them, and the sums over many rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "mylos/kernels/norm/layernorm.hpp"
#include "mylos/kernels/norm/rmsnorm.hpp"

namespace mylos::norm_widths_test {

constexpr float epsilon = 1e-5f;
constexpr std::int64_t widths[] = {5, 48, 768, 1024, 1600, 2056};

/// A layer of 37 rows: three blocks, the last of which has fewer rows than a team has threads.
struct Layer {
  static constexpr std::int64_t rows = 37;

  Layer(DType type, std::int64_t width)
      : past(type, rows, width, test::random_values(type, rows * width, -2, 3, 1)),
        branch(type, rows, width, test::random_values(type, rows * width, -1, 1, 2)),
        dy(type, rows, width, test::random_values(type, rows * width, -1, 1, 3)),
        gamma(type, 1, width, test::random_values(type, width, 0.5f, 1.5f, 4)),
        beta(type, 1, width, test::random_values(type, width, -1, 1, 5)),
        x(type, rows, width),
        y(type, rows, width),
        dx(type, rows, width),
        mean(DType::fp32, 1, rows),
        rstd(DType::fp32, 1, rows),
        dgamma(DType::fp32, 1, width),
        dbeta(DType::fp32, 1, width),
        workspace("workspace", layernorm_backward_workspace(rows, width)) {}

  [[nodiscard]] std::vector<std::vector<std::byte>> results() const {
    Execution().fence();
    return {x.bytes(), y.bytes(), mean.bytes(), rstd.bytes()};
  }
  void backward(bool rms, const Tensor& d_in, const ConstTensor& residual) const {
    if (rms) {
      rmsnorm_backward(Execution{}, x, dy, gamma, rstd.floats(), d_in, dgamma, false, workspace.data(),
                       residual);
    } else {
      layernorm_backward(Execution{}, x, dy, gamma, mean.floats(), rstd.floats(), d_in, dgamma, dbeta, false,
                         workspace.data(), residual);
    }
    Execution().fence();
  }

  test::Matrix past, branch, dy, gamma, beta, x, y, dx, mean, rstd, dgamma, dbeta;
  Arena workspace;
};

template <class Test>
void for_all(const Test& test) {
  for (const std::int64_t width : widths) {
    for (const DType type : test::all_types) {
      SCOPED_TRACE(fmt::format("{}, {} columns", name_of(type), width));
      test(Layer(type, width));
    }
  }
}

TEST(NormOfSum, HasTheBitsOfTheSumAndItsNorm) {
  const test::DeviceValue<std::uint64_t> step{7};
  for_all([&](const Layer& layer) {
    for (const float probability : {0.0f, 0.25f}) {
      const Dropout dropout{RandomStream(3, RandomPurpose::dropout, "a"), probability, step.data(), 11};
      residual_forward(Execution{}, layer.past, layer.branch, layer.x, dropout);
      layernorm_forward(Execution{}, layer.x, layer.gamma, layer.beta, layer.y, layer.mean.floats(),
                        layer.rstd.floats(), epsilon);
      const auto separate = layer.results();
      test::set_values(layer.x, std::vector<float>(static_cast<std::size_t>(layer.x.tensor().size()), 9.0f));
      layernorm_forward_of_sum(Execution{}, {layer.past, layer.branch, layer.x, dropout}, layer.gamma,
                               layer.beta, layer.y, layer.mean.floats(), layer.rstd.floats(), epsilon);
      EXPECT_TRUE(layer.results() == separate) << "layer norm";

      rmsnorm_forward(Execution{}, layer.x, layer.gamma, layer.y, layer.rstd.floats(), epsilon);
      const auto by_rms = layer.results();
      rmsnorm_forward_of_sum(Execution{}, {layer.past, layer.branch, layer.x, dropout}, layer.gamma, layer.y,
                             layer.rstd.floats(), epsilon);
      EXPECT_TRUE(layer.results() == by_rms) << "RMS norm";
    }
  });
}

TEST(NormOfSum, MayOverwriteTheBranch) {
  for_all([](const Layer& layer) {
    layernorm_forward_of_sum(Execution{}, {layer.past, layer.branch, layer.x}, layer.gamma, layer.beta,
                             layer.y, layer.mean.floats(), layer.rstd.floats(), epsilon);
    const auto expected = layer.results();
    layernorm_forward_of_sum(Execution{}, {layer.past, layer.branch, layer.branch}, layer.gamma, layer.beta,
                             layer.y, layer.mean.floats(), layer.rstd.floats(), epsilon);
    EXPECT_TRUE(layer.results() == expected);
    EXPECT_TRUE(layer.branch.bytes() == layer.x.bytes());
  });
}

/// The gradient that bypasses the norm is added, in place too; parameters get the sums over all rows.
TEST(NormGradient, AddsTheBypassAndSumsOverRows) {
  for_all([](const Layer& layer) {
    residual_forward(Execution{}, layer.past, layer.branch, layer.x, {});
    for (const bool rms : {false, true}) {
      if (rms) {
        rmsnorm_forward(Execution{}, layer.x, layer.gamma, layer.y, layer.rstd.floats(), epsilon);
      } else {
        layernorm_forward(Execution{}, layer.x, layer.gamma, {}, layer.y, layer.mean.floats(),
                          layer.rstd.floats(), epsilon);
      }
      layer.backward(rms, layer.dx, {});
      const auto through = layer.dx.values();
      const auto bypass = layer.past.values();
      layer.backward(rms, layer.dx, layer.past);
      const auto sums = layer.dx.values();
      const DType type = layer.dx.tensor().type();
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double expected = static_cast<double>(through[i]) + bypass[i];
        ASSERT_NEAR(sums[i], expected,
                    test::rounding_error(type, through[i]) + 1.01 * test::rounding_error(type, expected));
      }
      const test::Matrix in_place(type, Layer::rows, layer.past.tensor().columns(), bypass);
      layer.backward(rms, in_place, in_place);
      EXPECT_TRUE(in_place.bytes() == layer.dx.bytes());

      const auto x = layer.x.values();
      const auto dy = layer.dy.values();
      const auto mean = layer.mean.values();
      const auto rstd = layer.rstd.values();
      const auto dgamma = layer.dgamma.values();
      const auto dbeta = layer.dbeta.values();
      for (std::size_t i = 0; i < dgamma.size(); ++i) {
        double sum = 0, size = 0, of_dy = 0, size_of_dy = 0;
        for (std::size_t row = 0; row < std::size_t{Layer::rows}; ++row) {
          const double d = dy[row * dgamma.size() + i];
          const double centre = rms ? 0.0 : mean[row];
          sum += d * (x[row * dgamma.size() + i] - centre) * rstd[row];
          size += std::abs(d) * (std::abs(x[row * dgamma.size() + i]) + std::abs(centre)) * rstd[row];
          of_dy += d;
          size_of_dy += std::abs(d);
        }
        ASSERT_NEAR(dgamma[i], sum, test::summing_error(Layer::rows, size, 4)) << i;
        if (rms) continue;
        ASSERT_NEAR(dbeta[i], of_dy, test::summing_error(Layer::rows, size_of_dy)) << i;
      }
    }
  });
}

TEST(NormGradient, HasTheSameBitsAgainAndOnFewerThreads) {
  for_all([](const Layer& layer) {
    residual_forward(Execution{}, layer.past, layer.branch, layer.x, {});
    layernorm_forward(Execution{}, layer.x, layer.gamma, {}, layer.y, layer.mean.floats(),
                      layer.rstd.floats(), epsilon);
    layer.backward(false, layer.dx, {});
    const auto expected = std::vector{layer.dx.bytes(), layer.dgamma.bytes(), layer.dbeta.bytes()};
    for (const Execution& exec : test::narrower_executions()) {
      layernorm_backward(exec, layer.x, layer.dy, layer.gamma, layer.mean.floats(), layer.rstd.floats(),
                         layer.dx, layer.dgamma, layer.dbeta, false, layer.workspace.data(), {});
      exec.fence();
      const auto found = std::vector{layer.dx.bytes(), layer.dgamma.bytes(), layer.dbeta.bytes()};
      EXPECT_TRUE(found == expected) << exec.concurrency();
    }
  });
}

}  // namespace mylos::norm_widths_test
