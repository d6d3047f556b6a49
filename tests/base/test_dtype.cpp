// Element types at run time and compile time: sizes, names, dispatch, and what is refused.
#include "mylos/base/dtype.hpp"

#include <gtest/gtest.h>

#include <array>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos::dtype_test {

TEST(DType, SizesAndNamesAreThoseOfTheTypes) {
  const auto is_of = []<class T>(TypeTag<T>, std::string_view name) {
    return size_of(dtype_of<T>) == sizeof(T) && name_of(dtype_of<T>) == name;
  };
  EXPECT_TRUE(is_of(TypeTag<float>{}, "fp32"));
  EXPECT_TRUE(is_of(TypeTag<half>{}, "fp16"));
  EXPECT_TRUE(is_of(TypeTag<bfloat16>{}, "bf16"));
  EXPECT_TRUE(is_of(TypeTag<double>{}, "fp64"));
  EXPECT_TRUE(is_of(TypeTag<std::int32_t>{}, "int32"));
  EXPECT_TRUE(is_of(TypeTag<std::int64_t>{}, "int64"));
  EXPECT_TRUE(is_of(TypeTag<std::uint8_t>{}, "uint8"));
  EXPECT_TRUE(is_of(TypeTag<std::uint16_t>{}, "uint16"));
  EXPECT_TRUE(is_of(TypeTag<std::uint32_t>{}, "uint32"));
  EXPECT_TRUE(is_of(TypeTag<std::uint64_t>{}, "uint64"));
}

TEST(DType, DispatchGivesTheFloatingPointTypes) {
  for (const DType type : {DType::fp32, DType::fp16, DType::bf16}) {
    const DType found = dispatch(type, [](auto tag) { return dtype_of<typename decltype(tag)::type>; });
    EXPECT_EQ(found, type);
  }
}

TEST(DType, DispatchRefusesWhatKernelsDoNotComputeIn) {
  bool called = false;
  for (const DType type : {DType::int32, DType::fp64, DType::uint8}) {
    EXPECT_THROW(dispatch(type, [&](auto) { called = true; }), Error);
  }
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
