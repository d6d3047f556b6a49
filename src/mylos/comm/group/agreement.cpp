#include "mylos/comm/group/agreement.hpp"

#include <bit>
#include <vector>

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/device_array_views.hpp"
#include "mylos/base/device/each_index.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/numbers/binary_tree.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {
namespace {

KOKKOS_INLINE_FUNCTION AgreementSums operator+(const AgreementSums& a, const AgreementSums& b) {
  return {a.squared_norm + b.squared_norm, a.samples + b.samples, a.loss + b.loss};
}

}  // namespace

AgreementBuffer::AgreementBuffer(int rank, int ranks)
    : rank_(rank),
      own_flags_(make_device_array<AgreementFlags>("agreement: own flags")),
      reduced_flags_(make_device_array<AgreementFlags>("agreement: reduced flags")),
      sums_(make_device_array<AgreementSums>("agreement: sums", static_cast<std::size_t>(ranks))),
      scale_bits_(make_device_array<std::int32_t>("agreement: scales", static_cast<std::size_t>(ranks))),
      result_(make_device_array<AgreementResult>("agreement: result")) {}

std::size_t AgreementBuffer::memory_bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return 2 * view_bytes(sizeof(AgreementFlags)) + view_bytes(sizeof(AgreementResult)) +
         view_bytes(count * sizeof(AgreementSums)) + view_bytes(count * sizeof(std::int32_t));
}

void AgreementBuffer::fold(const Execution& execution) const {
  const AgreementFlags* flags = ranks() == 1 ? own_flags() : reduced_flags();
  const auto sums = view_of(sums_);
  AgreementResult* agreed_result = result_.data();
  for_each_index(
      execution, "mylos agreement", 1, KOKKOS_LAMBDA(std::int64_t) {
        AgreementResult agreed;
        agreed.overflow = flags->overflow;
        agreed.stop = flags->stop;
        agreed.error = flags->error;
        agreed.scales_differ = flags->scale_bits != ~flags->scale_complement ? 1 : 0;
        agreed.calls_differ = flags->call_bits != ~flags->call_complement ? 1 : 0;
        const bool failed = agreed.error != 0 || agreed.scales_differ != 0 || agreed.calls_differ != 0;
        agreed.skip = agreed.overflow != 0 || failed ? 1 : 0;
        const auto ranks = static_cast<int>(sums.extent(0));
        AgreementSums waiting[max_rank_levels];
        int level = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          AgreementSums sum = sums(static_cast<std::size_t>(rank));
          for (int nodes = completed_nodes(rank, ranks); nodes > 0; --nodes) sum = waiting[--level] + sum;
          if (rank + 1 < ranks) waiting[level++] = sum;
          agreed.sums = sum;
        }
        *agreed_result = agreed;
      });
}

AgreementResult AgreementBuffer::read(const Execution& execution) const {
  AgreementResult result;
  if constexpr (memory_is_host) {
    result = *result_.data();
  } else {
    const Kokkos::View<AgreementResult*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> host(
        &result, 1);
    Kokkos::deep_copy(execution, host, view_of(result_));
    execution.fence("mylos: agreement read by the host");
  }
  return result;
}

void check_scales(const Execution& execution, Communicator& communicator, const AgreementBuffer& buffer) {
  if (buffer.read(execution).scales_differ == 0) return;
  const auto* flags = buffer.own_flags();
  auto* bits = buffer.scale_bits_of_ranks();
  const auto rank = static_cast<std::size_t>(buffer.rank());
  for_each_index(
      execution, "mylos scales", 1, KOKKOS_LAMBDA(std::int64_t) { bits[rank] = flags->scale_bits; });
  const auto ranks = static_cast<std::size_t>(buffer.ranks());
  communicator.all_gather(execution, {bits, ranks, DType::int32});
  communicator.synchronize(execution);

  std::vector<std::int32_t> all(ranks);
  Kokkos::deep_copy(Kokkos::View<std::int32_t*, Kokkos::HostSpace>(all.data(), ranks),
                    Kokkos::View<const std::int32_t*, Device>(bits, ranks));
  for (std::size_t other = 1; other < ranks; ++other) {
    if (all[other] != all[0]) {
      fail_run(errors::internal,
               "the loss scale is {} on rank 0 and {} on rank {}: the ranks' states have diverged",
               std::bit_cast<float>(all[0]), std::bit_cast<float>(all[other]), other);
    }
  }
  fail_run(errors::communication_failed,
           "the agreement found different loss scales, but a second exchange found {} on all ranks",
           std::bit_cast<float>(all[0]));
}

}  // namespace mylos
