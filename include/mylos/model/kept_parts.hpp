// KeptParts: where the tensors that a block makes between its input and its output lie.
//
// Each part is either kept, in the order of the parts in `saved`, or lies in the workspace, again in that
// order; which is which depends on the variant.
#pragma once

#include <array>
#include <cstddef>

namespace mylos {

template <std::size_t Count>
struct KeptParts {
  std::array<std::size_t, Count> bytes{};  // multiples of arena_alignment
  std::array<bool, Count> kept{};

  [[nodiscard]] std::size_t saved_bytes() const { return sum(true, Count); }
  [[nodiscard]] std::size_t workspace_bytes() const { return sum(false, Count); }
  [[nodiscard]] std::byte* place(std::size_t part, std::byte* saved, std::byte* workspace) const {
    return (kept[part] ? saved : workspace) + sum(kept[part], part);
  }

 private:
  [[nodiscard]] std::size_t sum(bool of_kept, std::size_t end) const {
    std::size_t total = 0;
    for (std::size_t i = 0; i < end; ++i) total += kept[i] == of_kept ? bytes[i] : 0;
    return total;
  }
};

}  // namespace mylos
