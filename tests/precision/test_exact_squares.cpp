// The sum of squares does not depend on the distribution of parts over ranks.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/precision/exact_squares.hpp"
#include "support/device_values.hpp"

namespace mylos::exact_squares_test {

constexpr std::int64_t neighbours = 32;
constexpr std::int64_t groups = 3001;

float value_at(std::int64_t i) {
  const auto exponent = static_cast<int>(i * 7 % 90) - 60;
  return std::ldexp(static_cast<float>(i * 104729 % 1009) - 504.0f, exponent);
}

/// Groups of neighbours [first, last) in two slices, as for two buckets.
class Part {
 public:
  Part(std::int64_t first, std::int64_t last) : arena_("part", bytes_of(last - first) + 2 * arena_alignment) {
    const std::int64_t middle = first + (last - first) / 3;
    slices.push_back(slice(0, first, middle));
    slices.push_back(slice(aligned_bytes(bytes_of(middle - first)), middle, last));
  }
  std::vector<Tensor> slices;

 private:
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count * neighbours) * sizeof(float);
  }
  Tensor slice(std::size_t offset, std::int64_t first, std::int64_t last) {
    std::vector<float> values;
    for (std::int64_t i = first * neighbours; i < last * neighbours; ++i) values.push_back(value_at(i));
    const Tensor tensor = arena_.tensor(offset, DType::fp32, 1, static_cast<std::int64_t>(values.size()));
    if (!values.empty()) test::set_values(tensor, values);
    return tensor;
  }
  Arena arena_;
};

double sum_of(Communicator& communicator, const std::vector<Tensor>& slices) {
  const Execution exec;
  double exchange_s = 0;
  const ExactSquares squares(communicator, slices, exchange_s);
  const test::DeviceValue<double> result{0.0};
  const auto start = std::chrono::steady_clock::now();
  squares.sum(exec, result.data());
  exec.fence();
  EXPECT_GT(exchange_s, 0);
  EXPECT_LT(exchange_s, seconds_since(start)) << "what this rank adds up by itself is no exchange";
  return result.get();
}

TEST(ExactSquares, TheFirstRankHasTheSumOfAllInTheBitsOfOneRank) {
  const auto all = make_communicator(MPI_COMM_WORLD, {});
  const auto alone = make_communicator(MPI_COMM_SELF, {});
  const double expected = sum_of(*alone, Part(0, groups).slices);
  const std::int64_t first = groups * all->rank() / all->size();
  const std::int64_t last = groups * (all->rank() + 1) / all->size();
  const double sum = sum_of(*all, Part(first, last).slices);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum),
            std::bit_cast<std::uint64_t>(all->rank() == 0 ? expected : 0.0));

  long double exact = 0;
  for (std::int64_t i = 0; i < groups * neighbours; ++i)
    exact += static_cast<long double>(value_at(i)) * static_cast<long double>(value_at(i));
  EXPECT_NEAR(expected, static_cast<double>(exact), static_cast<double>(exact) * 40 * 0x1p-53);
}

TEST(ExactSquares, AValueThatIsNotFiniteIsSeenWhereItIs) {
  const auto all = make_communicator(MPI_COMM_WORLD, {});
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const int rank = all->size() - 1;
    Part part(0, 40);
    if (all->rank() == rank) test::copy_to_device(&bad, part.slices[1].as<float>() + 77, sizeof bad);
    const double sum = sum_of(*all, part.slices);
    EXPECT_EQ(std::isnan(sum), all->rank() == rank);
  }
}

}  // namespace mylos::exact_squares_test
