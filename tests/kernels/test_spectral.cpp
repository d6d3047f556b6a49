// Spectral convolutions against their definition in double, within bounds of unit roundoffs: even, odd and
// prime extents, wave numbers up to Nyquist's, one to three axes, in all types and in workspace of exactly
// the stated bytes.
#include "mylos/kernels/spectral/spectral.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "kernels/reference_spectral.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "support/refusal.hpp"

namespace mylos::spectral_test {

using test::ReferenceSpectral;

constexpr std::int64_t samples = 3;

SpectralShape shape_of(Extents points, Extents modes, std::int64_t inputs = 2, std::int64_t outputs = 3) {
  return {.input = {.extent = points, .channels = inputs}, .outputs = outputs, .modes = modes};
}

const SpectralShape shapes[] = {shape_of({1, 1, 1}, {1, 1, 1}),      shape_of({1, 1, 8}, {1, 1, 8}),
                                shape_of({1, 1, 8}, {1, 1, 5}),      shape_of({1, 1, 7}, {1, 1, 7}),
                                shape_of({1, 1, 13}, {1, 1, 1}),     shape_of({1, 1, 2}, {1, 1, 2}),
                                shape_of({1, 1, 37}, {1, 1, 12}, 5), shape_of({1, 6, 8}, {1, 6, 8}),
                                shape_of({1, 7, 5}, {1, 7, 5}),      shape_of({1, 11, 13}, {1, 4, 6}, 1),
                                shape_of({1, 9, 4}, {1, 5, 3}),      shape_of({1, 5, 1}, {1, 4, 1}),
                                shape_of({4, 3, 6}, {4, 3, 6}),      shape_of({5, 4, 7}, {2, 3, 5}, 3, 1),
                                shape_of({6, 1, 5}, {3, 1, 2})};

TEST(Spectral, AnFftOfRealPointsTakesHalfThatOfComplexOnes) {
  EXPECT_EQ(fft_flops({.extent = {1, 1, 8}, .channels = 1}, 3), 3 * 2.5 * 8 * 3);  // 5/2 n log2 n
  EXPECT_EQ(fft_flops({.extent = {1, 4, 16}, .channels = 1}, 1), 2.5 * 64 * 6);
}

/// A matrix that has been rounded to the type.
test::Matrix rounded_matrix(DType type, const std::vector<float>& values) {
  return {type, 1, static_cast<std::int64_t>(values.size()), values};
}

/// A convolution with all its memory.
struct Passes {
  Passes(const SpectralShape& of, DType type, Engines with, std::int64_t rows = samples)
      : convolution(of, type),
        engines(with),
        x(drawn(type, rows, of.input.columns(), 1)),
        weight(drawn(type, mode_count(of), 2 * of.input.channels * of.outputs, 2)),
        bias(drawn(type, 1, of.outputs, 3)),
        coefficients(type, mode_count(of), convolution.coefficient_columns(rows)),
        y(type, rows, output_grid(of).columns()) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      matrices.push_back(rounded_matrix(type, analysis_matrix(of.input.extent[axis], of.modes[axis])));
      matrices.push_back(rounded_matrix(type, synthesis_matrix(of.input.extent[axis], of.modes[axis])));
      if (of.input.extent[axis] == 1) continue;
      addresses.analysis[axis] = matrices[2 * axis].tensor().data();
      addresses.synthesis[axis] = matrices[2 * axis + 1].tensor().data();
    }
  }
  static test::Matrix drawn(DType type, std::int64_t rows, std::int64_t columns, unsigned seed) {
    return {type, rows, columns, test::random_values(type, rows * columns, -1, 1, seed)};
  }

  void forward() const {
    const std::int64_t rows = x.tensor().rows();
    const std::size_t bytes = std::max(convolution.analysis_workspace(engines, rows),
                                       convolution.synthesis_workspace(engines, rows));
    const Arena workspace("workspace", bytes);
    const SpectralStep step{exec, engines, addresses, workspace.data()};
    convolution.analyse(step, x, coefficients);
    convolution.synthesise(step, coefficients, weight, bias, y);
    exec.fence();
  }
  [[nodiscard]] ReferenceSpectral reference() const {
    ReferenceSpectral is{
        .shape = convolution.shape(), .samples = x.tensor().rows(), .x = {}, .weight = {}, .bias = {}};
    const auto to = [](const test::Matrix& matrix) {
      const std::vector<float> values = matrix.values();
      return std::vector<double>(values.begin(), values.end());
    };
    is.x = to(x);
    is.weight = to(weight);
    is.bias = to(bias);
    return is;
  }

  Execution exec;
  SpectralConvolution convolution;
  Engines engines;
  test::Matrix x, weight, bias, coefficients, y;
  std::vector<test::Matrix> matrices;
  SpectralMatrices addresses;
};

