#include "mylos/checkpoint/write/replicas.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/hash.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"

namespace mylos {
namespace {

// Odd, so multiplication by it is invertible: no two words have the same product.
constexpr std::uint64_t spread = 0x9E3779B97F4A7C15ull;

/// Returns the sum modulo 2^64 of (word + 1) · (2 · index + 1) · spread, which does not depend on the order
/// or on the number of threads. One changed word always changes the sum, since all factors but the word's are
/// odd. `first`: the index of the first word.
template <class Word>
std::uint64_t checksum_of_words(const Execution& exec, const Word* words, std::int64_t first,
                                std::int64_t count) {
  std::uint64_t sum = 0;
  Kokkos::parallel_reduce(
      "checksum", Kokkos::RangePolicy<Execution, Kokkos::IndexType<std::int64_t>>(exec, 0, count),
      KOKKOS_LAMBDA(const std::int64_t i, std::uint64_t& partial) {
        partial += (std::uint64_t{words[i]} + 1) * ((2 * static_cast<std::uint64_t>(first + i) + 1) * spread);
      },
      sum);
  return sum;
}

std::uint64_t checksum_of_piece(const Execution& exec, const StateArray& array, const StatePiece& piece) {
  const std::int64_t bytes = array.memory_bytes_of(piece.count);
  if (array.memory_type)
    return checksum_of_words(exec, static_cast<const std::uint16_t*>(piece.data), piece.first, piece.count);
  if (bytes % 4 != 0) fail_run(errors::internal, "{}: {} bytes, expected whole words", array.path, bytes);
  const auto* words = static_cast<const std::uint32_t*>(piece.data);
  return checksum_of_words(exec, words, array.memory_bytes_of(piece.first) / 4, bytes / 4);
}

}  // namespace

std::uint64_t state_checksum(const Execution& exec, const CheckpointState& state) {
  std::uint64_t sum = 0;
  std::uint64_t index = 1;
  std::vector<StateArray> arrays = state.arrays;
  arrays.insert(arrays.end(), state.derived.begin(), state.derived.end());
  for (const StateArray& array : arrays) {
    for (const StatePiece& piece : array.pieces) {
      if (array.on_device && !array.sharded) {
        sum += (2 * index + 1) * checksum_of_piece(exec, array, piece);
      } else if (array.dims.empty()) {
        const auto bytes = static_cast<std::size_t>(array.memory_bytes_of(piece.count));
        const std::string_view scalar(static_cast<const char*>(piece.data), bytes);
        sum += (2 * index + 1) * hash_bytes(scalar);
      }
    }
    ++index;
  }
  return sum;
}

void require_equal_replicas(RankGroup& ranks, const Execution& exec, const CheckpointState& state) {
  if (ranks.size() == 1) return;
  const std::uint64_t own = state_checksum(exec, state);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(own));
  const auto ranks_with = [&all](std::uint64_t sum) { return std::count(all.begin(), all.end(), sum); };
  const std::uint64_t most = *std::max_element(all.begin(), all.end(), [&](std::uint64_t a, std::uint64_t b) {
    return ranks_with(a) < ranks_with(b);
  });
  std::vector<int> others;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)] != most) others.push_back(rank);
  }
  if (others.empty()) return;
  fail_run(
      errors::replicas_differ,
      "rank{} {} of {} no longer hold{} the weights, moments and counters that the others hold: a fault of "
      "memory or of a processor there, or different programs on the ranks. Nothing was written; resume from "
      "the checkpoint before with --restart latest",
      others.size() == 1 ? "" : "s", fmt::join(others, ", "), ranks.size(), others.size() == 1 ? "s" : "");
}

}  // namespace mylos
