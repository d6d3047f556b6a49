// Every engine of this build, every form of GEMM and every combination of types, against sums in double.
#include "mylos/kernels/gemm/gemm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/tensor_views.hpp"
#include "support/cases.hpp"
#include "support/refusal.hpp"
#include "support/rounding.hpp"

namespace mylos::gemm_test {

using Bytes = Kokkos::View<std::byte*, Device>;

Bytes to_device(const std::vector<float>& values, DType type) {
  Bytes device("operand", values.size() * size_of(type));
  const auto host = Kokkos::create_mirror_view(device);
  dispatch(type, [&]<class T>(TypeTag<T>) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = from_float<T>(values[i]);
      std::memcpy(host.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  Kokkos::deep_copy(device, host);
  return device;
}

std::vector<double> to_host(const Bytes& device, DType type) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
  std::vector<double> values(device.size() / size_of(type));
  dispatch(type, [&]<class T>(TypeTag<T>) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, host.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(to_float(value));
    }
  });
  return values;
}

std::vector<float> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

/// A problem with its operands in device memory, and C as it was before the GEMM.
struct Operands {
  Operands(const GemmProblem& problem, std::size_t workspace_bytes)
      : a(to_device(random_values(problem.m * problem.k, 1), problem.a)),
        b(to_device(random_values(problem.k * problem.n, 2), problem.b)),
        c(to_device(random_values(problem.m * problem.n, 3), problem.c)),
        bias(to_device(random_values(problem.n, 4), problem.bias_type)),
        workspace("workspace", workspace_bytes + guard) {
    Kokkos::deep_copy(all_workspace(), std::byte{0x5a});
  }

  void run(GemmEngine& engine, const GemmProblem& problem) const {
    const Execution execution;
    engine.run(execution, problem, {a.data(), b.data(), c.data(), problem.bias ? bias.data() : nullptr},
               workspace.data());
    execution.fence();
  }

  /// Returns true if the engine stayed within the workspace that it requested.
  bool guard_is_untouched() const {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), all_workspace());
    for (std::size_t i = host.size() - guard; i < host.size(); ++i) {
      if (host(i) != std::byte{0x5a}) return false;
    }
    return true;
  }

  static constexpr std::size_t guard = 256;
  Bytes a;
  Bytes b;
  Bytes c;
  Bytes bias;
  Arena workspace;  // aligned as engines may expect

 private:
  [[nodiscard]] Tensor::FlatView<std::byte> all_workspace() const {
    return Tensor::FlatView<std::byte>(workspace.data(), workspace.bytes());
  }
};

std::unique_ptr<GemmEngine> engine_named(const std::string& name) {
  KernelOptions options;
  options.gemm = name == "cublaslt"    ? GemmChoice::cublaslt
                 : name == "hipblaslt" ? GemmChoice::hipblaslt
                 : name == "onednn"    ? GemmChoice::onednn
                 : name == "tiles"     ? GemmChoice::tiles
                 : name == "kokkos"    ? GemmChoice::kokkos
                                       : GemmChoice::automatic;
  return make_gemm_engine(options);
}

/// Compares every element with its sum in double. The sum of k products is off by at most (k + 2) u_float
/// times the sum of their magnitudes, bias and old C included (Higham, "Accuracy and stability of numerical
/// algorithms", 3.1); then it is rounded once to C's type. A device's library may round the product before it
/// adds it to 16 bits.
void expect_right(GemmEngine& engine, const GemmProblem& problem) {
  const Operands operands(problem, engine.workspace_bytes(problem));
  const auto a = to_host(operands.a, problem.a);
  const auto b = to_host(operands.b, problem.b);
  const auto before = to_host(operands.c, problem.c);
  const auto bias = to_host(operands.bias, problem.bias_type);
  operands.run(engine, problem);
  const auto after = to_host(operands.c, problem.c);
  ASSERT_TRUE(operands.guard_is_untouched());
  for (std::int64_t i = 0; i < problem.m; ++i) {
    for (std::int64_t j = 0; j < problem.n; ++j) {
      const auto at = static_cast<std::size_t>(i * problem.n + j);
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t p = 0; p < problem.k; ++p) {
        const double term =
            a[static_cast<std::size_t>(problem.transpose_a ? p * problem.m + i : i * problem.k + p)] *
            b[static_cast<std::size_t>(problem.transpose_b ? j * problem.k + p : p * problem.n + j)];
        sum += term;
        magnitude += std::abs(term);
      }
      const double extra =
          (problem.bias ? bias[static_cast<std::size_t>(j)] : 0) + (problem.accumulate ? before[at] : 0);
      sum += extra;
      magnitude += std::abs(extra) + (problem.accumulate ? std::abs(before[at]) : 0);
      const double expected = problem.relu ? std::max(sum, 0.0) : sum;
      const double summing = test::summing_error(static_cast<double>(problem.k), magnitude, 2);
      const double product = std::abs(sum - extra);
      const double rounded_first =
          !memory_is_host && problem.accumulate ? product + std::abs(product + std::abs(before[at])) : 0;
      const double bound =
          summing + test::unit_roundoff_of(problem.c) * (std::abs(expected) + rounded_first + summing);
      ASSERT_LE(std::abs(after[at] - expected), bound)
          << "row " << i << ", column " << j << ", k " << problem.k;
    }
  }
}

