// Dense against central differences of a double forward pass, in memory of exactly the stated bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"
#include "mylos/model/layers/dense/dense.hpp"

namespace mylos::dense_test {

using test::Numbers;

constexpr std::int64_t rows = 9;
constexpr std::int64_t inputs = 13;
constexpr std::int64_t outputs = 11;

struct Case {
  Activation activation;
  double dropout;
  DType input_type;
  DType type;
  DType gradient_type;
};

void PrintTo(const Case& test, std::ostream* out) {
  constexpr std::array names{"none", "relu", "gelu", "gelu_tanh", "tanh", "silu"};
  *out << names[static_cast<std::size_t>(test.activation)] << ", dropout " << test.dropout << ", "
       << name_of(test.input_type) << " -> " << name_of(test.type) << ", gradients "
       << name_of(test.gradient_type);
}

DenseOptions options_of(const Case& test) {
  DenseOptions options;
  options.name = "hidden1";
  options.inputs = inputs;
  options.outputs = outputs;
  options.activation = test.activation;
  options.dropout = test.dropout;
  options.input_type = test.input_type;
  options.type = test.type;
  options.gradient_type = test.gradient_type;
  options.seed = 5;
  return options;
}

using test::unit_roundoff_of;

/// Largest |activation''|: the factor by which a rounded z can change the derivative. relu and none are
/// piecewise linear; the others have the maximum at 0 (gelu: 2·density(0); silu: 1/2) or at tanh² = 1/3.
double curvature(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return 0.798;
    case Activation::tanh:
      return 0.770;
    case Activation::silu:
      return 0.5;
    default:
      return 0;
  }
}
constexpr double steepest = 1.13;  // largest |activation'| of all five (gelu's)

class DenseGradients : public testing::TestWithParam<Case> {
 protected:
  DenseGradients() {
    test::set_values(memory.weights()[0], test::drawn_values(inputs * outputs, 1, 0.5f));
    test::set_values(memory.weights()[1], test::drawn_values(outputs, 2, 0.25f));
    // An offset of 1/512 on the grid of 1/256 keeps every z away from relu's kink.
    std::vector<float> x = test::drawn_values(rows * inputs, 3);
    test::set_values(memory.input(), x);
    std::vector<float> bias = test::values_of(memory.weights()[1]);
    for (float& value : bias) value += 1.0f / 512;
    test::set_values(memory.weights()[1], bias);
    seed_gradient();
    reference = {.inputs = inputs,
                 .outputs = outputs,
                 .activation = GetParam().activation,
                 .weight = test::doubles_of(memory.weights()[0]),
                 .bias = test::doubles_of(memory.weights()[1])};
    if (GetParam().dropout > 0) {
      reference.mask = test::dropout_mask(5, "hidden1", GetParam().dropout, test::GuardedBlock::step,
                                          test::GuardedBlock::first_sample, rows, outputs);
    }
    input = test::doubles_of(memory.input());
    const Numbers z = reference.pre_activation(input);
    for (const double value : z)
      EXPECT_GT(std::abs(value), 1e-3) << "too near to relu's kink for differences";
    set_bounds(z);
  }

  void seed_gradient() { test::set_values(memory.output_gradient(), test::drawn_values(rows * outputs, 4)); }
  [[nodiscard]] double mask(std::size_t e) const { return reference.mask.empty() ? 1 : reference.mask[e]; }

  /// loss = sum of seed ∘ y, whose gradient by y is the seed.
  [[nodiscard]] double loss() const {
    const Numbers y = reference.forward(input);
    double sum = 0;
    for (std::size_t e = 0; e < y.size(); ++e) sum += seed[e] * y[e];
    return sum;
  }

