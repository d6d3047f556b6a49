// SourceConstants: the constants of a network's operations, as a SourcePlan has them, and their names.
#pragma once

#include "mylos/model/source/source_calls.hpp"
#include "mylos/model/source/source_names.hpp"

namespace mylos {

class SourceConstants {
 public:
  /// Adds the constants of all operations to the plan.
  SourceConstants(const SourceNetwork& network, const std::set<std::string>& reserved, SourcePlan& plan);

  /// Returns a constant of the operation, which are counted in the order of its routine's arguments.
  [[nodiscard]] SourceConstantUse of(std::size_t operation, std::size_t which) const {
    return {of_[operation][which]};
  }

 private:
  std::vector<std::vector<std::string>> of_;  // names, by operation
};

}  // namespace mylos
