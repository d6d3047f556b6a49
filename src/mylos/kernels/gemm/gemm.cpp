// Describes the GEMMs of a linear layer and selects the engine that computes them.
#include "mylos/kernels/gemm/gemm.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"

namespace mylos {
namespace {

struct Engine {
  GemmChoice choice;
  MakeGemm (*find)();
};

// From the fastest to the one that runs everywhere.
constexpr Engine engines[] = {
    {GemmChoice::cublaslt, cublaslt_gemm},
    {GemmChoice::onednn, onednn_gemm},
    {GemmChoice::tiles, tiled_gemm},
    {GemmChoice::kokkos, kokkos_gemm},
};

constexpr std::string_view name_of(GemmChoice choice) {
  switch (choice) {
    case GemmChoice::measure:
      return "measure";
    case GemmChoice::cublaslt:
      return "cublaslt";
    case GemmChoice::onednn:
      return "onednn";
    case GemmChoice::tiles:
      return "tiles";
    case GemmChoice::kokkos:
      return "kokkos";
    case GemmChoice::automatic:
      break;
  }
  return "auto";
}

/// Returns the engine for "auto" or "measure", if this build has several engines to choose from.
MakeGemm chosen_engine(GemmChoice choice) {
  if (choice == GemmChoice::automatic) return table_gemm();
  return choice == GemmChoice::measure ? measured_gemm() : nullptr;
}

bool names_one(GemmChoice choice) {
  return choice != GemmChoice::automatic && choice != GemmChoice::measure;
}

}  // namespace

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
    fail_run("a product of {} x {} by {} x {} has no elements", problem.m, problem.k, problem.k, problem.n);
  }
  if (problem.a != problem.b) {
    fail_run("a product of {} by {}: both operands must have one type", mylos::name_of(problem.a),
             mylos::name_of(problem.b));
  }
  if (problem.c != problem.a && problem.c != DType::fp32) {
    fail_run("a product of {} stored as {}: only {} or fp32 can be", mylos::name_of(problem.a),
             mylos::name_of(problem.c), mylos::name_of(problem.a));
  }
  if (problem.bias && problem.bias_type != problem.b && problem.bias_type != problem.c) {
    fail_run("a product of {} stored as {} with a bias of {}: the bias has one of the other two types",
             mylos::name_of(problem.a), mylos::name_of(problem.c), mylos::name_of(problem.bias_type));
  }
}

std::vector<std::string> gemm_engine_names() {
  std::vector<std::string> names;
  for (const auto& [choice, find] : engines) {
    if (find() != nullptr) names.emplace_back(name_of(choice));
  }
  return names;
}

GemmChoice gemm_engine_named(std::string_view name) {
  for (const auto& [choice, find] : engines) {
    if (find() != nullptr && name_of(choice) == name) return choice;
  }
  fail_input("there is no product engine '{}' in this build; it has {}", printable(name),
             fmt::join(gemm_engine_names(), ", "));
}

std::unique_ptr<GemmEngine> make_gemm_engine(const KernelOptions& options) {
  if (options.instructions) {
    // oneDNN may refuse, so it is asked before the vector code changes. Unavailable instructions are refused
    // below.
    if (options.gemm != GemmChoice::tiles && is_available(*options.instructions))
      onednn::limit_to(*options.instructions);
    use_instructions(*options.instructions);
  }
  if (const MakeGemm make = chosen_engine(options.gemm)) return make();
  for (const auto& [choice, find] : engines) {
    if (names_one(options.gemm) && options.gemm != choice) continue;
    if (const MakeGemm make = find()) return make();
  }
  fail_input("kernels.gemm = \"{}\" is not in this build, which has: auto, measure, {}",
             name_of(options.gemm), fmt::join(gemm_engine_names(), ", "));
}

KernelOptions usable_here(const KernelOptions& options) {
  KernelOptions usable = options;
  if (usable.instructions && !is_available(*usable.instructions)) usable.instructions.reset();
  for (const auto& [choice, find] : engines) {
    if (usable.gemm == choice && find() == nullptr) usable.gemm = GemmChoice::automatic;
  }
  return usable;
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