  /// Bounds of rounding errors, element by element. With u the unit roundoff of the compute type:
  ///   z   is stored:                       |δz|  <= u |z| + float's share
  ///   y   = mask·act(z), stored:           |δy|  <= mask·max|act'|·|δz| + u |y|
  ///   dz  = seed·mask·act'(kept), stored:  |δdz| <= |seed|·mask·max|act''|·|δz| + u |dz|
  /// tanh without dropout uses 1 - y² of the stored y instead: 2 |y| |δy| <= 4u replaces act''·|δz|.
  void set_bounds(const Numbers& z) {
    seed = test::doubles_of(memory.output_gradient());
    const double u = unit_roundoff_of(GetParam().type);
    const bool from_output = GetParam().activation == Activation::tanh && GetParam().dropout == 0;
    for (std::size_t e = 0; e < z.size(); ++e) {
      double at = z[e];
      const auto value = [&] { return test::activation_value(GetParam().activation, at); };
      const double y = mask(e) * value();
      const double dz = seed[e] * mask(e) * test::central_difference(at, value);
      const double z_error = u * std::abs(z[e]) + float_share;
      y_bound.push_back(mask(e) * steepest * z_error + u * std::abs(y) + float_share);
      const double kept_error = from_output ? 4 * u : curvature(GetParam().activation) * z_error;
      dz_bound.push_back(std::abs(seed[e]) * mask(e) * kept_error + u * std::abs(dz) + float_share);
    }
  }

  void expect_near(const Tensor& tensor, const Numbers& exact, const Numbers& bound, const char* what) const {
    const std::vector<float> values = test::values_of(tensor);
    ASSERT_EQ(values.size(), exact.size());
    for (std::size_t e = 0; e < exact.size(); ++e) {
      EXPECT_NEAR(values[e], exact[e], bound[e]) << what << " " << e;
    }
  }

  /// Bounds of sums over rows or outputs: the terms' errors add up, and the sum is rounded once.
  void expect_gradients(double times) {
    const double u = unit_roundoff_of(GetParam().type);
    const double gradient_u = unit_roundoff_of(GetParam().gradient_type);
    const double input_u = u + unit_roundoff_of(GetParam().input_type);
    const auto differences = [&](Numbers& values) {
      Numbers gradient = test::central_differences(values, [&] { return loss(); });
      for (double& value : gradient) value *= times;
      return gradient;
    };
    const Numbers dw = differences(reference.weight);
    const Numbers db = differences(reference.bias);
    const Numbers dx = differences(input);
    Numbers dw_bound, db_bound, dx_bound;
    for (std::size_t j = 0; j < outputs; ++j) {
      double terms = 0;
      for (std::size_t r = 0; r < rows; ++r) terms += times * dz_bound[r * outputs + j];
      db_bound.push_back(terms + gradient_u * std::abs(db[j]) + float_share);
      for (std::size_t i = 0; i < inputs; ++i) {
        terms = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          terms += times * dz_bound[r * outputs + j] * std::abs(input[r * inputs + i]);
        }
        dw_bound.push_back(terms + gradient_u * std::abs(dw[j * inputs + i]) + float_share);
      }
    }
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t i = 0; i < inputs; ++i) {
        double terms = 0;
        for (std::size_t j = 0; j < outputs; ++j) {
          terms += dz_bound[r * outputs + j] * std::abs(reference.weight[j * inputs + i]);
        }
        dx_bound.push_back(terms + input_u * std::abs(dx[r * inputs + i] / times) + float_share);
      }
    }
    expect_near(memory.gradients()[0], dw, dw_bound, "weight gradient");
    expect_near(memory.gradients()[1], db, db_bound, "bias gradient");
    if (times == 1) expect_near(memory.input_gradient(), dx, dx_bound, "input gradient");
  }

  /// Sums in float of about ten terms with a total magnitude of 16, with ten roundings each.
  static constexpr double float_share = 16 * (10 + 10) * test::u;
  Dense dense{options_of(GetParam())};
  test::GuardedBlock memory{dense, rows, true};
  test::ReferenceDense reference;
  Numbers input, seed, y_bound, dz_bound;
};

