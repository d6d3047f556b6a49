#include <fmt/format.h>

#include <optional>

#include "mylos/base/execution.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "pieces.hpp"

namespace mylos::pieces {
namespace {

struct LinearLayer {
  const char* name;
  std::int64_t inputs;
  std::int64_t outputs;
  bool bias;
  bool follows_gelu;  // its dx is multiplied by GELU's derivative
};

/// With a bias, its gradient or GELU's derivative, if the step needs one and the engine supports it.
std::optional<GemmProblem> with_epilogue(const GemmEngine& engine, const LinearLayer& layer,
                                         GemmProblem problem) {
  switch (form_of(problem)) {
    case GemmForm::output:
      problem.bias = layer.bias;
      problem.bias_type = problem.c;
      return layer.bias ? std::optional(problem) : std::nullopt;
    case GemmForm::input_gradient:
      problem.gelu_derivative = true;
      return layer.follows_gelu && engine.multiplies_by_gelu(problem) ? std::optional(problem) : std::nullopt;
    case GemmForm::weight_gradient:
      problem.row_sums = true;
      return layer.bias && engine.sums_rows(problem) ? std::optional(problem) : std::nullopt;
  }
  return std::nullopt;
}

void measure(const Subject& subject, const std::string& name, GemmEngine& engine,
             const GemmProblem& problem) {
  const bool has_epilogue = problem.bias || problem.row_sums || problem.gelu_derivative;
  const Matrix a(problem.a, problem.m, problem.k, 1);
  const Matrix b(problem.b, problem.k, problem.n, 2);
  const Matrix c(problem.c, problem.m, problem.n, 3);
  const Matrix beside(problem.c, 1, std::max(problem.m, problem.n), 4);
  const Matrix gelu_input(problem.c, problem.gelu_derivative ? problem.m : 1, problem.n, 5);
  const Arena workspace("workspace", engine.workspace_bytes(problem));
  const GemmOperands operands{.a = a.data(),
                              .b = b.data(),
                              .c = c.data(),
                              .bias = problem.bias ? beside.data() : nullptr,
                              .row_sums = problem.row_sums ? beside.data() : nullptr,
                              .gelu_input = problem.gelu_derivative ? gelu_input.data() : nullptr};
  const Execution exec;
  const double milliseconds =
      milliseconds_of(exec, subject.seconds, [&] { engine.run(exec, problem, operands, workspace.data()); });
  print_line(name, has_epilogue ? "epilogue" : "bare", milliseconds,
             fmt::format("{} x {} x {}  {:.1f} TFLOP/s  {}", problem.m, problem.n, problem.k,
                         1e-9 * flops_of(problem) / milliseconds, engine.engine_of(problem)));
}

}  // namespace

void measure_gemms(const Subject& subject) {
  KernelOptions options;
  options.gemm = GemmChoice::measure;
  const auto measured = make_gemm_engine(options);
  std::vector<GemmEngine*> engines = measured->alternatives();
  if (engines.empty()) engines.push_back(measured.get());
  const std::int64_t width = subject.width();
  const LinearLayer layers[] = {{"qkv", width, 3 * width, true, false},
                                {"output", width, width, true, false},
                                {"up", width, 4 * width, true, false},
                                {"down", 4 * width, width, true, true},
                                {"head", width, subject.vocabulary, false, false}};
  for (const LinearLayer& layer : layers) {
    // The head's weights get their gradient in pieces, so it is float.
    const DType gradient = layer.bias ? subject.type : DType::fp32;
    const GemmProblem problems[] = {
        linear_output(subject.rows(), layer.inputs, layer.outputs, subject.type),
        linear_input_gradient(subject.rows(), layer.inputs, layer.outputs, subject.type),
        linear_weight_gradient(subject.rows(), layer.inputs, layer.outputs, subject.type, gradient)};
    for (const GemmProblem& problem : problems) {
      const std::string name = fmt::format("{} {}", layer.name, name_of(form_of(problem)));
      for (GemmEngine* const engine : engines) {
        measure(subject, name, *engine, problem);
        if (const auto with = with_epilogue(*engine, layer, problem)) measure(subject, name, *engine, *with);
      }
    }
  }
}

}  // namespace mylos::pieces
