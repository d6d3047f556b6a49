// Upsampling against its definition in double, and backward against the adjoint.
#include "mylos/kernels/grid/upsample.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "kernels/reference_convolution.hpp"
#include "mylos/base/error.hpp"

namespace mylos::upsample_test {

constexpr std::int64_t samples = 2;

/// Returns the weight of a point of an axis in a finer point, from the distance of their centres.
double weight(Interpolation interpolation, PaddingKind edges, std::int64_t points, std::int64_t factor,
              std::int64_t fine, std::int64_t point) {
  const double position = (static_cast<double>(fine) + 0.5) / static_cast<double>(factor) - 0.5;
  if (interpolation == Interpolation::nearest)
    return std::round(position) == static_cast<double>(point) ? 1 : 0;
  if (edges != PaddingKind::zero) {
    const auto lower = static_cast<std::int64_t>(std::floor(position));
    double sum = 0;
    for (const std::int64_t seen : {lower, lower + 1}) {
      const bool wraps = edges == PaddingKind::periodic;
      const std::int64_t at = seen < 0         ? (wraps ? points - 1 : 1)
                              : seen >= points ? (wraps ? 0 : points - 2)
                                               : seen;
      if (at == point) sum += std::max(0.0, 1 - std::abs(position - static_cast<double>(seen)));
    }
    return sum;
  }
  const double inside = std::clamp(position, 0.0, static_cast<double>(points - 1));
  return std::max(0.0, 1 - std::abs(inside - static_cast<double>(point)));
}

/// Calls function(x, y, weight) with the indices of elements, for every product.
template <class Function>
void for_each_product(const UpsampleShape& shape, const Function& function) {
  const GridShape fine = output_grid(shape);
  const auto& coarse = shape.input;
  const auto axis_weight = [&](std::size_t axis, std::int64_t at, std::int64_t point) {
    return weight(shape.interpolation, shape.edges[axis], coarse.extent[axis], shape.factor[axis], at, point);
  };
  for (std::int64_t row = 0; row < samples * fine.points(); ++row) {
    const std::int64_t sample = row / fine.points();
    const std::int64_t d = row / (fine.extent[1] * fine.extent[2]) % fine.extent[0];
    const std::int64_t h = row / fine.extent[2] % fine.extent[1];
    const std::int64_t w = row % fine.extent[2];
    for (std::int64_t point = 0; point < coarse.points(); ++point) {
      const double product = axis_weight(0, d, point / (coarse.extent[1] * coarse.extent[2])) *
                             axis_weight(1, h, point / coarse.extent[2] % coarse.extent[1]) *
                             axis_weight(2, w, point % coarse.extent[2]);
      if (product == 0) continue;
      for (std::int64_t c = 0; c < coarse.channels; ++c)
        function((sample * coarse.points() + point) * coarse.channels + c, row * coarse.channels + c,
                 product);
    }
  }
}

/// An interpolation with what lies beyond the edges.
struct Kind {
  Interpolation interpolation = Interpolation::linear;
  PaddingKinds edges = {};
};
constexpr auto periodic = PaddingKind::periodic;
constexpr Kind kinds[] = {{Interpolation::nearest},
                          {},
                          {.edges = periodic},
                          {.edges = {PaddingKind::zero, periodic, PaddingKind::reflect}},
                          {.edges = {periodic, PaddingKind::zero, PaddingKind::reflect}}};

class Upsample : public testing::TestWithParam<std::tuple<GridShape, Extents, Kind, DType>> {};

TEST_P(Upsample, AndItsAdjoint) {
  const auto& [grid, factor, kind, type] = GetParam();
  const UpsampleShape shape{grid, factor, kind.interpolation, kind.edges};
  check(shape);
  const std::int64_t outputs = output_grid(shape).columns();
  const auto x = test::random_values(type, samples * grid.columns(), -1, 1, 1);
  const auto dy = test::random_values(type, samples * outputs, -1, 1, 2);
  const test::Matrix in(type, samples, grid.columns(), x);
  const test::Matrix out(type, samples, outputs);
  const test::Matrix d_out(type, samples, outputs, dy);
  const test::Matrix d_in(type, samples, grid.columns());
  upsample_forward(Execution{}, shape, in, out);
  upsample_backward(Execution{}, shape, d_out, d_in);
  test::Sums y(samples * outputs);
  test::Sums dx(samples * grid.columns());
  for_each_product(shape, [&](std::int64_t coarse, std::int64_t fine, double product) {
    y.add(fine, product * x[static_cast<std::size_t>(coarse)]);
    dx.add(coarse, product * dy[static_cast<std::size_t>(fine)]);
  });
  const auto expect = [type = type](const std::vector<float>& found, const test::Sums& sums) {
    ASSERT_EQ(found.size(), sums.value.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      // A weight is a product of three factors, each rounded twice.
      ASSERT_NEAR(found[i], sums.value[i],
                  test::rounding_error(type, sums.value[i]) +
                      test::summing_error(sums.terms[i], sums.magnitude[i], 9));
    }
  };
  expect(out.values(), y);
  expect(d_in.values(), dx);
}

INSTANTIATE_TEST_SUITE_P(Grids, Upsample,
                         testing::Combine(testing::Values(GridShape{{1, 4, 5}, 6}, GridShape{{3, 1, 2}, 5},
                                                          GridShape{{1, 1, 3}, 301}),
                                          testing::Values(Extents{1, 2, 2}, Extents{2, 3, 1},
                                                          Extents{3, 1, 4}),
                                          testing::ValuesIn(kinds), testing::ValuesIn(test::all_types)));

TEST(UpsampleShape, RefusesFactorsBelowOne) {
  EXPECT_THROW(check(UpsampleShape{{{1, 2, 2}, 1}, {1, 0, 2}, Interpolation::nearest}), Error);
  EXPECT_THROW(check(UpsampleShape{{{1, 2, 2}, 1}, {1, 1 << 20, 1 << 20}, Interpolation::nearest}), Error);
}

TEST(UpsampleShape, RefusesPolesAndMirrorsOfOnePoint) {
  const UpsampleShape shape{{{1, 1, 2}, 1}, {1, 2, 2}, Interpolation::linear};
  UpsampleShape other = shape;
  other.edges = PaddingKinds(PaddingKind::zero, PaddingKind::reflect, PaddingKind::zero);
  EXPECT_THROW(check(other), Error);
  other.edges = PaddingKinds(PaddingKind::zero, PaddingKind::pole, PaddingKind::periodic);
  EXPECT_THROW(check(other), Error);
  other.edges = PaddingKinds(PaddingKind::zero, PaddingKind::periodic, PaddingKind::reflect);
  EXPECT_NO_THROW(check(other));
}

}  // namespace mylos::upsample_test
