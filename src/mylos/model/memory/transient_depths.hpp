// Where the tensors that only pass lie, counted from the arena's top.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mylos/model/memory/lifetimes.hpp"

namespace mylos {

/// For each tensor that is not kept, the bytes between its end and the top of an arena of `bytes`, such that
/// it stays clear of the kept tensors' stack, of `heights` by operation. Empty where a search that keeps
/// `max_states` of its states after each operation finds none.
[[nodiscard]] std::optional<std::vector<std::size_t>> transient_depths(
    const std::vector<TensorLifetime>& tensors, const std::vector<std::size_t>& heights, std::size_t bytes,
    std::size_t max_states);

}  // namespace mylos
