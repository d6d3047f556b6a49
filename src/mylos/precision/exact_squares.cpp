#include "mylos/precision/exact_squares.hpp"

#include <algorithm>

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/timed.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/precision/neighbour_squares.hpp"

namespace mylos {
namespace {

constexpr std::int64_t neighbours = 32;
constexpr std::int64_t block_elements = runs_on_host ? 32768 : 1024;

std::int64_t blocks_of(std::int64_t elements) {
  return launch::ceiling_quotient(elements, block_elements);
}

}  // namespace

std::size_t ExactSquares::memory_bytes(std::span<const std::int64_t> lengths) {
  const std::int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  return (static_cast<std::size_t>(blocks_of(longest)) + 1) * sizeof(SquaresOfBlock) +
         view_bytes(ExactSum::digit_count * sizeof(std::int32_t));
}

ExactSquares::ExactSquares(Communicator& communicator, std::span<const Tensor> slices, double& exchange_s)
    : communicator_(communicator),
      exchange_s_(exchange_s),
      slices_(slices.begin(), slices.end()),
      total_(make_device_array<SquaresOfBlock>("squares")),
      exchanged_(make_device_array<std::int32_t>("squares of all ranks", ExactSum::digit_count)) {
  std::int64_t longest = 0;
  for (const Tensor& slice : slices) longest = std::max(longest, slice.size());
  blocks_ =
      make_device_array<SquaresOfBlock>("squares of blocks", static_cast<std::size_t>(blocks_of(longest)));
}

void ExactSquares::sum(const Execution& exec, double* result) const {
  const auto blocks = view_of(blocks_);
  SquaresOfBlock* const total = total_.data();
  const auto exchanged = view_of(exchanged_);
  for_each_index(
      exec, "squares", 1, KOKKOS_LAMBDA(std::int64_t) { *total = SquaresOfBlock{}; });
  for (const Tensor& slice : slices_) {
    const auto* values = slice.as<float>();
    const std::int64_t count = slice.size();
    for_each_block(
        exec, "squares", count, block_elements,
        KOKKOS_LAMBDA(const std::int64_t begin, const std::int64_t end) {
          SquaresOfBlock own;
          for (std::int64_t i = begin; i < end; i += neighbours) {
            const double term = squares_of_neighbours(values + i, launch::smaller(neighbours, end - i));
            if (Kokkos::isfinite(term)) {
              own.sum.add(term);
            } else {
              ++own.not_finite;
            }
          }
          blocks(begin / block_elements) = own;
        });
    const std::int64_t used = blocks_of(count);
    for_each_index(
        exec, "squares", 1, KOKKOS_LAMBDA(std::int64_t) {
          for (std::int64_t i = 0; i < used; ++i) {
            total->sum.add(blocks(i).sum);
            total->not_finite += blocks(i).not_finite;
          }
        });
  }
  // The sum of the carried digits of up to 2^15 ranks fits 32 bits.
  for_each_index(
      exec, "squares", 1, KOKKOS_LAMBDA(std::int64_t) {
        total->sum.carry();
        for (int i = 0; i < ExactSum::digit_count; ++i)
          exchanged(i) = static_cast<std::int32_t>(total->sum.digits[i]);
      });
  timed(exchange_s_, [&] {
    communicator_.allreduce(exec, {exchanged_.data(), exchanged_.size(), DType::int32}, Reduction::sum);
  });
  const bool first = communicator_.rank() == 0;
  for_each_index(
      exec, "squares", 1, KOKKOS_LAMBDA(std::int64_t) {
        ExactSum all;
        for (int i = 0; i < ExactSum::digit_count; ++i) all.digits[i] = exchanged(i);
        const double own = first ? all.value() : 0.0;
        *result = total->not_finite > 0 ? Kokkos::Experimental::quiet_NaN_v<double> : own;
      });
}

}  // namespace mylos
