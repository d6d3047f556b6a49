// Compares sums over ranks with references computed from every rank's contributions by GCC's own 16-bit
// conversions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "comm/communicator_builders.hpp"
#include "comm/rounded.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/comm/ranks/slices.hpp"
#include "support/device_values.hpp"
#include "support/refusal.hpp"
#include "support/tree.hpp"

namespace mylos::collectives_test {

using test::contribution;
using test::contributions;
using test::on_device;
using test::on_host;
using test::refuses;

using test::rounded;

template <class T>
constexpr DType type_of = dtype_of<T>;

template <class T>
void reduce_and_compare(std::size_t count, float factor) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const auto view = contributions<T>(*communicator, count);
  test::reserve(*communicator, view.size() * sizeof(T));
  communicator->reduce_scatter(execution, {view.data(), view.size(), type_of<T>}, factor);
  communicator->all_gather(execution, {view.data(), view.size(), type_of<T>});
  communicator->synchronize(execution);
  const auto host = on_host(view);
  for (std::size_t i = 0; i < count; ++i) {
    const auto part_of = [i](int rank) { return rounded<T>(contribution(rank, i)); };
    const auto sum = test::sum_by_tree<float>(0, communicator->size(), part_of);
    double exact = 0;
    double magnitude = 0;
    for (int rank = 0; rank < communicator->size(); ++rank) {
      const float part = rounded<T>(contribution(rank, i));
      exact += part;
      magnitude += std::abs(part);
    }
    const float reduced = to_float(host[i]);
    const bool is_in_tree_order = size_of(type_of<T>) == 2 || !communicator->runs_on_device();
    if (is_in_tree_order) {  // NCCL sums floats in its own order
      ASSERT_EQ(std::bit_cast<std::uint32_t>(reduced), std::bit_cast<std::uint32_t>(rounded<T>(factor * sum)))
          << "element " << i << " on rank " << communicator->rank();
    }
    const double bound = factor * (communicator->size() * 0x1p-24 + unit_roundoff<T>)*magnitude + 1e-7;
    ASSERT_NEAR(reduced, factor * exact, bound) << "element " << i;
  }
}

TEST(Collectives, SlicesAreSummedByTheTreeOverRanksInFloatAndRoundedOnce) {
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
    test::reserve(*communicator, view.size() * sizeof(half));
    communicator->reduce_scatter(execution, {view.data(), view.size(), DType::fp16},
                                 scaled ? 1.0f / static_cast<float>(ranks) : 1.0f);
    communicator->synchronize(execution);
    const float own = to_float(on_host(view)[static_cast<std::size_t>(communicator->rank()) * 32]);
    EXPECT_EQ(own, scaled ? 60000.0f : std::numeric_limits<float>::infinity());
  }
}

TEST(Collectives, AllreduceGivesEveryRankTheSumInRankOrder) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  constexpr std::size_t count = 129;
  test::reserve(*communicator, static_cast<std::size_t>(communicator->size()) * count * sizeof(double));
  std::vector<double> own_doubles;
  std::vector<std::int32_t> own_integers;
  std::vector<bfloat16> own_halves;
  for (std::size_t i = 0; i < count; ++i) {
    own_doubles.push_back(contribution(communicator->rank(), i));
    own_integers.push_back(communicator->rank() * 1000 + static_cast<int>(i));
    own_halves.push_back(from_float<bfloat16>(contribution(communicator->rank(), i)));
  }
  const auto double_view = on_device(own_doubles);
  const auto integer_view = on_device(own_integers);
  const auto half_view = on_device(own_halves);
  communicator->allreduce(execution, {double_view.data(), count, DType::fp64}, Reduction::sum);
  communicator->allreduce(execution, {integer_view.data(), count, DType::int32}, Reduction::sum);
  communicator->allreduce(execution, {half_view.data(), count, DType::bf16}, Reduction::max);
  communicator->synchronize(execution);
  const auto doubles = on_host(double_view);
  const auto integers = on_host(integer_view);
  const auto halves = on_host(half_view);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    int integer_sum = 0;
    float largest = -std::numeric_limits<float>::infinity();
    for (int rank = 0; rank < communicator->size(); ++rank) {
      sum += contribution(rank, i);
      integer_sum += rank * 1000 + static_cast<int>(i);
      largest = std::max(largest, rounded<bfloat16>(contribution(rank, i)));
    }
    EXPECT_EQ(doubles[i], sum);
    EXPECT_EQ(integers[i], integer_sum);
    EXPECT_EQ(to_float(halves[i]), largest);
  }
}

TEST(Collectives, MaximumAndBroadcastReachEveryRank) {
  const auto communicator = test::all_ranks();
  test::reserve(*communicator, 64);
  const Execution execution;
  const int last = communicator->size() - 1;
  const auto own = static_cast<float>(communicator->rank());
  const auto values = on_device<float>({own, -own});
  communicator->allreduce(execution, {values.data(), 2, DType::fp32}, Reduction::max);
  communicator->synchronize(execution);
  EXPECT_EQ(on_host(values), (std::vector<float>{static_cast<float>(last), 0}));

  const std::string from = "from rank ";
  const std::string text = from + std::to_string(communicator->rank());
  const auto bytes = on_device(std::vector<char>(text.begin(), text.end()));
  communicator->broadcast(execution, {bytes.data(), bytes.size(), DType::uint8}, last);
  communicator->synchronize(execution);
  const std::vector<char> received = on_host(bytes);
  EXPECT_EQ(std::string(received.begin(), received.end()), from + std::to_string(last));
}

