// What the files of exported Fortran's text have in common.
#pragma once

#include <string>
#include <string_view>

#include "mylos/interchange/source/source_text.hpp"

namespace mylos {

inline constexpr std::size_t fortran_line = 120;

/// Returns the literal. Numbers that are not normalised are an error in some compilers, and 0 in arithmetic
/// that flushes them.
[[nodiscard]] std::string fortran_literal(double value, bool is_double, const char* kind);

class FortranSyntax final : public SourceSyntax {
 public:
  explicit FortranSyntax(const SourceFile& file) : file_(file) {}

  [[nodiscard]] std::string constant(const std::string& name) const override;
  [[nodiscard]] std::string number(double value) const override;
  [[nodiscard]] std::string address(const SourceAddress& address, const std::string& column,
                                    const std::string& point) const override;
  [[nodiscard]] std::string call(const std::string& routine, const std::vector<std::string>& arguments,
                                 const std::string& layer, const std::string& indent) const override;
  [[nodiscard]] std::string indent() const override { return "    "; }
  [[nodiscard]] std::string loop(const std::string& variable, const std::string& count,
                                 const std::string& body, const std::string& indent) const override;
  [[nodiscard]] std::string array(const std::string& name, std::int64_t columns,
                                  std::int64_t width) const override;

 private:
  const SourceFile& file_;
};

/// Declares the variables of loops over columns, in a block, and over points.
[[nodiscard]] std::string fortran_loop_variables(const SourcePass& pass, bool is_block);

/// Replaces the names in upper case: INPUTS, OUTPUTS and the network's NAME; WEIGHTS and DECLARED by the
/// argument and its declaration if weights are in a file, and COUNT, CRC_ and BITS by what its loader needs.
/// In one pass, because the network's name may contain them.
[[nodiscard]] std::string fortran_filled(std::string_view text, const SourceFile& file);

/// Returns the function for derivatives and the passes that it calls, filled.
[[nodiscard]] std::string fortran_derivatives(const SourceFile& file);

}  // namespace mylos