/// Roundings on the way from x to y: the matrices, the results along each axis and the coefficients, in the
/// type; sums of floats.
double bound_of(const SpectralShape& shape, DType type, double magnitude) {
  double roundings = 4;
  double terms = 8 + static_cast<double>(shape.input.channels);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (shape.input.extent[axis] == 1) continue;
    roundings += 4;
    terms += static_cast<double>(shape.input.extent[axis] + basis_size(shape.modes[axis]));
  }
  return (roundings * test::unit_roundoff_of(type) + terms * test::u) * magnitude +
         (type == DType::fp16 ? 0x1p-24 * roundings * static_cast<double>(mode_count(shape)) : 0);
}

TEST(Spectral, AgreesWithItsDefinitionInDouble) {
  const auto engines = make_engines({});
  for (const SpectralShape& shape : shapes) {
    for (const DType type : test::all_types) {
      SCOPED_TRACE(fmt::format("{}, modes {} x {} x {}, {}", describe(shape.input), shape.modes[0],
                               shape.modes[1], shape.modes[2], name_of(type)));
      const Passes run(shape, type, *engines);
      run.forward();
      const ReferenceSpectral reference = run.reference();
      const std::vector<double> expected = reference.forward();
      const std::vector<float> found = run.y.values();
      const double bound = bound_of(shape, type, reference.magnitude());
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(static_cast<double>(found[i]), expected[i], bound) << i;
    }
  }
}

// A field of some waves on a finer grid has the same coefficients; so has their product with the weights.
TEST(Spectral, GivesTheSameFieldOnAFinerGrid) {
  const auto engines = make_engines({});
  const SpectralShape coarse = shape_of({1, 9, 10}, {1, 5, 6}, 1, 1);
  SpectralShape fine = coarse;
  fine.input.extent = {1, 27, 20};
  const auto field = [](double height, double width) {
    const double turn = 2 * std::numbers::pi;
    return static_cast<float>(0.5 + std::cos(turn * (2 * height + width)) -
                              0.25 * std::sin(turn * (height - 3 * width)));
  };
  const Passes on_coarse(coarse, DType::fp32, *engines, 1);
  const Passes on_fine(fine, DType::fp32, *engines, 1);
  for (const Passes* run : {&on_coarse, &on_fine}) {
    const Extents n = run->convolution.shape().input.extent;
    std::vector<float> values;
    for (std::int64_t h = 0; h < n[1]; ++h) {
      for (std::int64_t w = 0; w < n[2]; ++w)
        values.push_back(field(static_cast<double>(h) / static_cast<double>(n[1]),
                               static_cast<double>(w) / static_cast<double>(n[2])));
    }
    test::set_values(run->x, values);
    run->forward();
  }
  const std::vector<float> few = on_coarse.y.values();
  const std::vector<float> many = on_fine.y.values();
  for (std::size_t h = 0; h < 9; ++h) {
    for (std::size_t w = 0; w < 10; ++w)
      EXPECT_NEAR(many[h * 3 * 20 + 2 * w], few[h * 10 + w], 2e-6) << h << ", " << w;
  }
}

