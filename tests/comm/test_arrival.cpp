// Where the sums of a reduction arrive, and in which type.
#include <gtest/gtest.h>

#include "comm/communicator_builders.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/comm/slices.hpp"

namespace mylos::arrival_test {

using test::contributions;
using test::on_host;

/// All slices after a reduction that is gathered at once, the own one after a reduction that is not, and all
/// after a reduce-scatter and an all-gather one by one.
template <class T, class Result>
void gather_at_once_and_compare(std::size_t count, float factor) {
  const auto communicator = test::all_ranks();
  const Execution execution;
  const auto at_once = contributions<T>(*communicator, count);
  const auto one_by_one = contributions<T>(*communicator, count);
  const std::size_t size = at_once.size();
  const Kokkos::View<Result*, Device> result("result", size);
  test::reserve(*communicator, size * std::max(sizeof(T), sizeof(Result)));
  const bool is_in_place = std::is_same_v<T, Result>;
  void* const arrives = is_in_place ? static_cast<void*>(at_once.data()) : result.data();
  Request request =
      communicator->start_reduction(execution, {at_once.data(), size, dtype_of<T>},
                                    {arrives, size, dtype_of<Result>}, Arrival::everywhere, factor);
  communicator->wait(execution, request);
  const auto own = contributions<T>(*communicator, count);
  const Kokkos::View<Result*, Device> own_result("own result", size);
  void* const own_arrives = is_in_place ? static_cast<void*>(own.data()) : own_result.data();
  request = communicator->start_reduction(execution, {own.data(), size, dtype_of<T>},
                                          {own_arrives, size, dtype_of<Result>}, Arrival::own_slice, factor);
  communicator->wait(execution, request);
  communicator->reduce_scatter(execution, {one_by_one.data(), size, dtype_of<T>}, factor);
  communicator->all_gather(execution, {one_by_one.data(), size, dtype_of<T>});
  communicator->synchronize(execution);
  const auto sums = on_host(one_by_one);
  const auto own_sums = on_host(own);
  const auto own_converted = on_host(own_result);
  const SliceRange slice = slice_of(size, communicator->size(), communicator->rank());
  for (std::size_t i = slice.begin; i < slice.end; ++i) {
    const float found = is_in_place ? to_float(own_sums[i]) : to_float(own_converted[i]);
    ASSERT_EQ(found, to_float(from_float<Result>(to_float(sums[i])))) << i << " of " << count;
  }
  const auto gathered = on_host(at_once);
  const auto converted = on_host(result);
  for (std::size_t i = 0; i < count; ++i) {
    const float found = is_in_place ? to_float(gathered[i]) : to_float(converted[i]);
    ASSERT_EQ(found, to_float(from_float<Result>(to_float(sums[i])))) << i << " of " << count;
  }
}

TEST(Arrival, AReductionThatIsGatheredAtOnceHasTheBitsOfTheTwoOneByOne) {
  for (const std::size_t count : {1u, 1000u, 70001u}) {
    gather_at_once_and_compare<float, float>(count, 1);
    gather_at_once_and_compare<bfloat16, bfloat16>(count, 0.3f);
    gather_at_once_and_compare<float, half>(count, 0.3f);
    gather_at_once_and_compare<bfloat16, float>(count, 0.3f);
    gather_at_once_and_compare<half, float>(count, 1);
  }
}

/// In a place that has room for nothing else.
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
  Request request = communicator->start_reduction(execution, {elsewhere.data(), size, dtype_of<T>},
                                                  {result.data(), result.size(), dtype_of<Result>},
                                                  Arrival::own_slice, factor);
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
