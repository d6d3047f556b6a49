// Lookup of a stage's tensors by the names of its parameters.
#include "mylos/model/parameter_tensors.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"

namespace mylos::parameter_tensors_test {

class ParameterTensorsTest : public testing::Test {
 protected:
  float memory_[4]{};
  std::vector<NamedTensor> tensors_{{"norm_weight", Tensor(&memory_[0], DType::fp32, 1, 1)},
                                    {"weight", Tensor(&memory_[1], DType::fp32, 1, 1)},
                                    {"up_weight", Tensor(&memory_[2], DType::fp32, 1, 1)},
                                    {"up_bias", Tensor(&memory_[3], DType::fp32, 1, 1)}};
  ParameterTensors all_{tensors_};
};

TEST_F(ParameterTensorsTest, AreFoundByTheirWholeNameOrInTheirGroup) {
  EXPECT_EQ(all_["weight"].data(), &memory_[1]);
  EXPECT_EQ(all_["up_bias"].data(), &memory_[3]);
  EXPECT_EQ(all_.of("up")["weight"].data(), &memory_[2]);
  EXPECT_EQ(all_.of("norm")["weight"].data(), &memory_[0]);
  EXPECT_EQ(all_.of("")["weight"].data(), &memory_[1]);
}

TEST_F(ParameterTensorsTest, OfNoParameterAreRefused) {
  EXPECT_THROW((void)all_["bias"], Error);
  EXPECT_THROW((void)all_.of("norm")["bias"], Error);
  EXPECT_THROW((void)all_.of("u")["p_weight"], Error);
  EXPECT_THROW((void)all_.of("up")["weigh"], Error);
}

}  // namespace mylos::parameter_tensors_test
