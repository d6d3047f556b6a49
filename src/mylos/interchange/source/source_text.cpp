#include "mylos/interchange/source/source_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mylos {
namespace {

struct ArgumentText {
  const SourceSyntax& syntax;
  const std::string& column;
  const std::string& point;

  std::string operator()(std::int64_t size) const { return fmt::format("{}", size); }
  std::string operator()(const SourceNumber& number) const { return syntax.number(number.value); }
  std::string operator()(const SourceConstantUse& use) const { return syntax.constant(use.name); }
  std::string operator()(const SourceAddress& address) const {
    return syntax.address(address, column, point);
  }
};

/// A call of the routine for blocks. `columns`: of the block.
std::string block_call(const SourceCall& call, const SourceSyntax& syntax, const std::string& columns) {
  std::vector<std::string> arguments = argument_texts(call, syntax, "", "", "");
  arguments.insert(arguments.begin(), columns);
  return syntax.call(call.routine + "_block", arguments, call.layer, syntax.indent());
}

/// A call for one column, or for each of its points.
std::string column_call(const SourceCall& call, const SourceSyntax& syntax, const std::string& column,
                        const std::string& indent) {
  const bool has_points = call.points > 1;
  const std::string inner = has_points ? indent + "  " : indent;
  std::string text = syntax.call(
      call.routine, argument_texts(call, syntax, "", column, has_points ? "p" : ""), call.layer, inner);
  return has_points ? syntax.loop("p", fmt::format("{}", call.points), text, indent) : text;
}

}  // namespace

std::string number_text(double value, bool is_double) {
  std::string text = is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string comment_text(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c >= ' ' && c <= '~' ? c : '?';
  // "??/" at the end of a line would be a trigraph, and a backslash would continue the line.
  for (const auto& [from, to] :
       {std::pair{"*/", "* /"}, std::pair{"/*", "/ *"}, std::pair{"??", "? ?"}, std::pair{"\\", "/"}})
    replace_all(safe, from, to);
  // once more: "?" of "???", and "*\/" with its backslash replaced
  replace_all(safe, "*/", "* /");
  replace_all(safe, "/*", "/ *");
  replace_all(safe, "??", "? ?");
  return safe;
}

std::string wrapped(const std::vector<std::string>& items, std::size_t column, std::size_t width,
                    std::string_view indent, std::string_view break_line) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = i + 1 < items.size() ? items[i] + "," : items[i];
    if (column + 1 + item.size() + break_line.size() > width && i > 0) {
      text += fmt::format("{}\n{}{}", break_line, indent, item);
      column = indent.size() + item.size();
    } else {
      const std::string_view blank = i > 0 ? " " : "";
      text += fmt::format("{}{}", blank, item);
      column += blank.size() + item.size();
    }
  }
  return text;
}

std::vector<std::string> argument_texts(const SourceCall& call, const SourceSyntax& syntax,
                                        const std::string& columns, const std::string& column,
                                        const std::string& point) {
  std::vector<std::string> texts;
  for (const SourceArgument& argument : call.arguments) {
    std::string text = std::visit(ArgumentText{syntax, column, point}, argument);
    texts.push_back(texts.empty() && !columns.empty() ? fmt::format("{} * {}", columns, text)
                                                      : std::move(text));
  }
  return texts;
}

std::string buffer_lines(const SourcePass& pass, const SourceSyntax& syntax, std::int64_t columns) {
  std::string text;
  for (const SourceBuffer& buffer : pass.buffers) {
    if (pass.uses(buffer.name)) text += syntax.array(buffer.name, columns, buffer.width);
  }
  return text;
}

std::string column_calls(const SourcePass& pass, const SourceSyntax& syntax) {
  std::string text;
  for (const SourceCall& call : pass.calls) {
    text += call.is_block_of_points() ? block_call(call, syntax, fmt::format("{}", call.points))
                                      : column_call(call, syntax, "", syntax.indent());
  }
  return text;
}

std::string block_calls(const SourcePass& pass, const SourceSyntax& syntax) {
  const std::string indent = syntax.indent();
  std::string text;
  for (const SourceCall& call : pass.calls) {
    switch (call.kind) {
      case SourceCallKind::linear:
        text +=
            block_call(call, syntax, call.points > 1 ? fmt::format("columns * {}", call.points) : "columns");
        break;
      case SourceCallKind::elementwise:
        text +=
            syntax.call(call.routine, argument_texts(call, syntax, "columns", "", ""), call.layer, indent);
        break;
      case SourceCallKind::each_element:
      case SourceCallKind::whole:
        text += syntax.loop("c", "columns", column_call(call, syntax, "c", indent + "  "), indent);
        break;
    }
  }
  return text;
}

std::string arguments_of(const SourcePass& pass,
                         std::initializer_list<std::pair<const char*, std::string>> given) {
  std::vector<std::string> texts;
  for (const auto& [name, argument] : given) {
    if (pass.uses(name)) texts.push_back(argument);
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

void replace_all(std::string& text, std::string_view part, std::string_view with) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + with.size()))
    text.replace(at, part.size(), with);
}

}  // namespace mylos