TEST_P(DenseGradients, AgreeWithCentralDifferencesInDouble) {
  memory.forward();
  expect_near(memory.output(), reference.forward(input), y_bound, "output");
  memory.backward();
  expect_gradients(1);
}

TEST_P(DenseGradients, AreTheSameBitsWhateverIsKept) {
  const auto bits = [](const test::GuardedBlock& of) {
    return std::vector{test::bytes_of(of.input_gradient()), test::bytes_of(of.gradients()[0])};
  };
  memory.forward();
  memory.backward();
  for (std::size_t variant = 0; variant < memory.cost().variants.size(); ++variant) {
    test::GuardedBlock other(dense, rows, true, variant);
    test::set_values(other.weights()[0], test::values_of(memory.weights()[0]));
    test::set_values(other.weights()[1], test::values_of(memory.weights()[1]));
    test::set_values(other.input(), test::values_of(memory.input()));
    test::set_values(other.output_gradient(), test::drawn_values(rows * outputs, 4));
    other.forward(true, false);  // saves nothing
    EXPECT_EQ(test::bytes_of(other.output()), test::bytes_of(memory.output()));
    other.forward();
    other.backward();
    EXPECT_EQ(bits(other), bits(memory));
  }
}

class AccumulatedDenseGradients : public DenseGradients {};  // they are float

TEST_P(AccumulatedDenseGradients, OfTwoMicroBatchesAddUp) {
  memory.forward();
  memory.backward();
  seed_gradient();  // backward may have overwritten it
  memory.backward(true);
  expect_gradients(2);
}

TEST_P(DenseGradients, EvaluationDropsNothing) {
  memory.forward(false);
  reference.mask.clear();
  Numbers bound(y_bound.size());
  const Numbers y = reference.forward(input);
  const Numbers z = reference.pre_activation(input);
  const double u = unit_roundoff_of(GetParam().type);
  for (std::size_t e = 0; e < bound.size(); ++e) {
    bound[e] = steepest * (u * std::abs(z[e]) + float_share) + u * std::abs(y[e]) + float_share;
  }
  expect_near(memory.output(), y, bound, "output");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::tanh, Activation::silu}) {
    for (const double dropout : {0.0, 0.3}) {
      cases.push_back({activation, dropout, DType::fp32, DType::fp32, DType::fp32});
      cases.push_back({activation, dropout, DType::bf16, DType::bf16, DType::bf16});
      cases.push_back({activation, dropout, DType::fp16, DType::fp16, DType::fp16});
      cases.push_back({activation, dropout, DType::fp16, DType::fp16, DType::fp32});
    }
  }
  cases.push_back({Activation::gelu, 0.3, DType::bf16, DType::fp32, DType::fp32});  // cast on entry
  cases.push_back({Activation::relu, 0.3, DType::fp32, DType::bf16, DType::bf16});
  cases.push_back({Activation::tanh, 0.0, DType::fp16, DType::bf16, DType::fp32});
  return cases;
}

