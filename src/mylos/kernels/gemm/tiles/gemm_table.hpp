// The table behind kernels.gemm = "auto": which of oneDNN and the tiles computes a product on which
// processor.
//
// It follows from the processor, the types, the form and the sizes alone, so that every start of a run makes
// the same choice.
#pragma once

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// What the table tells processors apart by.
enum class Processor { baseline, avx2, avx512, avx512_bf16, matrix_unit, neon, sve };

[[nodiscard]] std::string_view name_of(Processor processor);

struct GemmSizes {
  std::int64_t m, n, k;
};

/// A line of the table: the tiles compute products of this type of operands and this form whose sizes are all
/// at least `from` and at most `to`.
struct GemmRow {
  Processor processor;
  DType type;
  GemmForm form;
  GemmSizes from;
  GemmSizes to;
};

/// The table as it stands for the instructions in use when it was made, and for what oneDNN may use.
class GemmTable {
 public:
  GemmTable();

  [[nodiscard]] Processor processor() const { return processor_; }
  /// Whether oneDNN may use all instructions that are in use.
  [[nodiscard]] bool onednn_has_all_instructions() const { return onednn_has_all_instructions_; }
  /// True where lines decide, and not the type alone: where oneDNN multiplies it by instructions of the
  /// processor, and by all that are in use.
  [[nodiscard]] bool has_lines_for(DType type) const;
  [[nodiscard]] bool tiles_are_faster(const GemmProblem& problem) const;
  /// The same of the problem or of any that is smaller in m, n or k: workspace for a product serves those.
  [[nodiscard]] bool tiles_may_be_faster(const GemmProblem& problem) const;

 private:
  Processor processor_;
  bool onednn_has_all_instructions_;
  bool onednn_multiplies_bfloat16_;
};

}  // namespace mylos
