#include "mylos/interchange/source/source_file.hpp"

namespace mylos {

std::optional<std::int64_t> SourceFile::file_offset(const std::string& constant) const {
  for (const SourceConstant& each : plan.constants) {
    if (each.name == constant) return each.file_offset;
  }
  return std::nullopt;
}

std::set<std::string> SourceFile::routines() const {
  std::set<std::string> names = routines_of(plan.forward);
  if (names.contains("linear")) names.insert("linear_block");
  if (derivative == SourceDerivative::none) return names;
  names.merge(routines_of(plan.tape_forward));
  names.merge(routines_of(derivatives()));
  return names;
}

}  // namespace mylos
