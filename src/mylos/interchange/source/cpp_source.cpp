// Exported C++: a header of C++17 with a namespace, whose functions run on devices where Kokkos, CUDA or HIP
// compile them.
//
// Arrays of constants are static constexpr variables of functions: device code may read these, but not those
// of a namespace (CUDA C++ Programming Guide, "Static Variables within Function"). They are aligned: vectors
// of weights that lie across cache lines take twice as long to load.
#include <fmt/format.h>

#include <algorithm>

#include "mylos/interchange/source/c_text.hpp"
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

constexpr const char* function_macro = "MYLOS_NETWORK_FUNCTION";

constexpr const char* cpp_beginning = R"(#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>

#if defined(KOKKOS_INLINE_FUNCTION)
#define MYLOS_NETWORK_FUNCTION KOKKOS_INLINE_FUNCTION
#elif defined(__CUDACC__) || defined(__HIPCC__)
#define MYLOS_NETWORK_FUNCTION inline __host__ __device__
#else
#define MYLOS_NETWORK_FUNCTION inline
#endif

)";

std::string cpp_constants(const SourceFile& file) {
  std::string text;
  for (const SourceConstant& constant : file.plan.constants) {
    if (constant.file_offset) continue;
    const char* type = constant.is_double ? "double" : "real";
    text += fmt::format(
        "\n/* {} */\n{} const {} *{}() {{\n  alignas(64) static constexpr {} values[{}] = {{\n{}}};\n  "
        "return "
        "values;\n}}\n",
        comment_text(constant.meaning), function_macro, type, constant.name, type, constant.values.size(),
        c_numbers(constant, file.is_double, "      "));
  }
  return text;
}

/// Returns the call that the threads of a team make together.
std::string team_call(const SourceCall& call, const SourceFile& file) {
  const auto constant = [&](const std::string& name) { return c_constant_use(file, name, "()"); };
  const CSyntax together(file.is_double, constant);
  const CSyntax one_element(file.is_double, [&](const std::string& name) { return constant(name) + " + i"; });
  const auto routines = team_routines();
  const bool has_team_routine =
      std::any_of(routines.begin(), routines.end(),
                  [&](const SourceRoutine& routine) { return routine.name == call.routine; });
  const std::string point = call.points > 1 ? "p" : "";
  std::vector<std::string> arguments = argument_texts(call, together, "", "", point);
  std::string text;
  if (call.kind == SourceCallKind::elementwise || call.kind == SourceCallKind::each_element) {
    SourceCall element = call;
    for (SourceArgument& argument : element.arguments) {
      if (auto* address = std::get_if<SourceAddress>(&argument)) address->width = 1;
    }
    const std::string size = arguments.front();
    arguments = argument_texts(element, one_element, "", "i", point);
    arguments.front() = "1";
    text = fmt::format(
        "  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, {}), [=](int i) {{\n    {}({});\n  }});\n",
        size, call.routine, wrapped(arguments, 20, 110, "        ", ""));
  } else if (has_team_routine) {
    text = fmt::format("  team_{}(team, {});\n", call.routine, wrapped(arguments, 30, 110, "      ", ""));
  } else {
    text = fmt::format("  Kokkos::single(Kokkos::PerTeam(team), [=]() {{ {}({}); }});\n", call.routine,
                       wrapped(arguments, 60, 110, "      ", ""));
  }
  text += "  team.team_barrier();\n";
  return call.points > 1 ? fmt::format("  for (int p = 0; p < {}; ++p) {{\n{}  }}\n", call.points, text)
                         : text;
}

std::string team_text(const SourceFile& file) {
  const SourcePass& forward = file.plan.forward;
  std::string text = "\n#if defined(KOKKOS_INLINE_FUNCTION)\n";
  std::set<std::string> routines;
  for (const SourceCall& call : forward.calls) routines.insert(call.routine);
  text += c_routine_text(texts_of(team_routines(), routines), {});
  text +=
      "\ntemplate <class Team>\nKOKKOS_INLINE_FUNCTION void team_forward(const Team &team, $parameterconst "
      "real *x, "
      "real "
      "*y, real *scratch) {\n";
  std::int64_t offset = 0;
  for (const SourceBuffer& buffer : forward.buffers) {
    text += fmt::format("  real *{} = scratch + {};\n", buffer.name, offset);
    offset += buffer.width;
  }
  if (offset == 0) text += "  (void)scratch;\n";
  for (const SourceCall& call : forward.calls) text += team_call(call, file);
  return c_with_weights(file, text + "}\n#endif\n");
}

std::string cpp_evaluate(const SourceFile& file) {
  return c_with_weights(file, R"(
/* One sample: y[outputs] of x[inputs]; pointers, arrays, or Kokkos views of rank 1. */
template <class In, class Out>
MYLOS_NETWORK_FUNCTION void evaluate($parameterconst In &x, Out &&y) {
  real sample[inputs], result[outputs];
  for (int i = 0; i < inputs; ++i) sample[i] = x[i];
  detail::forward($argumentsample, result);
  for (int o = 0; o < outputs; ++o) y[o] = result[o];
}
)");
}

