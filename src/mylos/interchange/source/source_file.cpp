#include "mylos/interchange/source/source_file.hpp"

namespace mylos {

std::set<std::string> SourceFile::routines() const {
  std::set<std::string> names = routines_of(plan.forward);
  if (names.contains("linear")) names.insert("linear_block");
  if (derivative == SourceDerivative::none) return names;
  names.merge(routines_of(plan.tape_forward));
  names.merge(routines_of(derivatives()));
  return names;
}

}  // namespace mylos
