#include "mylos/kernels/gemm/tiles/gemm_table.hpp"

#include <algorithm>
#include <limits>

#include "mylos/base/instructions.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"

namespace mylos {
namespace {

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
constexpr GemmSizes no_limit = {any, any, any};

// Measured by gemm_bench --table, which prints such lines. These were measured against oneDNN 2.6.3 on two
// cores of a Xeon of the Sapphire Rapids class. oneDNN computes a GEMM that matches no line.
constexpr GemmRow table[] = {
    {Processor::baseline, DType::fp32, GemmForm::output, {1, 1, 1}, no_limit},
    {Processor::baseline, DType::fp32, GemmForm::input_gradient, {1, 1, 384}, {any, any, 1536}},
    {Processor::baseline, DType::fp32, GemmForm::weight_gradient, {1, 1, 1}, {65, any, any}},
    {Processor::avx2, DType::fp32, GemmForm::output, {1, 1, 1}, {any, 1152, any}},
    {Processor::avx2, DType::fp32, GemmForm::input_gradient, {1024, 1, 1}, {any, any, 384}},
    {Processor::avx2, DType::fp32, GemmForm::weight_gradient, {1, 1, 512}, {10, any, any}},
    {Processor::avx512, DType::fp32, GemmForm::output, {1, 1, 1}, {any, 512, any}},
    {Processor::avx512, DType::fp32, GemmForm::input_gradient, {1, 1, 1}, {any, any, 512}},
    {Processor::avx512, DType::fp32, GemmForm::weight_gradient, {1, 1, 1}, {any, 128, any}},
    {Processor::avx512_bf16, DType::fp32, GemmForm::output, {1, 1, 1}, {any, 512, any}},
    {Processor::avx512_bf16, DType::fp32, GemmForm::input_gradient, {1, 1, 1}, {any, any, 10}},
    {Processor::avx512_bf16, DType::fp32, GemmForm::weight_gradient, {1, 1, 1}, {any, 128, any}},
    // In isolation, with operands in the cache, oneDNN is a few percent faster for some of these. Within a
    // step, whose operands come from memory, it is 5 % slower, and a sixth slower if it has to transpose A.
    {Processor::avx512_bf16, DType::bf16, GemmForm::output, {1, 1, 1}, no_limit},
    {Processor::avx512_bf16, DType::bf16, GemmForm::input_gradient, {1, 1, 1}, no_limit},
    {Processor::avx512_bf16, DType::bf16, GemmForm::weight_gradient, {1, 1, 1}, no_limit},
    {Processor::matrix_unit, DType::fp32, GemmForm::output, {1, 1, 1}, {any, 128, any}},
    {Processor::matrix_unit, DType::fp32, GemmForm::input_gradient, {1, 1, 1}, {any, any, 10}},
    {Processor::matrix_unit, DType::fp32, GemmForm::weight_gradient, {1, 1, 1}, {any, 128, any}},
    {Processor::matrix_unit, DType::bf16, GemmForm::input_gradient, {1, 1, 1}, {any, any, 10}},
};

const GemmRow* row_of(Processor processor, const GemmProblem& problem) {
  const auto* found = std::find_if(std::begin(table), std::end(table), [&](const GemmRow& row) {
    return row.processor == processor && row.type == problem.a && row.form == form_of(problem);
  });
  return found == std::end(table) ? nullptr : found;
}

bool at_most(const GemmSizes& less, const GemmSizes& more) {
  return less.m <= more.m && less.n <= more.n && less.k <= more.k;
}

Processor processor_in_use() {
  switch (instructions_in_use()) {
    case Instructions::baseline:
      return Processor::baseline;
    case Instructions::avx2:
      return Processor::avx2;
    case Instructions::avx512:
      return Processor::avx512;
    case Instructions::avx512_bf16:
      return onednn::uses_matrix_unit() ? Processor::matrix_unit : Processor::avx512_bf16;
    case Instructions::neon:
      return Processor::neon;
    case Instructions::sve:
      return Processor::sve;
  }
  return Processor::baseline;
}

}  // namespace

std::string_view name_of(Processor processor) {
  constexpr std::string_view names[] = {"baseline",    "avx2", "avx512", "avx512_bf16",
                                        "matrix_unit", "neon", "sve"};
  return names[static_cast<std::size_t>(processor)];
}

GemmTable::GemmTable()
    : processor_(processor_in_use()),
      onednn_has_all_instructions_(!onednn::is_limited_below(instructions_in_use())),
      onednn_multiplies_bfloat16_(onednn::multiplies_bfloat16()) {}

bool GemmTable::has_lines_for(DType type) const {
  if (type == DType::fp16 || !onednn_has_all_instructions_) return false;
  return type == DType::fp32 || onednn_multiplies_bfloat16_;
}

bool GemmTable::tiles_are_faster(const GemmProblem& problem) const {
  if (!has_lines_for(problem.a)) return true;
  const GemmRow* row = row_of(processor_, problem);
  const GemmSizes sizes = {problem.m, problem.n, problem.k};
  return row != nullptr && at_most(row->from, sizes) && at_most(sizes, row->to);
}

bool GemmTable::tiles_may_be_faster(const GemmProblem& problem) const {
  if (!has_lines_for(problem.a)) return true;
  const GemmRow* row = row_of(processor_, problem);
  return row != nullptr && at_most(row->from, {problem.m, problem.n, problem.k});
}

}  // namespace mylos