struct Types {
  DType operand;
  DType result;
};

constexpr Types all_types[] = {{DType::fp32, DType::fp32},
                               {DType::fp16, DType::fp16},
                               {DType::bf16, DType::bf16},
                               {DType::fp16, DType::fp32},
                               {DType::bf16, DType::fp32}};

class EveryEngine : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<GemmEngine> engine_ = engine_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Gemm, EveryEngine, testing::ValuesIn([] {
                           auto names = gemm_engine_names();
                           names.emplace_back("automatic");
                           return names;
                         }()),
                         [](const auto& parameter) { return parameter.param; });

struct Layer {
  std::int64_t samples;
  std::int64_t inputs;
  std::int64_t outputs;
};

// Below, at and above the widths of vectors, panels, strips, tasks and chunks; several panels, strips and
// chunks; and the last layers of classifiers, also with 65 characters, whose rows are odd in 16 bits.
constexpr Layer layers[] = {{1, 1, 1},       {1, 17, 3},     {3, 1, 17},     {17, 3, 1},     {16, 16, 48},
                            {33, 130, 49},   {100, 784, 10}, {200, 70, 310}, {5, 20, 2400},  {3100, 5, 18},
                            {1040, 1090, 7}, {1100, 50, 40}, {40, 2100, 50}, {40, 50, 2100}, {77, 33, 65}};

TEST_P(EveryEngine, ComputesTheThreeGemmsOfALinearLayer) {
  for (std::size_t i = 0; i < std::size(layers); i += test::few_cases ? 3 : 1) {
    const auto [samples, inputs, outputs] = layers[i];
    for (const auto [type, result] : all_types) {
      SCOPED_TRACE(
          fmt::format("{} x {} -> {}, {} -> {}", samples, inputs, outputs, name_of(type), name_of(result)));
      if (type == result) {
        expect_right(*engine_, linear_output(samples, inputs, outputs, type));
        expect_right(*engine_, linear_input_gradient(samples, inputs, outputs, type));
      }
      expect_right(*engine_, linear_weight_gradient(samples, inputs, outputs, type, result));
    }
  }
}

TEST_P(EveryEngine, AddsBiasAndOldValuesAndAppliesReluBeforeRoundingOnce) {
  for (const auto [samples, inputs, outputs] : {Layer{5, 40, 19}, Layer{65, 33, 64}}) {
    for (const auto [type, result] : all_types) {
      for (const DType bias_type : {type, result}) {
        for (int parts = 0; parts < 8; ++parts) {
          GemmProblem problem = linear_output(samples, inputs, outputs, type);
          problem.c = result;
          problem.bias_type = bias_type;
          problem.bias = (parts & 1) != 0;
          problem.accumulate = (parts & 2) != 0;
          problem.relu = (parts & 4) != 0;
          SCOPED_TRACE(fmt::format("{} -> {}, bias {} {}, accumulate {}, relu {}", name_of(type),
                                   name_of(result), problem.bias, name_of(bias_type), problem.accumulate,
                                   problem.relu));
          expect_right(*engine_, problem);
        }
      }
    }
  }
}

TEST_P(EveryEngine, AccumulatesMicroBatchesOfWeightGradients) {
  for (const auto [type, result] : all_types) {
    SCOPED_TRACE(fmt::format("{} -> {}", name_of(type), name_of(result)));
    GemmProblem problem = linear_weight_gradient(37, 130, 50, type, result);
    problem.accumulate = true;
    expect_right(*engine_, problem);
  }
}

TEST_P(EveryEngine, GivesTheSameBitsWhenAGemmIsRepeated) {
  for (const auto [type, result] : all_types) {
    const GemmProblem problem = linear_weight_gradient(300, 200, 100, type, result);
    const Operands first(problem, engine_->workspace_bytes(problem));
    first.run(*engine_, problem);
    const auto expected = to_host(first.c, problem.c);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const Operands again(problem, engine_->workspace_bytes(problem));
      again.run(*engine_, problem);
      EXPECT_EQ(to_host(again.c, problem.c), expected) << name_of(type);
    }
    const auto fresh = engine_named(GetParam());
    const Operands elsewhere(problem, fresh->workspace_bytes(problem));
    elsewhere.run(*fresh, problem);
    EXPECT_EQ(to_host(elsewhere.c, problem.c), expected) << name_of(type);
  }
}

