// The lines of `mylos eval` on how well stated uncertainties hold.
#pragma once

#include <string>
#include <vector>

#include "mylos/inference/uncertainty/uncertainty_measures.hpp"

namespace mylos::app {

/// `names`: of the targets or channels; empty, or not as many: they have none.
[[nodiscard]] std::vector<std::string> uncertainty_lines(const UncertaintyResult& result,
                                                         const std::vector<std::string>& names);

}  // namespace mylos::app
