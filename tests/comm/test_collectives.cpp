// Sums over ranks against references computed from what every rank contributes, with GCC's own 16-bit
// conversions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "comm/communicator_builders.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/comm/slices.hpp"

namespace mylos::collectives_test {

using test::contribution;

// Rounding that owes nothing to base/float16.hpp: the compiler's _Float16, and nearbyint on the scaled
// significand.
template <class T>
float rounded(float value);
template <>
float rounded<float>(float value) {
  return value;
}
template <>
float rounded<half>(float value) {
  return static_cast<float>(static_cast<_Float16>(value));
}
template <>
float rounded<bfloat16>(float value) {
  int exponent = 0;
  const double significand = std::frexp(static_cast<double>(value), &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(significand, 8)), exponent - 8));
}

template <class T>
constexpr ElementType type_of = element_type(dtype_of<T>);

template <class T>
Kokkos::View<T*, Kokkos::HostSpace> on_host(const Kokkos::View<T*, Device>& view) {
  auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return copy;
}

/// A buffer of ranks · slice elements: this rank's contributions, then zeros as padding.
template <class T>
Kokkos::View<T*, Device> contributions(const Communicator& communicator, std::size_t count) {
  const std::size_t padded =
      slice_length(count, communicator.size()) * static_cast<std::size_t>(communicator.size());
  const Kokkos::View<T*, Device> view("contributions", padded);
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < count; ++i) host(i) = from_float<T>(contribution(communicator.rank(), i));
  Kokkos::deep_copy(view, host);
  return view;
}

template <class T>
void reduce_and_compare(std::size_t count, float factor) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const auto view = contributions<T>(*communicator, count);
  communicator->reserve(view.size() * sizeof(T));
  communicator->reduce_scatter(execution, {view.data(), view.size(), type_of<T>}, factor);
  communicator->all_gather(execution, {view.data(), view.size(), type_of<T>});
  communicator->synchronize(execution);
  const auto host = on_host(view);
  for (std::size_t i = 0; i < count; ++i) {
    float sum = rounded<T>(contribution(0, i));
    double exact = sum;
    double magnitude = std::abs(exact);
    for (int rank = 1; rank < communicator->size(); ++rank) {
      const float part = rounded<T>(contribution(rank, i));
      sum += part;
      exact += part;
      magnitude += std::abs(part);
    }
    const float reduced = to_float(host(i));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(reduced), std::bit_cast<std::uint32_t>(rounded<T>(factor * sum)))
        << "element " << i << " on rank " << communicator->rank();
    const double bound =
        factor * (communicator->size() * 0x1p-24 * magnitude + unit_roundoff<T> * std::abs(exact)) + 1e-7;
    ASSERT_NEAR(reduced, factor * exact, bound) << "element " << i;
  }
}

TEST(Collectives, SlicesAreSummedInRankOrderInFloatAndRoundedOnce) {
  for (const std::size_t count : {1u, 3u, 31u, 33u, 1000u, 70001u}) {
    reduce_and_compare<float>(count, 1);
    reduce_and_compare<half>(count, 1);
    reduce_and_compare<bfloat16>(count, 1);
  }
}

TEST(Collectives, TheFactorIsAppliedInFloatBeforeTheOneRounding) {
  reduce_and_compare<float>(777, 0.1f);
  reduce_and_compare<half>(777, 1.0f / 3);
  reduce_and_compare<bfloat16>(777, 1.0f / 3);
}

TEST(Collectives, AHalfSumThatOverflowsIsInfiniteUnlessTheFactorBringsItBack) {
  const auto communicator = test::all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank sums nothing";
  const Execution execution;
  const auto ranks = static_cast<std::size_t>(communicator->size());
  for (const bool scaled : {false, true}) {
    const Kokkos::View<half*, Device> view("large", 32 * ranks);
    Kokkos::deep_copy(view, from_float<half>(60000));
    communicator->reserve(view.size() * sizeof(half));
    communicator->reduce_scatter(execution, {view.data(), view.size(), ElementType::fp16},
                                 scaled ? 1.0f / static_cast<float>(ranks) : 1.0f);
    communicator->synchronize(execution);
    const float own = to_float(on_host(view)(static_cast<std::size_t>(communicator->rank()) * 32));
    EXPECT_EQ(own, scaled ? 60000.0f : std::numeric_limits<float>::infinity());
  }
}

