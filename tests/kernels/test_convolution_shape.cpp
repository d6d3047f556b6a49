// The output grids of convolutions, and the shapes that are refused.
#include "mylos/kernels/convolution/convolution_shape.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "support/refusal.hpp"

namespace mylos::convolution_shape_test {

constexpr ConvolutionShape pictures = {.input = {{1, 7, 9}, 6}, .outputs = 4, .kernel = {1, 3, 3}};

/// Counts the positions of the kernel in the padded axis.
std::int64_t counted_extent(const ConvolutionShape& shape, std::size_t axis) {
  std::int64_t count = 0;
  const std::int64_t end = shape.input.extent[axis] + shape.padding[axis];
  for (std::int64_t start = -shape.padding[axis];
       start + (shape.kernel[axis] - 1) * shape.dilation[axis] < end; start += shape.stride[axis])
    ++count;
  return count;
}

TEST(ConvolutionShape, HasAsManyPointsAsTheKernelFitsIn) {
  for (std::int64_t extent = 1; extent < 9; ++extent) {
    for (std::int64_t kernel = 1; kernel < 5; ++kernel) {
      for (std::int64_t stride = 1; stride < 4; ++stride) {
        for (std::int64_t padding = 0; padding < 3; ++padding) {
          for (std::int64_t dilation = 1; dilation < 4; ++dilation) {
            const ConvolutionShape shape = {.input = {{1, 1, extent}, 1},
                                            .kernel = {1, 1, kernel},
                                            .stride = {1, 1, stride},
                                            .padding = {0, 0, padding},
                                            .dilation = {1, 1, dilation}};
            const std::int64_t count = counted_extent(shape, 2);
            if (count == 0) {
              EXPECT_THROW(check(shape), Error);
            } else {
              ASSERT_NO_THROW(check(shape));
              ASSERT_EQ(output_grid(shape).extent[2], count);
            }
          }
        }
      }
    }
  }
}

TEST(ConvolutionShape, OfTheTransposedLeadsBack) {
  for (std::int64_t extent = 5; extent < 12; ++extent) {
    for (std::int64_t stride = 1; stride < 4; ++stride) {
      ConvolutionShape shape = {.input = {{1, 1, extent}, 3},
                                .outputs = 2,
                                .kernel = {1, 1, 3},
                                .stride = {1, 1, stride},
                                .padding = {0, 0, 1}};
      const GridShape there = output_grid(shape);
      ConvolutionShape back = shape;
      back.input = there;
      back.outputs = 3;
      back.transposed = true;
      back.output_padding[2] = (extent + 2 - 3) % stride;
      check(back);
      EXPECT_EQ(output_grid(back), shape.input);
      EXPECT_EQ(weight_rows(back), weight_rows(shape));
      EXPECT_EQ(weight_columns(back), weight_columns(shape));
      EXPECT_EQ(flops_of(back), flops_of(shape));
    }
  }
}

void expect_refusal(const ConvolutionShape& shape, const char* part) {
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_layer, {part}, [&] { check(shape); }));
}

TEST(ConvolutionShape, SaysWhatIsWrong) {
  const auto with = [](auto change) {
    ConvolutionShape shape = pictures;
    change(shape);
    return shape;
  };
  expect_refusal(with([](auto& s) { s.stride[1] = 0; }), "stride in height is 0");
  expect_refusal(with([](auto& s) { s.dilation[2] = 0; }), "dilation in width is 0");
  expect_refusal(with([](auto& s) { s.kernel[0] = 0; }), "kernel in depth is 0");
  expect_refusal(with([](auto& s) { s.padding[2] = -1; }), "padding in width is -1");
  expect_refusal(with([](auto& s) { s.kernel[1] = 8; }), "in height: ");
  expect_refusal(with([](auto& s) { s.groups = 4; }), "4 groups");
  expect_refusal(with([](auto& s) { s.groups = 0; }), "0 groups");
  expect_refusal(with([](auto& s) { s.outputs = 0; }), "output has 0 channels");
  expect_refusal(with([](auto& s) { s.input.extent[2] = 0; }), "width is 0");
  expect_refusal(with([](auto& s) { s.input.channels = 0; }), "0 channels");
  expect_refusal(with([](auto& s) { s.output_padding[2] = 1; }), "output padding");
  expect_refusal(with([](auto& s) {
                   s.padding_kind = PaddingKind::reflect;
                   s.padding[1] = 7;
                 }),
                 "reflects 7 points beyond the grid's edges in height");
  expect_refusal(with([](auto& s) {
                   s.padding_kind = PaddingKind::periodic;
                   s.padding[2] = 10;
                 }),
                 "repeats 10 points beyond the grid's edges in width");
  expect_refusal(with([](auto& s) { s.input.extent = {1 << 20, 1 << 20, 1 << 30}; }), "64");
  expect_refusal(with([](auto& s) { s.input.extent = {1 << 10, 1 << 10, 1 << 10}; }), "points of a sample");
  expect_refusal(with([](auto& s) { s.outputs = std::int64_t{1} << 40; }), "1099511627776 channels");
}

TEST(ConvolutionShape, HasMeridiansAroundItsPoles) {
  constexpr auto zero = PaddingKind::zero;
  constexpr auto periodic = PaddingKind::periodic;
  constexpr auto pole = PaddingKind::pole;
  const auto refuse = [](const PaddingKinds& kinds, const Extents& extent, const Extents& padding,
                         const char* part) {
    const ConvolutionShape shape = {
        .input = {extent, 2}, .outputs = 2, .kernel = {1, 3, 3}, .padding = padding, .padding_kind = kinds};
    expect_refusal(shape, part);
  };
  refuse({zero, pole, zero}, {1, 4, 6}, {0, 1, 1}, "1 axes have poles at their edges, and 0 are periodic");
  refuse(pole, {1, 4, 6}, {0, 1, 1}, "3 axes have poles");
  refuse({periodic, pole, periodic}, {3, 4, 6}, {0, 1, 1}, "and 2 are periodic");
  refuse({zero, pole, periodic}, {1, 4, 7}, {0, 1, 1}, "7 points in width, around the poles of height");
  refuse({zero, pole, periodic}, {1, 4, 6}, {0, 5, 1}, "repeats 5 points beyond the grid's edges in height");
  const ConvolutionShape along_meridians_alone = {.input = {{1, 4, 7}, 2},
                                                  .outputs = 2,
                                                  .kernel = {1, 1, 3},
                                                  .padding = {0, 0, 1},
                                                  .padding_kind = {zero, pole, periodic}};
  EXPECT_NO_THROW(check(along_meridians_alone));
}

}  // namespace mylos::convolution_shape_test
