// What exported C and C++ source have in common: constants, calls, and the bodies of functions.
#pragma once

#include <functional>
#include <string>

#include "mylos/interchange/source/source_text.hpp"

namespace mylos {

/// Returns lines as one comment.
[[nodiscard]] std::string c_comment(const std::vector<std::string>& lines);

/// Returns "  1.5f, ...", lines with all numbers of an array.
[[nodiscard]] std::string c_numbers(const SourceConstant& constant, bool is_double, std::string_view indent);

/// What the text of c_routines.hpp becomes: its words after $, and the type `real`.
struct CDialect {
  std::string function;  // before a function
  std::string restricted;
  std::string real_cast;    // "(real)"
  std::string double_cast;  // "(double)"
  std::string math;         // before "exp": "math::"
  std::string math_ending;  // after it: "f"
  bool has_devices = false;
};
[[nodiscard]] std::string c_routine_text(std::string text, const CDialect& dialect);

/// Returns a text with $parameter and $argument replaced: the weights as a first parameter and as an
/// argument, or nothing.
[[nodiscard]] std::string c_with_weights(const SourceFile& file, std::string text);

/// Returns the constant's name with an ending, or its numbers among the weights.
[[nodiscard]] std::string c_constant_use(const SourceFile& file, const std::string& name, const char* ending);

/// Calls with constants as `constant` writes them.
class CSyntax final : public SourceSyntax {
 public:
  CSyntax(bool is_double, std::function<std::string(const std::string&)> constant)
      : is_double_(is_double), constant_(std::move(constant)) {}

  [[nodiscard]] std::string constant(const std::string& name) const override { return constant_(name); }
  [[nodiscard]] std::string number(double value) const override;
  [[nodiscard]] std::string address(const SourceAddress& address, const std::string& column,
                                    const std::string& point) const override;
  [[nodiscard]] std::string call(const std::string& routine, const std::vector<std::string>& arguments,
                                 const std::string& layer, const std::string& indent) const override;
  [[nodiscard]] std::string indent() const override { return "  "; }
  [[nodiscard]] std::string loop(const std::string& variable, const std::string& count,
                                 const std::string& body, const std::string& indent) const override;
  [[nodiscard]] std::string array(const std::string& name, std::int64_t columns,
                                  std::int64_t width) const override;

 private:
  bool is_double_;
  std::function<std::string(const std::string&)> constant_;
};

/// Returns the function that reads the file of weights.
[[nodiscard]] std::string c_loader_text(const SourceFile& file, bool is_cpp);

/// The functions of the network that are not for users: forward, forward_columns, forward_tape, tangent and
/// pullback, each with `function` before it.
[[nodiscard]] std::string c_passes(const SourceFile& file, const SourceSyntax& syntax,
                                   const std::string& function);

/// Returns the body of a function for derivatives: of "jvp" with x, dx, y, dy; "vjp" with x, ybar, xbar;
/// "jacobian" with x, jacobian.
[[nodiscard]] std::string c_derivative_body(const SourceFile& file, const std::string& scope);

/// Returns the body of a function for columns with columns, x, y.
[[nodiscard]] std::string c_block_body(const SourceFile& file, const std::string& scope);

}  // namespace mylos