TEST(Spectral, DoesNotOverflowHalfWhereTheFieldFits) {
  const auto engines = make_engines({});
  const SpectralShape shape = shape_of({1, 64, 64}, {1, 4, 4}, 1, 1);
  const Passes run(shape, DType::fp16, *engines, 1);
  test::set_values(run.x, std::vector<float>(64 * 64, 32768.0f));
  test::set_values(run.weight,
                   std::vector<float>(static_cast<std::size_t>(run.weight.tensor().size()), 1.0f));
  test::set_values(run.bias, {0.0f});
  run.forward();
  for (const float value : run.y.values()) ASSERT_EQ(value, 32768.0f);
}

TEST(Spectral, HasTheSameBitsForAnyNumberOfThreads) {
  const auto engines = make_engines({});
  const SpectralShape shape = shape_of({1, 16, 20}, {1, 6, 8}, 8, 8);
  for (const DType type : test::all_types) {
    const Passes run(shape, type, *engines);
    run.forward();
    const std::vector<std::byte> whole = run.y.bytes();
    Passes narrow(shape, type, *engines);
    narrow.exec = test::narrower_execution();
    narrow.forward();
    EXPECT_EQ(narrow.y.bytes(), whole) << name_of(type);
  }
}

TEST(Spectral, WorkspaceOfSamplesServesFewer) {
  const auto engines = make_engines({});
  for (const SpectralShape& shape : shapes) {
    for (const DType type : test::all_types) {
      const SpectralConvolution convolution(shape, type);
      for (std::int64_t rows = 1; rows < 9; ++rows) {
        EXPECT_LE(convolution.analysis_workspace(*engines, rows),
                  convolution.analysis_workspace(*engines, 9));
        EXPECT_LE(convolution.synthesis_workspace(*engines, rows),
                  convolution.synthesis_workspace(*engines, 9));
        EXPECT_LE(convolution.backward_workspace(*engines, rows, true),
                  convolution.backward_workspace(*engines, 9, true));
      }
    }
  }
}

TEST(Spectral, MatricesAreExactAtQuarterTurns) {
  const std::vector<float> even = synthesis_matrix(8, 8);  // [8 points][cos 0 to 4, sin 1 to 4]
  for (std::size_t point = 0; point < 8; ++point) {
    const float* const row = even.data() + point * 9;
    EXPECT_EQ(row[0], 1.0f);
    EXPECT_EQ(row[4], point % 2 == 0 ? 1.0f : -1.0f) << "cos of Nyquist's wave number";
    EXPECT_EQ(row[8], 0.0f) << "its sin";
    EXPECT_EQ(row[2], point % 2 == 1 ? 0.0f : point % 4 == 0 ? 1.0f : -1.0f) << "cos of a quarter turn";
    EXPECT_NEAR(row[5], std::sin(std::numbers::pi / 4 * static_cast<double>(point)), 1e-7);
  }
  EXPECT_EQ(analysis_matrix(8, 8)[0], 0.125f);
  EXPECT_EQ(analysis_matrix(5, 4).size(), 25u);
}

TEST(Spectral, WritesPartsOfMatrices) {
  const std::vector<float> analysis = analysis_matrix(7, 6);
  const std::vector<float> synthesis = synthesis_matrix(7, 6);
  for (std::size_t first = 0; first < analysis.size(); ++first) {
    const std::size_t count = std::min<std::size_t>(10, analysis.size() - first);
    std::vector<float> part(count);
    write_analysis(7, 6, static_cast<std::int64_t>(first), part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), analysis.data() + first)) << first;
    write_synthesis(7, 6, static_cast<std::int64_t>(first), part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), synthesis.data() + first)) << first;
  }
}

TEST(Spectral, RefusesModesBeyondTheGrid) {
  for (const auto& [shape, words] :
       {std::pair{shape_of({1, 8, 7}, {1, 9, 7}), "height, which has 8 points"},
        std::pair{shape_of({1, 8, 7}, {1, 8, 8}), "the largest number allowed is 7"},
        std::pair{shape_of({1, 8, 7}, {1, 0, 7}), "0 modes"},
        std::pair{shape_of({1, 8, 7}, {2, 8, 7}), "depth"}})
    EXPECT_TRUE(test::refuses(errors::bad_layer, {words}, [&, &of = shape] { check(of); }));
}

}  // namespace mylos::spectral_test
