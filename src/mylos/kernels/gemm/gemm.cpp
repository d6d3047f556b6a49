// Describes the GEMMs of a linear layer. vendor/engine_sets.cpp selects the engine that computes them.
#include "mylos/kernels/gemm/gemm.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"

namespace mylos {

GemmForm form_of(const GemmProblem& problem) {
  if (problem.transpose_a) return GemmForm::weight_gradient;
  return problem.transpose_b ? GemmForm::output : GemmForm::input_gradient;
}

std::string_view name_of(GemmForm form) {
  switch (form) {
    case GemmForm::output:
      return "y";
    case GemmForm::input_gradient:
      return "dx";
    case GemmForm::weight_gradient:
      break;
  }
  return "dW";
}

bool same_product(const GemmProblem& one, const GemmProblem& other) {
  return one.m == other.m && one.n == other.n && one.k == other.k && one.transpose_a == other.transpose_a &&
         one.transpose_b == other.transpose_b && one.a == other.a && one.b == other.b && one.c == other.c;
}

GemmProblem linear_output(std::int64_t samples, std::int64_t inputs, std::int64_t outputs, DType type) {
  GemmProblem problem;
  problem.m = samples;
  problem.n = outputs;
  problem.k = inputs;
  problem.transpose_b = true;
  problem.a = problem.b = problem.c = problem.bias_type = type;
  return problem;
}

GemmProblem linear_input_gradient(std::int64_t samples, std::int64_t inputs, std::int64_t outputs,
                                  DType type) {
  GemmProblem problem;
  problem.m = samples;
  problem.n = inputs;
  problem.k = outputs;
  problem.a = problem.b = problem.c = problem.bias_type = type;
  return problem;
}

GemmProblem linear_weight_gradient(std::int64_t samples, std::int64_t inputs, std::int64_t outputs,
                                   DType type, DType gradient_type) {
  GemmProblem problem;
  problem.m = outputs;
  problem.n = inputs;
  problem.k = samples;
  problem.transpose_a = true;
  problem.a = problem.b = problem.bias_type = type;
  problem.c = gradient_type;
  return problem;
}

GemmProblem with_row_sums(const GemmEngine& engine, const GemmProblem& problem) {
  GemmProblem both = problem;
  both.row_sums = engine.sums_rows(problem);
  return both;
}

void check_gemm_problem(const GemmProblem& problem) {
  if (problem.m < 1 || problem.n < 1 || problem.k < 1) {
    fail_run(errors::internal, "a GEMM of {} x {} by {} x {} has no elements", problem.m, problem.k,
             problem.k, problem.n);
  }
  if (problem.a != problem.b) {
    fail_run(errors::internal, "a GEMM of {} by {}: both operands must have the same type",
             name_of(problem.a), name_of(problem.b));
  }
  if (problem.c != problem.a && problem.c != DType::fp32) {
    fail_run(errors::internal, "a GEMM of {} stored as {}: the result must be {} or fp32", name_of(problem.a),
             name_of(problem.c), name_of(problem.a));
  }
  if (problem.bias && problem.bias_type != problem.b && problem.bias_type != problem.c) {
    fail_run(errors::internal,
             "a GEMM of {} stored as {} with a bias of {}: the bias must have one of the other two types",
             name_of(problem.a), name_of(problem.c), name_of(problem.bias_type));
  }
}

bool could_use_matrix_unit() {
  return onednn::could_use_matrix_unit();
}

std::string describe_instructions() {
  const std::string of_onednn = onednn::limit();
  const std::string vector_code(name_of(instructions_in_use()));
  return of_onednn.empty() ? vector_code : fmt::format("{}, oneDNN's {}", vector_code, of_onednn);
}

}  // namespace mylos
