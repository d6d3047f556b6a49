// The destination of the sums of a reduction, and their type.
#include <gtest/gtest.h>

#include "comm/communicator_builders.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/comm/ranks/slices.hpp"

namespace mylos::arrival_test {

using test::contributions;
using test::on_host;

/// The destination holds exactly one slice.
template <class T, class Result>
void take_own_slice_and_compare(std::size_t count, float factor) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const auto elsewhere = contributions<T>(*communicator, count);
  const auto in_place = contributions<T>(*communicator, count);
  const std::size_t size = elsewhere.size();
  const SliceRange slice = slice_of(size, communicator->size(), communicator->rank());
  const Kokkos::View<Result*, Device> result("own slice", slice.end - slice.begin);
  test::reserve(*communicator, size * sizeof(T));
  Request request =
      communicator->start_reduce_scatter(execution, {elsewhere.data(), size, dtype_of<T>},
                                         {result.data(), result.size(), dtype_of<Result>}, factor);
  communicator->wait(execution, request);
  communicator->reduce_scatter(execution, {in_place.data(), size, dtype_of<T>}, factor);
  communicator->synchronize(execution);
  const auto sums = on_host(in_place);
  const auto found = on_host(result);
  for (std::size_t i = slice.begin; i < slice.end; ++i) {
    ASSERT_EQ(to_float(found[i - slice.begin]), to_float(from_float<Result>(to_float(sums[i])))) << i;
  }
}

TEST(Arrival, TheOwnSliceAloneMayArriveElsewhere) {
  for (const std::size_t count : {1u, 1000u, 70001u}) {
    take_own_slice_and_compare<float, float>(count, 1);
    take_own_slice_and_compare<bfloat16, bfloat16>(count, 0.3f);
    take_own_slice_and_compare<float, half>(count, 0.3f);
    take_own_slice_and_compare<half, float>(count, 1);
  }
}

}  // namespace mylos::arrival_test
