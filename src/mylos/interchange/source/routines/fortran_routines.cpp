#include "mylos/interchange/source/routines/fortran_routines.hpp"

namespace mylos {

std::vector<SourceRoutine> fortran_routines() {
  std::vector<SourceRoutine> all;
  for (const auto& table : {fortran_element_routines(), fortran_linear_routines(), fortran_column_routines(),
                            fortran_slope_routines()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace mylos