TEST(Collectives, AllreduceGivesEveryRankTheSumInRankOrder) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  constexpr std::size_t count = 129;
  communicator->reserve(static_cast<std::size_t>(communicator->size()) * count * sizeof(double));
  const Kokkos::View<double*, Device> doubles("doubles", count);
  const Kokkos::View<std::int32_t*, Device> integers("integers", count);
  const Kokkos::View<bfloat16*, Device> halves("16 bits", count);
  for (std::size_t i = 0; i < count; ++i) {
    doubles(i) = contribution(communicator->rank(), i);
    integers(i) = communicator->rank() * 1000 + static_cast<int>(i);
    halves(i) = from_float<bfloat16>(contribution(communicator->rank(), i));
  }
  communicator->allreduce(execution, {doubles.data(), count, ElementType::float64}, Reduction::sum);
  communicator->allreduce(execution, {integers.data(), count, ElementType::int32}, Reduction::sum);
  communicator->allreduce(execution, {halves.data(), count, ElementType::bf16}, Reduction::max);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    int integer_sum = 0;
    float largest = -std::numeric_limits<float>::infinity();
    for (int rank = 0; rank < communicator->size(); ++rank) {
      sum += contribution(rank, i);
      integer_sum += rank * 1000 + static_cast<int>(i);
      largest = std::max(largest, rounded<bfloat16>(contribution(rank, i)));
    }
    EXPECT_EQ(doubles(i), sum);
    EXPECT_EQ(integers(i), integer_sum);
    EXPECT_EQ(to_float(halves(i)), largest);
  }
}

TEST(Collectives, MaximumAndBroadcastReachEveryRank) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const int last = communicator->size() - 1;
  Kokkos::View<float*, Device> values("values", 2);
  values(0) = static_cast<float>(communicator->rank());
  values(1) = -static_cast<float>(communicator->rank());
  communicator->allreduce(execution, {values.data(), 2, ElementType::fp32}, Reduction::max);
  EXPECT_EQ(values(0), static_cast<float>(last));
  EXPECT_EQ(values(1), 0.0f);

  char text[] = "from rank 0";
  text[10] = static_cast<char>('0' + communicator->rank());
  communicator->broadcast(execution, {text, sizeof text, ElementType::bytes}, last);
  EXPECT_EQ(text[10], '0' + last);
}

TEST(Collectives, SeveralBucketsTravelAtATime) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  constexpr std::size_t buckets = 5;
  const std::size_t slice = 64;
  const std::size_t count = slice * static_cast<std::size_t>(communicator->size());
  std::vector<Kokkos::View<float*, Device>> views;
  std::vector<Request> requests;
  communicator->reserve(buckets * count * sizeof(float));
  for (std::size_t b = 0; b < buckets; ++b) {
    views.emplace_back("bucket", count);
    Kokkos::deep_copy(views[b], static_cast<float>(b + 1));
    requests.push_back(
        communicator->start_reduce_scatter(execution, {views[b].data(), count, ElementType::fp32}));
  }
  for (std::size_t b = buckets; b-- > 0;) communicator->wait(execution, requests[b]);
  for (std::size_t b = 0; b < buckets; ++b) {
    EXPECT_EQ(views[b](static_cast<std::size_t>(communicator->rank()) * slice + 63),
              static_cast<float>(b + 1) * static_cast<float>(communicator->size()));
  }
}

TEST(Collectives, StagingThatWasNotReservedIsAnErrorOnEveryRank) {
  const auto communicator = test::all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank needs no staging";
  const Kokkos::View<float*, Device> view("large",
                                          32 * 1024 * static_cast<std::size_t>(communicator->size()));
  EXPECT_THROW(communicator->reduce_scatter(Execution(), {view.data(), view.size(), ElementType::fp32}),
               Error);
  const std::size_t before = communicator->staging_bytes();
  communicator->reserve(view.size() * sizeof(float));
  EXPECT_GE(communicator->staging_bytes(), before + view.size() * sizeof(float));
  EXPECT_NO_THROW(communicator->reduce_scatter(Execution(), {view.data(), view.size(), ElementType::fp32}));
}

TEST(Collectives, UnequalSlicesAreRefused) {
  const auto communicator = test::all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank holds any slice";
  float values[5] = {};
  EXPECT_THROW(
      communicator->all_gather(
          Execution(), {values, static_cast<std::size_t>(communicator->size()) + 1, ElementType::fp32}),
      Error);
}

TEST(Collectives, ABackendThatIsNotBuiltIsRefusedByName) {
  if (!memory_is_host) GTEST_SKIP() << "this build may have NCCL";
  CommunicationOptions options;
  options.backend = CommunicationBackend::nccl;
  try {
    (void)make_communicator(MPI_COMM_WORLD, options);
    FAIL() << "NCCL on a host";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("\"mpi\" is there"), std::string::npos) << error.what();
  }
}

}  // namespace mylos::collectives_test
