// SourceFile: what a file of exported source contains, whatever its language.
#pragma once

#include <string>
#include <vector>

#include "mylos/model/source/source_calls.hpp"

namespace mylos {

enum class SourceLanguage { c, cpp, fortran };
/// The function for derivatives in the file, in physical units.
enum class SourceDerivative { none, jvp, vjp, jacobian };

struct SourceFile {
  std::string name;        // of the network: prefix of functions, C++ namespace, Fortran module
  bool is_double = false;  // the arithmetic's type; else float
  SourceDerivative derivative = SourceDerivative::none;
  SourcePlan plan;
  std::vector<std::string> description;  // lines of the comment at the beginning
  std::vector<std::string> deck;         // lines of the comment at the end
  std::int64_t file_weights = 0;         // numbers in the file of weights; 0: there is none
  std::uint32_t weights_crc = 0;

  [[nodiscard]] bool has_weight_file() const { return file_weights > 0; }
  /// Returns the offset of a constant in the file of weights.
  [[nodiscard]] std::optional<std::int64_t> file_offset(const std::string& constant) const;

  [[nodiscard]] bool has_tangent() const {
    return derivative == SourceDerivative::jvp ||
           (derivative == SourceDerivative::jacobian && plan.inputs < plan.outputs);
  }
  [[nodiscard]] bool has_pullback() const {
    return derivative == SourceDerivative::vjp ||
           (derivative == SourceDerivative::jacobian && plan.inputs >= plan.outputs);
  }
  /// Returns the pass of derivatives.
  [[nodiscard]] const SourcePass& derivatives() const { return has_tangent() ? plan.tangent : plan.pullback; }
  /// Returns the columns that a block computes at once, whose vectors are on the stack: at most 512 KiB of
  /// doubles for 24 columns, which are four tiles, 2.25 MiB for 6, and one column of wider networks.
  [[nodiscard]] std::int64_t columns_at_once() const {
    const std::int64_t width = plan.forward.buffer_width() + plan.inputs + plan.outputs;
    if (width <= 2730) return 24;
    return width <= 49152 ? 6 : 1;
  }
  /// Returns the routines that the file's functions call.
  [[nodiscard]] std::set<std::string> routines() const;
};

/// A file in its language.
[[nodiscard]] std::string c_source(const SourceFile& file);
[[nodiscard]] std::string cpp_source(const SourceFile& file);
[[nodiscard]] std::string fortran_source(const SourceFile& file);

}  // namespace mylos