TEST_P(EveryEngine, CarriesNanAndOverflowThroughRelu) {
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    SCOPED_TRACE(name_of(type));
    GemmProblem problem = linear_output(4, 20, 6, type);
    problem.relu = true;
    Operands operands(problem, engine_->workspace_bytes(problem));
    auto a = random_values(problem.m * problem.k, 1);
    a[0] = std::numeric_limits<float>::quiet_NaN();                              // row 0
    a[static_cast<std::size_t>(problem.k)] = std::numeric_limits<float>::max();  // row 1: infinite in half
    operands.a = to_device(a, type);
    operands.run(*engine_, problem);
    const auto c = to_host(operands.c, type);
    for (std::size_t j = 0; j < 6; ++j) EXPECT_TRUE(std::isnan(c[j])) << j;
    for (std::size_t j = 12; j < 24; ++j) EXPECT_TRUE(std::isfinite(c[j])) << j;
    if (type == DType::fp16) {
      for (std::size_t j = 6; j < 12; ++j) EXPECT_TRUE(c[j] == 0 || std::isinf(c[j])) << j << ": " << c[j];
    }
  }
}

TEST(Gemm, TilesSumAnElementInTheSameOrderHoweverTheGemmIsDivided) {
  // The number of threads determines the tiling and must not change the bits. Part of a product equals the
  // product of parts, over several chunks of k, and with rows that are packed in one of the two.
  const auto names = gemm_engine_names();
  if (std::find(names.begin(), names.end(), "tiles") == names.end()) GTEST_SKIP() << "no tiles in this build";
  const auto tiles = engine_named("tiles");
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    const GemmProblem whole = linear_output(1040, 2200, 100, type);
    const GemmProblem part = linear_output(37, 2200, 20, type);
    const Operands all(whole, tiles->workspace_bytes(whole));
    Operands some(part, tiles->workspace_bytes(part));
    some.a = all.a;  // its first rows
    some.b = all.b;  // its first rows, C's first columns
    all.run(*tiles, whole);
    some.run(*tiles, part);
    const auto expected = to_host(all.c, type);
    const auto values = to_host(some.c, type);
    for (std::size_t row = 0; row < 37; ++row) {
      for (std::size_t column = 0; column < 20; ++column) {
        ASSERT_EQ(values[row * 20 + column], expected[row * 100 + column])
            << name_of(type) << ", row " << row;
      }
    }
  }
}

TEST(Gemm, SumsHalfInFloat) {
  // 4096 ones summed in half would stop at 2048; products of 300 by 300 would overflow before they cancel.
  for (const auto& name : gemm_engine_names()) {
    const auto engine = engine_named(name);
    const GemmProblem problem = linear_output(1, 4096, 1, DType::fp16);
    Operands operands(problem, engine->workspace_bytes(problem));
    operands.a = to_device(std::vector<float>(4096, 1.0f), DType::fp16);
    operands.b = operands.a;
    operands.run(*engine, problem);
    EXPECT_EQ(to_host(operands.c, DType::fp16), std::vector<double>{4096.0}) << name;
    std::vector<float> a(4096, 0.0f);
    a[0] = 300.0f;
    a[1] = -300.0f;
    operands.a = to_device(a, DType::fp16);
    operands.b = to_device(std::vector<float>(4096, 300.0f), DType::fp16);
    operands.run(*engine, problem);
    EXPECT_EQ(to_host(operands.c, DType::fp16), std::vector<double>{0.0}) << name;
  }
}

TEST(Gemm, NamesItsEngines) {
  const auto names = gemm_engine_names();
  EXPECT_FALSE(names.empty());
  for (const auto& name : names) EXPECT_EQ(engine_named(name)->name(), name);
}

TEST(Gemm, RefusesAnEngineThatIsNotInThisBuildAndNamesThoseThatAre) {
  const auto names = gemm_engine_names();
  for (const std::string name : {"cublaslt", "hipblaslt", "onednn", "tiles", "kokkos"}) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_in_build, {name, names.front()},
                              [&] { static_cast<void>(engine_named(name)); }));
  }
}

TEST(Gemm, RefusesTypesThatDoNotGoTogether) {
  for (const auto& name : gemm_engine_names()) {
    const auto engine = engine_named(name);
    GemmProblem mixed = linear_output(4, 4, 4, DType::fp16);
    mixed.b = DType::bf16;
    const Operands operands(mixed, std::size_t{1} << 20);
    EXPECT_THROW(operands.run(*engine, mixed), Error) << name;
    GemmProblem narrowed = linear_output(4, 4, 4, DType::fp32);
    narrowed.c = DType::bf16;
    EXPECT_THROW(operands.run(*engine, narrowed), Error) << name;
  }
}

}  // namespace mylos::gemm_test
