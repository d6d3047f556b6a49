#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {

std::vector<SourceRoutine> c_routines(bool is_double) {
  std::vector<SourceRoutine> all;
  const auto append = [&](const auto& table) { all.insert(all.end(), table.begin(), table.end()); };
  append(c_functions(is_double));
  append(c_element_routines());
  append(c_linear_routines(is_double));
  append(c_column_routines());
  append(c_slope_routines());
  return all;
}

}  // namespace mylos