std::vector<Case> cases_with_float_gradients() {
  std::vector<Case> cases = all_cases();
  std::erase_if(cases, [](const Case& test) { return test.gradient_type != DType::fp32; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(EveryActivationAndType, DenseGradients, testing::ValuesIn(all_cases()));
INSTANTIATE_TEST_SUITE_P(EveryActivationAndType, AccumulatedDenseGradients,
                         testing::ValuesIn(cases_with_float_gradients()));

TEST(Dense, KeepsOnlyWhatBackwardCannotTakeFromTheOutput) {
  test::ScribblingGemm gemm;
  struct Kept {
    Activation activation;
    double dropout;
    bool pre_activation;
  };
  for (const Kept& kept : {Kept{Activation::none, 0, false},
                           {Activation::none, 0.5, false},
                           {Activation::relu, 0, false},
                           {Activation::relu, 0.5, false},
                           {Activation::tanh, 0, false},
                           {Activation::tanh, 0.5, true},
                           {Activation::gelu, 0, true},
                           {Activation::gelu, 0.5, true},
                           {Activation::silu, 0, true}}) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      const Dense dense(options_of({kept.activation, kept.dropout, type, type, type}));
      const std::size_t matrix = aligned_bytes(static_cast<std::size_t>(100 * outputs) * size_of(type));
      EXPECT_EQ(dense.cost(gemm, 100).output_bytes, matrix);
      const std::vector<SavedVariant> variants = dense.cost(gemm, 100).variants;
      EXPECT_EQ(variants[0].saved_bytes, kept.pre_activation ? matrix : 0);
      ASSERT_EQ(variants.size(), kept.pre_activation ? 2u : 1u);
      if (!kept.pre_activation) continue;
      EXPECT_GE(variants[1].backward_workspace, variants[0].backward_workspace + matrix);
      EXPECT_DOUBLE_EQ(variants[1].recompute_flops, 2.0 * 100 * inputs * outputs);
    }
  }
}

TEST(Dense, StatesItsWorkspaceFromShapesAlone) {
  test::ScribblingGemm gemm;
  const Dense casts(options_of({Activation::relu, 0, DType::bf16, DType::fp32, DType::fp32}));
  const BlockCost cost = casts.cost(gemm, 100);
  const std::size_t copy = aligned_bytes(100 * inputs * sizeof(float));
  GemmProblem forward = linear_output(100, inputs, outputs, DType::fp32);
  forward.bias = forward.relu = true;
  EXPECT_EQ(cost.forward_workspace, copy + aligned_bytes(gemm.workspace_bytes(forward)));
  EXPECT_GE(cost.variants[0].backward_workspace, 2 * copy);
  EXPECT_DOUBLE_EQ(cost.forward_flops, 2.0 * 100 * inputs * outputs);
  EXPECT_DOUBLE_EQ(cost.backward_flops, 4.0 * 100 * inputs * outputs);
  for (const std::size_t bytes : {cost.output_bytes, cost.variants[0].saved_bytes, cost.forward_workspace,
                                  cost.variants[0].backward_workspace}) {
    EXPECT_EQ(bytes % arena_alignment, 0u);
  }
}

TEST(Dense, TheFirstLayerComputesNoInputGradient) {
  DenseOptions options = options_of({Activation::relu, 0, DType::bf16, DType::bf16, DType::bf16});
  options.first = true;
  const Dense dense(options);
  test::GuardedBlock memory(dense, rows, false);
  EXPECT_DOUBLE_EQ(memory.cost().backward_flops, memory.cost().forward_flops);
  test::set_values(memory.weights()[0], test::drawn_values(inputs * outputs, 1));
  test::set_values(memory.weights()[1], test::drawn_values(outputs, 2));
  test::set_values(memory.input(), test::drawn_values(rows * inputs, 3));
  test::set_values(memory.output_gradient(), test::drawn_values(rows * outputs, 4));
  memory.forward();
  memory.backward();
  EXPECT_THAT(test::values_of(memory.gradients()[0]),
              testing::Each(testing::Truly([](float value) { return std::isfinite(value); })));
}

TEST(Dense, ParametersAreAMatrixAndAVectorBoundedByInputs) {
  const auto parameters =
      Dense(options_of({Activation::relu, 0, DType::fp32, DType::fp32, DType::fp32})).parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].name, "weight");
  EXPECT_EQ(parameters[0].rows, outputs);
  EXPECT_EQ(parameters[0].columns, inputs);
  EXPECT_TRUE(parameters[0].is_matrix);
  EXPECT_EQ(parameters[1].name, "bias");
  EXPECT_EQ(parameters[1].columns, outputs);
  EXPECT_FALSE(parameters[1].is_matrix);
  EXPECT_EQ(parameters[0].decay_factor, 1);
  EXPECT_EQ(parameters[1].decay_factor, 0) << "biases do not decay";
  for (const auto& parameter : parameters) EXPECT_FLOAT_EQ(parameter.initial_bound, 0.2773501f);  // 1/√13
}

}  // namespace mylos::dense_test
