// Element types at run time and compile time: sizes, names, dispatch, and what is refused.
#include "mylos/base/dtype.hpp"

#include <gtest/gtest.h>

#include <array>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos::dtype_test {

TEST(DType, SizesAndNamesAreThoseOfTheTypes) {
  EXPECT_EQ(size_of(DType::fp32), sizeof(float));
  EXPECT_EQ(size_of(DType::fp16), sizeof(half));
  EXPECT_EQ(size_of(DType::bf16), sizeof(bfloat16));
  EXPECT_EQ(size_of(DType::int32), sizeof(std::int32_t));
  EXPECT_EQ(name_of(DType::fp32), "fp32");
  EXPECT_EQ(name_of(DType::fp16), "fp16");
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_EQ(name_of(DType::int32), "int32");
}

TEST(DType, DispatchGivesTheFloatingPointTypes) {
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    const DType found = dispatch(type, [](auto tag) { return dtype_of<typename decltype(tag)::type>; });
    EXPECT_EQ(found, type);
  }
}

TEST(DType, DispatchRefusesTokens) {
  bool called = false;
  EXPECT_THROW(dispatch(DType::int32, [&](auto) { called = true; }), Error);
  EXPECT_FALSE(called);
}

TEST(DType, TokensAreReadAsIntegersOnly) {
  std::array<std::int32_t, 6> values{};
  const Tensor tokens(values.data(), DType::int32, 6, 1);
  EXPECT_EQ(tokens.bytes(), sizeof(values));
  EXPECT_EQ(tokens.as<std::int32_t>(), values.data());
  EXPECT_THROW((void)tokens.as<float>(), Error);
}

}  // namespace mylos::dtype_test
