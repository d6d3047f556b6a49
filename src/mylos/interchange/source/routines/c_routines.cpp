#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {

std::vector<SourceRoutine> c_routines(bool is_double) {
  std::vector<SourceRoutine> all;
  for (const auto& table :
       {c_functions(is_double), c_element_routines(), c_linear_routines(), c_slope_routines()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace mylos
