// A turned matrix that many tasks read is packed before they begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/matrix.hpp"
#include "mylos/kernels/gemm.hpp"

namespace mylos::gemm_packing_test {

constexpr std::int64_t outputs = 1030;
constexpr std::int64_t inputs = 1700;
constexpr std::int64_t few_inputs = 500;  // for which nothing is packed ahead
constexpr std::byte pattern{0xff};        // four of them are not a number

/// The first `count` columns of dW, from a workspace and a C full of NaN. Expects nothing written behind the
/// workspace.
std::vector<float> first_columns(GemmEngine& tiles, const Execution& exec, const test::Matrix& dy,
                                 const std::vector<float>& x, std::int64_t count) {
  const std::int64_t samples = dy.tensor().rows();
  const DType type = dy.tensor().type();
  const GemmProblem problem = linear_weight_gradient(samples, count, outputs, type, type);
  std::vector<float> part;
  for (std::int64_t row = 0; row < samples; ++row)
    part.insert(part.end(), x.begin() + row * inputs, x.begin() + row * inputs + count);
  const test::Matrix b(type, samples, count, part);
  const test::Matrix c(type, outputs, count);
  std::fill_n(static_cast<std::byte*>(c.tensor().data()), c.tensor().bytes(), pattern);
  const std::size_t planned = tiles.workspace_bytes(problem);
  const Arena workspace("workspace", planned + 4096);
  std::fill_n(workspace.data(), workspace.bytes(), pattern);
  tiles.run(exec, problem, {dy.tensor().data(), b.tensor().data(), c.tensor().data()}, workspace.data());
  exec.fence();
  EXPECT_TRUE(std::all_of(workspace.data() + planned, workspace.data() + workspace.bytes(),
                          [](std::byte byte) { return byte == pattern; }));
  return c.values();
}

void expect_same_bits(GemmEngine& tiles, DType type, std::int64_t samples) {
  const auto bytes = [&](std::int64_t columns) {
    return tiles.workspace_bytes(linear_weight_gradient(samples, columns, outputs, type, type));
  };
  ASSERT_GE(bytes(inputs), bytes(few_inputs) + static_cast<std::size_t>(samples * outputs) * size_of(type))
      << "packs";
  const test::Matrix dy(type, samples, outputs, test::random_values(type, samples * outputs, -1, 1, 1));
  const auto x = test::random_values(type, samples * inputs, -1, 1, 2);
  const auto few = first_columns(tiles, Execution{}, dy, x, few_inputs);
  const auto all = first_columns(tiles, Execution{}, dy, x, inputs);
  ASSERT_TRUE(std::none_of(all.begin(), all.end(), [](float value) { return std::isnan(value); }));
  for (std::int64_t row = 0; row < outputs; ++row) {
    ASSERT_TRUE(std::equal(few.begin() + row * few_inputs, few.begin() + (row + 1) * few_inputs,
                           all.begin() + row * inputs))
        << "row " << row;
  }
  ASSERT_EQ(first_columns(tiles, test::narrower_execution(), dy, x, inputs), all) << "on fewer threads";
}

class GemmPacking : public testing::Test {
 protected:
  void SetUp() override {
    const auto names = gemm_engine_names();
    if (std::find(names.begin(), names.end(), "tiles") == names.end())
      GTEST_SKIP() << "no tiles in this build";
    KernelOptions options;
    options.gemm = GemmChoice::tiles;
    tiles_ = make_gemm_engine(options);
  }
  std::unique_ptr<GemmEngine> tiles_;
};

TEST_F(GemmPacking, ChangesNoBit) {
  for (const DType type : test::all_types) {
    for (const std::int64_t samples : {511, 1051}) {  // one chunk of the sums, and several
      SCOPED_TRACE(std::string(name_of(type)) + ", " + std::to_string(samples) + " samples");
      expect_same_bits(*tiles_, type, samples);
    }
  }
}

TEST_F(GemmPacking, TakesBoundedMemory) {
  // Or the gradients of a large vocabulary's logits would be there twice.
  for (const DType type : test::all_types) {
    const auto bytes = [&](std::int64_t rows) {
      return tiles_->workspace_bytes(linear_weight_gradient(8192, 1600, rows, type, type));
    };
    EXPECT_LE(bytes(50304), bytes(1100) + (std::size_t{1} << 20)) << name_of(type);
  }
}

}  // namespace mylos::gemm_packing_test
