// The variants of a residual branch, in the order in which it offers them.
#pragma once

#include <cstddef>

#include "mylos/model/block.hpp"

namespace mylos {

enum BranchVariant : std::size_t { keeps_all, keeps_lean, keeps_input, branch_variants };

inline constexpr const char* branch_variant_names[branch_variants] = {"all", "lean", "input"};

/// What forward keeps in this memory.
[[nodiscard]] inline std::size_t kept_in(const BlockMemory& memory) {
  return memory.saved == nullptr ? static_cast<std::size_t>(keeps_input) : memory.variant;
}

}  // namespace mylos
