// The table for kernels.gemm = "auto": whether oneDNN or the tiles compute a GEMM on a processor.
//
// The choice depends only on the processor, the types, the form and the sizes, so that every start of a run
// makes the same choice.
#pragma once

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// The classes of processors that the table distinguishes.
enum class Processor { baseline, avx2, avx512, avx512_bf16, matrix_unit, neon, sve };

[[nodiscard]] std::string_view name_of(Processor processor);

struct GemmSizes {
  std::int64_t m, n, k;
};

/// A line of the table: the tiles compute GEMMs of this operand type and form whose sizes are all at least
/// `from` and at most `to`.
struct GemmRow {
  Processor processor;
  DType type;
  GemmForm form;
  GemmSizes from;
  GemmSizes to;
};

/// The table for the instructions in use at construction and for the instructions that oneDNN may use.
class GemmTable {
 public:
  GemmTable();

  [[nodiscard]] Processor processor() const { return processor_; }
  /// Returns true if oneDNN may use all instructions that are in use.
  [[nodiscard]] bool onednn_has_all_instructions() const { return onednn_has_all_instructions_; }
  /// Returns true if the lines of the table decide for this type: if oneDNN multiplies it by processor
  /// instructions and may use all that are in use. Otherwise the type alone decides.
  [[nodiscard]] bool has_lines_for(DType type) const;
  [[nodiscard]] bool tiles_are_faster(const GemmProblem& problem) const;
  /// Returns true if the tiles are faster for the problem or any that is smaller in m, n or k, which share
  /// its workspace.
  [[nodiscard]] bool tiles_may_be_faster(const GemmProblem& problem) const;

 private:
  Processor processor_;
  bool onednn_has_all_instructions_;
  bool onednn_multiplies_bfloat16_;
};

}  // namespace mylos