TEST(Collectives, BucketsTravelInTheirOwnSlotsWhichAreUsedAgain) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const auto ranks = static_cast<std::size_t>(communicator->size());
  const auto elements_of = [&](std::size_t bucket) { return 64 * (bucket % 3 + 1) * ranks; };
  const std::size_t unit = 64 * ranks * sizeof(float);
  communicator->reserve(test::slots_of({unit, 2 * unit, 3 * unit}));
  std::array<Request, 3> requests;
  std::vector<Kokkos::View<float*, Device>> views;
  for (std::size_t b = 0; b < 9; ++b) {
    views.emplace_back("bucket", elements_of(b));
    Kokkos::deep_copy(views[b], static_cast<float>(b + 1));
    communicator->wait(execution, requests[b % 3]);
    requests[b % 3] = communicator->start_reduce_scatter(
        execution, {views[b].data(), views[b].size(), DType::fp32}, 1, b % 3);
  }
  for (const std::size_t slot : std::initializer_list<std::size_t>{1, 0, 2})
    communicator->wait(execution, requests[slot]);
  communicator->synchronize(execution);
  for (std::size_t b = 0; b < views.size(); ++b) {
    const std::vector<float> values = on_host(views[b]);
    const auto slice = static_cast<std::ptrdiff_t>(values.size() / ranks);
    const auto own = values.begin() + communicator->rank() * slice;
    EXPECT_EQ(std::vector<float>(own, own + slice),
              std::vector<float>(static_cast<std::size_t>(slice), static_cast<float>((b + 1) * ranks)))
        << "bucket " << b;
  }
}

TEST(Collectives, AnOperationNeedsAFreeSlotThatWasReserved) {
  const auto communicator = test::all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank needs no staging";
  if (communicator->runs_on_device()) GTEST_SKIP() << "NCCL needs none";
  const Execution execution;
  const std::size_t count = 64 * static_cast<std::size_t>(communicator->size());
  const std::size_t bytes = count * sizeof(float);
  const Kokkos::View<float*, Device> view("gradients", count);
  const CommunicationBuffer buffer{view.data(), count, DType::fp32};
  communicator->reserve(test::slots_of({bytes, bytes - 64}));
  Request request = communicator->start_reduce_scatter(execution, buffer);
  EXPECT_TRUE(refuses(errors::internal, {"all-gather: slot 0 ", "reduce-scatter"},
                      [&] { (void)communicator->start_all_gather(execution, buffer); }));
  EXPECT_TRUE(refuses(errors::internal,
                      {fmt::format("{} bytes of staging", bytes), std::to_string(bytes - 64)},
                      [&] { (void)communicator->start_reduce_scatter(execution, buffer, 1, 1); }));
  EXPECT_TRUE(refuses(errors::internal, {"no slot 2; 2 "},
                      [&] { (void)communicator->start_all_gather(execution, buffer, 2); }));
  EXPECT_TRUE(refuses(errors::internal, {"reduce-scatter"}, [&] { test::reserve(*communicator, bytes); }));
  communicator->wait(execution, request);
  communicator->all_gather(execution, buffer);
}

TEST(Collectives, StagingIsThatOfTheSlotsAsStated) {
  const auto communicator = test::all_ranks();
  const std::size_t before = communicator->staging_bytes();
  const std::vector<SlotBytes> slots = test::slots_of({1000, 0, 64});
  communicator->reserve(slots);
  EXPECT_EQ(communicator->staging_bytes(), staging_bytes({}, communicator->size(), slots));
  if (memory_is_host) {
    EXPECT_EQ(communicator->staging_bytes() - before, communicator->size() == 1 ? 0 : 1024 + 64);
  }
}

TEST(Collectives, UnequalSlicesAreRefused) {
  const auto communicator = test::all_ranks();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank holds any slice";
  float values[5] = {};
  EXPECT_THROW(communicator->all_gather(
                   Execution(), {values, static_cast<std::size_t>(communicator->size()) + 1, DType::fp32}),
               Error);
}

TEST(Collectives, ABackendThatIsNotBuiltIsRefusedByName) {
  if (!memory_is_host) GTEST_SKIP() << "this build may have NCCL";
  CommunicationOptions options;
  options.backend = "nccl";
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::not_in_build, {"communication.backend", "NCCL", "\"mpi\""},
                      [&] { (void)make_communicator(MPI_COMM_WORLD, options); }));
}

TEST(Collectives, ABackendThatNobodyKnowsIsRefusedWithThoseThereAre) {
  CommunicationOptions options;
  options.backend = "carrier pigeon";
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::bad_value,
                      {"communication.backend", "carrier pigeon", "auto, mpi, nccl"},
                      [&] { (void)make_communicator(MPI_COMM_WORLD, options); }));
}

TEST(Collectives, EveryBackendThatADeckMayNameIsMadeOrSaysThatTheBuildHasItNot) {
  for (const std::string_view name : communication_backends) {
    CommunicationOptions options;
    options.backend = name;
    try {
      EXPECT_NE(make_communicator(MPI_COMM_WORLD, options), nullptr);
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), errors::not_in_build) << error.what();
    }
  }
}

}  // namespace mylos::collectives_test
