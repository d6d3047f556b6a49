#include "mylos/interchange/source/fortran_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace mylos {

std::string fortran_literal(double value, bool is_double, const char* kind) {
  const double smallest =
      is_double ? std::numeric_limits<double>::min() : static_cast<double>(std::numeric_limits<float>::min());
  return fmt::format("{}_{}", number_text(std::abs(value) < smallest ? 0 : value, is_double), kind);
}

std::string FortranSyntax::constant(const std::string& name) const {
  const std::optional<std::int64_t> offset = file_.file_offset(name);
  return offset ? fmt::format("weights({})", *offset + 1) : name;
}

std::string FortranSyntax::number(double value) const {
  return fortran_literal(value, file_.is_double, "rk");
}

std::string FortranSyntax::address(const SourceAddress& address, const std::string& column,
                                   const std::string& point) const {
  std::string index;
  for (const auto& [variable, width] : {std::pair{column, address.width}, std::pair{point, address.step}}) {
    if (!variable.empty()) index += fmt::format(" + {} * ({} - 1)", width, variable);
  }
  if (!index.empty()) return fmt::format("{}({}{})", address.buffer, address.offset + 1, index);
  return address.offset > 0 ? fmt::format("{}({})", address.buffer, address.offset + 1) : address.buffer;
}

std::string FortranSyntax::call(const std::string& routine, const std::vector<std::string>& arguments,
                                const std::string& layer, const std::string& indent) const {
  const std::string begin = fmt::format("{}call {}(", indent, routine);
  const std::string texts = wrapped(arguments, begin.size(), fortran_line - 2, indent + "    ", " &");
  const bool has_room = begin.size() + texts.size() < 60;
  return fmt::format("{}{}){}\n", begin, texts,
                     has_room ? fmt::format("  ! {}", comment_text(layer).substr(0, 60)) : "");
}

std::string FortranSyntax::loop(const std::string& variable, const std::string& count,
                                const std::string& body, const std::string& indent) const {
  return fmt::format("{0}do {1} = 1, {2}\n{3}{0}end do\n", indent, variable, count, body);
}

std::string FortranSyntax::array(const std::string& name, std::int64_t columns, std::int64_t width) const {
  return columns > 1 ? fmt::format("    real(rk) :: {}({} * {})\n", name, columns, width)
                     : fmt::format("    real(rk) :: {}({})\n", name, width);
}

std::string fortran_loop_variables(const SourcePass& pass, bool is_block) {
  bool has_columns = false;
  bool has_points = false;
  for (const SourceCall& call : pass.calls) {
    has_columns |=
        is_block && (call.kind == SourceCallKind::each_element || call.kind == SourceCallKind::whole);
    has_points |= call.points > 1 && call.kind != SourceCallKind::linear;
  }
  return fmt::format("{}{}", has_columns ? "    integer :: c\n" : "", has_points ? "    integer :: p\n" : "");
}

std::string fortran_filled(std::string_view text, const SourceFile& file) {
  const std::pair<std::string_view, std::string> words[] = {
      {"WEIGHTS", file.has_weight_file() ? "weights, " : ""},
      {"DECLARED", file.has_weight_file()
                       ? fmt::format("    real(rk), intent(in) :: weights({}_weights)\n", file.name)
                       : ""},
      {"COUNT", fmt::format("{}", file.file_weights)},
      {"CRC_", fmt::format("{}_", file.weights_crc)},
      {"BITS", file.is_double ? "int64" : "int32"},
      {"OUTPUTS", file.name + "_outputs"},
      {"INPUTS", file.name + "_inputs"},
      {"NAME", file.name}};
  std::string filled;
  while (!text.empty()) {
    const auto* const word = std::find_if(std::begin(words), std::end(words),
                                          [&](const auto& each) { return text.starts_with(each.first); });
    const bool is_word = word != std::end(words);
    filled += is_word ? std::string_view(word->second) : text.substr(0, 1);
    text.remove_prefix(is_word ? word->first.size() : 1);
  }
  return filled;
}

}  // namespace mylos
