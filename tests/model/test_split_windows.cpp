// Pools and upsampling of a sample's grid in boxes, one on each rank, against the same blocks on the whole
// grid: the same bits forward and of the input's gradient.
#include "model/split_block.hpp"
#include "mylos/model/layers/pool/pool_block.hpp"
#include "mylos/model/layers/upsample/upsample_block.hpp"

namespace mylos::split_windows_test {

using test::expect_same_bits;

struct Case {
  std::string name;
  PoolShape shape;  // of the whole grid
};

std::vector<Case> cases() {
  return {
      {"line", {.input = {{1, 1, 48}, 3}, .window = {1, 1, 3}, .padding = {0, 0, 1}}},
      {"strided_line",
       {.input = {{1, 1, 48}, 3}, .window = {1, 1, 3}, .stride = {1, 1, 2}, .padding = {0, 0, 1}}},
      {"with_gaps", {.input = {{1, 1, 36}, 5}, .window = {1, 1, 2}, .stride = {1, 1, 3}}},
      {"with_gaps_and_padding",
       {.input = {{1, 1, 48}, 2}, .window = {1, 1, 3}, .stride = {1, 1, 4}, .padding = {0, 0, 1}}},
      {"plane", {.input = {{1, 24, 24}, 3}, .window = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"many_channels",
       {.input = {{1, 24, 24}, 20}, .window = {1, 3, 3}, .stride = {1, 2, 2}, .padding = {0, 1, 1}}},
      {"next_to_each_other",
       {.input = {{1, 36, 36}, 18}, .window = {1, 3, 3}, .stride = {1, 3, 3}, .padding = {0, 1, 1}}},
      {"wide", {.input = {{1, 24, 24}, 2}, .window = {1, 7, 5}, .stride = {1, 1, 1}, .padding = {0, 3, 2}}},
      {"even", {.input = {{1, 24, 24}, 4}, .window = {1, 4, 6}, .stride = {1, 2, 3}, .padding = {0, 1, 2}}},
      {"one_axis_as_it_is",
       {.input = {{1, 24, 24}, 3}, .window = {1, 3, 2}, .stride = {1, 1, 2}, .padding = {0, 1, 0}}},
      {"volume",
       {.input = {{12, 12, 12}, 3}, .window = {3, 3, 2}, .stride = {1, 2, 1}, .padding = {1, 1, 0}}},
      {"wide_strides",
       {.input = {{1, 48, 48}, 3}, .window = {1, 5, 5}, .stride = {1, 4, 4}, .padding = {0, 2, 1}}},
  };
}

/// Returns whether every box has whole windows of its own.
bool fits(const PoolShape& shape, const GridPart& part) {
  if (!test::divides(part, shape.input.extent) || !test::divides(part, output_grid(shape).extent))
    return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t points = shape.input.extent[axis] / part.boxes[axis];
    if (!part.is_split(axis)) continue;
    if (points % shape.stride[axis] != 0 ||
        output_grid(shape).extent[axis] * shape.stride[axis] != shape.input.extent[axis])
      return false;
  }
  return true;
}

TEST(SplitWindows, PoolsOfBoxesAreThoseOfTheWholeGrid) {
  for (const Case& of : cases()) {
    std::size_t tested = 0;
    const DType shorter = of.shape.input.channels % 2 == 0 ? DType::bf16 : DType::fp16;
    for (const GridPart& part : test::own_parts()) {
      if (!fits(of.shape, part)) continue;
      ++tested;
      for (const DType type : {DType::fp32, shorter}) {
        for (const PoolType pool : {PoolType::max, PoolType::average}) {
          if (pool == PoolType::average && type == DType::bf16) continue;  // enough
          const PoolOptions whole{.name = "pool", .pool = pool, .shape = of.shape, .type = type};
          PoolOptions box = whole;
          box.shape.input = test::box_of(of.shape.input, part);
          box.part = part;
          const std::string what = fmt::format("{} {} of {}", pool == PoolType::max ? "maximum" : "average",
                                               of.name, name_of(type));
          expect_same_bits(PoolBlock(whole), PoolBlock(box), of.shape.input, output_grid(of.shape), part,
                           what);
        }
      }
    }
    EXPECT_GT(tested, 0u) << of.name;
  }
}

TEST(SplitWindows, UpsamplingOfBoxesIsThatOfTheWholeGrid) {
  constexpr auto zero = PaddingKind::zero;
  constexpr auto periodic = PaddingKind::periodic;
  constexpr auto reflect = PaddingKind::reflect;
  const std::vector<UpsampleShape> shapes{
      {.input = {{1, 1, 24}, 3}, .factor = {1, 1, 2}},
      {.input = {{1, 1, 24}, 2}, .factor = {1, 1, 5}, .edges = {zero, zero, periodic}},
      {.input = {{1, 1, 12}, 2}, .factor = {1, 1, 3}, .edges = {zero, zero, reflect}},
      {.input = {{1, 12, 12}, 5}, .factor = {1, 2, 3}},
      {.input = {{1, 12, 24}, 3}, .factor = {1, 3, 2}, .edges = {zero, reflect, periodic}},
      {.input = {{1, 24, 12}, 18}, .factor = {1, 1, 4}, .edges = {zero, periodic, zero}},
      {.input = {{12, 12, 12}, 2}, .factor = {2, 3, 2}, .edges = {periodic, zero, reflect}},
  };
  for (UpsampleShape shape : shapes) {
    shape.interpolation = Interpolation::linear;
    std::size_t tested = 0;
    const DType shorter = shape.input.channels % 2 == 0 ? DType::bf16 : DType::fp16;
    for (const GridPart& part : test::own_parts()) {
      if (!test::divides(part, shape.input.extent)) continue;
      ++tested;
      for (const DType type : {DType::fp32, shorter}) {
        UpsampleOptions whole{.name = "finer", .shape = shape, .type = type};
        UpsampleOptions box = whole;
        box.shape.input = test::box_of(shape.input, part);
        box.part = part;
        const std::string what = fmt::format("{} by {}, {}, {} of {}", describe(shape.input), shape.factor[0],
                                             shape.factor[1], shape.factor[2], name_of(type));
        expect_same_bits(UpsampleBlock(whole), UpsampleBlock(box), shape.input, output_grid(shape), part,
                         what, false);
      }
    }
    EXPECT_GT(tested, 0u) << describe(shape.input);
  }
}

}  // namespace mylos::split_windows_test
