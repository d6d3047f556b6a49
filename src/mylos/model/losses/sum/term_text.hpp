// What messages call a term of a sum.
#pragma once

#include <cstddef>
#include <string>

namespace mylos {

/// Returns "model.terms: term 1" of the first, whose index is 0.
[[nodiscard]] inline std::string text_of_term(std::size_t index) {
  return "model.terms: term " + std::to_string(index + 1);
}

}  // namespace mylos