/// Host code: the functions' weights may be a copy of the array in device memory.
std::string cpp_weights(const SourceFile& file) {
  if (!file.has_weight_file()) return "";
  return fmt::format(
             "\n/* The weights that the functions take, an array of `weight_count` numbers; device code "
             "takes a copy of it\n"
             "   in device memory. load_weights reads them, once, and returns 0, or 1 the file cannot be "
             "read, 2 it is no\n"
             "   file of weights, 3 it has those of another network, type or order of bytes, 4 it is "
             "damaged. */\n"
             "constexpr std::size_t weight_count = {};\n",
             file.file_weights) +
         c_loader_text(file, true);
}

std::string cpp_block(const SourceFile& file) {
  return fmt::format(R"(
/* Several samples, one after the other: x[columns][inputs], y[columns][outputs]. */
{} void evaluate_block($parameterint columns, const real *x, real *y) {{
{}}}
)",
                     function_macro, c_block_body(file, "detail::"));
}

std::string cpp_derivative(const SourceFile& file) {
  switch (file.derivative) {
    case SourceDerivative::none:
      return "";
    case SourceDerivative::jvp:
      return fmt::format(
          "\n/* y, and the change dy of y by a change dx of x, to first order. */\n"
          "{} void jvp($parameterconst real *x, const real *dx, real *y, real *dy) {{\n{}}}\n",
          function_macro, c_derivative_body(file, "detail::"));
    case SourceDerivative::vjp:
      return fmt::format(
          "\n/* xbar = the gradient with respect to x of ybar . y. */\n"
          "{} void vjp($parameterconst real *x, const real *ybar, real *xbar) {{\n{}}}\n",
          function_macro, c_derivative_body(file, "detail::"));
    case SourceDerivative::jacobian:
      break;
  }
  return fmt::format(
      "\n/* jacobian[outputs][inputs] = dy / dx. */\n"
      "{} void jacobian($parameterconst real *x, real *jacobian) {{\n{}}}\n",
      function_macro, c_derivative_body(file, "detail::"));
}

/// The function for a team, which copies x and y: views may have strides. Sizes are numbers: device code may
/// not pass a constant of a namespace by reference.
std::string team_evaluate_text(const SourceFile& file) {
  return c_with_weights(file, fmt::format(R"(
#if defined(KOKKOS_INLINE_FUNCTION)
/* One sample by all threads of a team, which call it together. scratch: scratch_bytes bytes that they share,
   of team.team_scratch(level).get_shmem(). */
template <class Team, class In, class Out>
KOKKOS_INLINE_FUNCTION void evaluate(const Team &team, $parameterconst In &x, Out &&y, void *scratch) {{
  real *sample = static_cast<real *>(scratch);
  real *result = sample + {0};
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, {0}), [&](int i) {{ sample[i] = x[i]; }});
  team.team_barrier();
  detail::team_forward(team, $argumentsample, result, result + {1});
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, {1}), [&](int o) {{ y[o] = result[o]; }});
  team.team_barrier();
}}
#endif
)",
                                          file.plan.inputs, file.plan.outputs));
}

}  // namespace

std::string cpp_source(const SourceFile& file) {
  const CSyntax syntax(file.is_double,
                       [&](const std::string& name) { return c_constant_use(file, name, "()"); });
  const CDialect dialect{.function = function_macro,
                         .restricted = "__restrict",
                         .real_cast = "real",
                         .double_cast = "double",
                         .math = "math::",
                         .math_ending = "",
                         .has_devices = true};
  const SourcePlan& plan = file.plan;
  std::string text = c_comment(file.description) + cpp_beginning;
  text += fmt::format(
      "namespace {} {{\n\n"
      "using real = {};\n"
      "constexpr int inputs = {};\n"
      "constexpr int outputs = {};\n"
      "/* Of the function for a team. */\n"
      "constexpr std::size_t scratch_bytes = {} * sizeof(real);\n\n"
      "namespace detail {{\n\nusing std::memcpy;\n"
      "#if defined(KOKKOS_INLINE_FUNCTION)\nnamespace math = Kokkos;\n#else\nnamespace math = std;\n#endif\n",
      file.name, file.is_double ? "double" : "float", plan.inputs, plan.outputs,
      plan.inputs + plan.outputs + plan.forward.buffer_width());
  text += cpp_constants(file);
  text += c_routine_text(texts_of(c_routines(file.is_double), file.routines()), dialect);
  text += c_passes(file, syntax, function_macro);
  text += team_text(file);
  text += "\n}  // namespace detail\n";
  text += cpp_weights(file) + cpp_evaluate(file);
  text += c_with_weights(file, cpp_block(file) + cpp_derivative(file)) + team_evaluate_text(file);
  text += fmt::format("\n}}  // namespace {}\n\n#undef {}\n\n", file.name, function_macro);
  return text + c_comment(file.deck);
}

}  // namespace mylos
