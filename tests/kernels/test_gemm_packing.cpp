// A turned matrix that many tasks read is packed before they begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/matrix.hpp"
#include "mylos/kernels/gemm.hpp"

namespace mylos::gemm_packing_test {

constexpr std::int64_t samples =
    1050;  // in float two chunks of the sums, in bfloat16 an odd word of the last
constexpr std::int64_t outputs = 1030;
constexpr std::int64_t inputs = 1700;
constexpr std::int64_t few_inputs = 70;

/// The first columns of dW, from a workspace full of NaN.
std::vector<float> columns(GemmEngine& tiles, const Execution& exec, DType type, const test::Matrix& dy,
                           const std::vector<float>& x, std::int64_t count) {
  const GemmProblem problem = linear_weight_gradient(samples, count, outputs, type, type);
  std::vector<float> part;
  for (std::int64_t row = 0; row < samples; ++row)
    part.insert(part.end(), x.begin() + row * inputs, x.begin() + row * inputs + count);
  const test::Matrix b(type, samples, count, part);
  const test::Matrix c(type, outputs, count);
  const Arena workspace("workspace", tiles.workspace_bytes(problem));
  std::fill_n(workspace.data(), workspace.bytes(), std::byte{0xff});
  tiles.run(exec, problem, dy.tensor().data(), b.tensor().data(), c.tensor().data(), nullptr,
            workspace.data());
  exec.fence();
  return c.values();
}

TEST(GemmPacking, OfAllOfAChangesNoBit) {
  const auto names = gemm_engine_names();
  if (std::find(names.begin(), names.end(), "tiles") == names.end()) GTEST_SKIP() << "no tiles in this build";
  KernelOptions options;
  options.gemm = GemmChoice::tiles;
  const auto tiles = make_gemm_engine(options);
  for (const DType type : test::all_types) {
    SCOPED_TRACE(name_of(type));
    const auto bytes = [&](std::int64_t columns) {
      return tiles->workspace_bytes(linear_weight_gradient(samples, columns, outputs, type, type));
    };
    ASSERT_GT(bytes(inputs), bytes(few_inputs) + samples * outputs * size_of(type)) << "packs";
    const test::Matrix dy(type, samples, outputs, test::random_values(type, samples * outputs, -1, 1, 1));
    const auto x = test::random_values(type, samples * inputs, -1, 1, 2);
    const auto few = columns(*tiles, Execution{}, type, dy, x, few_inputs);
    ASSERT_TRUE(std::none_of(few.begin(), few.end(), [](float value) { return std::isnan(value); }));
    const auto all = columns(*tiles, Execution{}, type, dy, x, inputs);
    for (std::int64_t row = 0; row < outputs; ++row) {
      ASSERT_TRUE(std::equal(few.begin() + row * few_inputs, few.begin() + (row + 1) * few_inputs,
                             all.begin() + row * inputs))
          << "row " << row;
    }
    ASSERT_EQ(columns(*tiles, test::narrower_execution(), type, dy, x, inputs), all) << "on fewer threads";
  }
}

}  // namespace mylos::gemm_packing_test
