// Texts that the languages of exported source have in common: numbers, calls, lines of a given length.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/interchange/source/source_file.hpp"

namespace mylos {

/// Returns the shortest text that reads as exactly this number, with a point or an exponent. `is_double`:
/// read in double; else in float.
[[nodiscard]] std::string number_text(double value, bool is_double);

/// Returns the text in printable ASCII, without what begins or ends comments in any of the languages.
[[nodiscard]] std::string comment_text(std::string_view text);

/// Joins items by ", " into lines of at most `width` characters, of which the first begins after `column`
/// characters and the others with `indent`. `break_line`: what ends a line before the last ("" or " &").
[[nodiscard]] std::string wrapped(const std::vector<std::string>& items, std::size_t column,
                                  std::size_t width, std::string_view indent, std::string_view break_line);

/// How a language writes calls.
class SourceSyntax {
 public:
  virtual ~SourceSyntax() = default;
  [[nodiscard]] virtual std::string constant(const std::string& name) const = 0;
  [[nodiscard]] virtual std::string number(double value) const = 0;
  /// `column`, `point`: the variables that count columns and points; "": the first or only one.
  [[nodiscard]] virtual std::string address(const SourceAddress& address, const std::string& column,
                                            const std::string& point) const = 0;
  /// A line that calls a routine, with the layer as comment.
  [[nodiscard]] virtual std::string call(const std::string& routine,
                                         const std::vector<std::string>& arguments, const std::string& layer,
                                         const std::string& indent) const = 0;
  [[nodiscard]] virtual std::string indent() const = 0;  // of a function's statements
  /// A loop with this indentation.
  [[nodiscard]] virtual std::string loop(const std::string& variable, const std::string& count,
                                         const std::string& body, const std::string& indent) const = 0;
  /// The declaration of an array of `width` numbers for each of some columns.
  [[nodiscard]] virtual std::string array(const std::string& name, std::int64_t columns,
                                          std::int64_t width) const = 0;

 protected:
  SourceSyntax() = default;
  SourceSyntax(const SourceSyntax&) = default;
  SourceSyntax& operator=(const SourceSyntax&) = default;
};

/// Returns the arguments. `columns`: a variable by which the first, a size, is multiplied; "": 1. `column`,
/// `point`: as of SourceSyntax::address.
[[nodiscard]] std::vector<std::string> argument_texts(const SourceCall& call, const SourceSyntax& syntax,
                                                      const std::string& columns, const std::string& column,
                                                      const std::string& point);

/// Returns the declarations of the buffers that the pass uses, for `columns` columns.
[[nodiscard]] std::string buffer_lines(const SourcePass& pass, const SourceSyntax& syntax,
                                       std::int64_t columns);
/// Returns the calls for one column.
[[nodiscard]] std::string column_calls(const SourcePass& pass, const SourceSyntax& syntax);
/// Returns the calls for as many columns as the variable `columns` has.
[[nodiscard]] std::string block_calls(const SourcePass& pass, const SourceSyntax& syntax);

/// Returns "x, tape": of the pass's parameters those that it uses, a function of it has no others. `given`:
/// each parameter, and the argument for it.
[[nodiscard]] std::string arguments_of(const SourcePass& pass,
                                       std::initializer_list<std::pair<const char*, std::string>> given);

/// Replaces each occurrence of a part of the text.
void replace_all(std::string& text, std::string_view part, std::string_view with);

}  // namespace mylos
