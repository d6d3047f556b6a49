#include "mylos/comm/ranks/large_broadcast.hpp"

#include <algorithm>

namespace mylos {

void broadcast_large(RankGroup& ranks, std::span<std::byte> bytes, int root) {
  constexpr std::size_t max_bytes = std::size_t{4} << 20;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(max_bytes, bytes.size()));
    ranks.broadcast(piece.data(), piece.size(), root);
    bytes = bytes.subspan(piece.size());
  }
}

}  // namespace mylos
