#include "mylos/base/dtype_names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace mylos::dtype_names_test {

TEST(DTypeNames, AreThoseOfNumPy) {
  std::string names;
  std::string floating;
  for (std::size_t i = 0; i < std::size(dtype_facts); ++i) {
    const auto type = static_cast<DType>(i);
    names += std::string(numpy_name_of(type)) + " ";
    if (is_floating(type)) floating += std::string(name_of(type)) + " ";
  }
  EXPECT_EQ(names, "float32 float16 bfloat16 float64 int32 int64 uint8 uint16 uint32 uint64 ");
  EXPECT_EQ(floating, "fp32 fp16 bf16 fp64 ");
}

}  // namespace mylos::dtype_names_test
