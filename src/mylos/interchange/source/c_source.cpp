// Exported C: one file of C99 with external functions NAME_evaluate, NAME_evaluate_block and derivatives.
#include <fmt/format.h>

#include "mylos/interchange/source/c_text.hpp"
#include "mylos/interchange/source/routines/c_routines.hpp"

namespace mylos {
namespace {

struct CPrototype {
  std::string comment;
  std::string signature;  // after "void "
};

std::string c_derivative_comment(const SourceFile& file) {
  switch (file.derivative) {
    case SourceDerivative::jvp:
      return "y, and the change dy of y by a change dx of x, to first order";
    case SourceDerivative::vjp:
      return "xbar = the gradient with respect to x of ybar . y";
    case SourceDerivative::jacobian:
    case SourceDerivative::none:
      break;
  }
  return "jacobian[outputs][inputs] = dy / dx";
}

std::string c_derivative_signature(const SourceFile& file) {
  const char* type = file.is_double ? "double" : "float";
  switch (file.derivative) {
    case SourceDerivative::jvp:
      return fmt::format("{0}_jvp($parameterconst {1} *x, const {1} *dx, {1} *y, {1} *dy)", file.name, type);
    case SourceDerivative::vjp:
      return fmt::format("{0}_vjp($parameterconst {1} *x, const {1} *ybar, {1} *xbar)", file.name, type);
    case SourceDerivative::jacobian:
    case SourceDerivative::none:
      break;
  }
  return fmt::format("{0}_jacobian($parameterconst {1} *x, {1} *jacobian)", file.name, type);
}

std::vector<CPrototype> c_prototypes(const SourceFile& file) {
  const char* type = file.is_double ? "double" : "float";
  std::vector<CPrototype> prototypes{
      {"One sample: y[outputs] of x[inputs]",
       fmt::format("{0}_evaluate($parameterconst {1} *x, {1} *y)", file.name, type)},
      {"Several samples, one after the other: x[columns][inputs], y[columns][outputs]",
       fmt::format("{0}_evaluate_block($parameterint columns, const {1} *x, {1} *y)", file.name, type)}};
  if (file.derivative != SourceDerivative::none)
    prototypes.push_back({c_derivative_comment(file), c_derivative_signature(file)});
  return prototypes;
}

std::string c_declarations(const SourceFile& file, const std::vector<CPrototype>& prototypes) {
  std::string text = fmt::format(
      "/* Declarations for callers, to be copied. Arrays must not overlap. The functions have no state. */\n"
      "enum {{ {0}_inputs = {1}, {0}_outputs = {2} }};\n",
      file.name, file.plan.inputs, file.plan.outputs);
  if (file.has_weight_file()) {
    text += fmt::format(
        "/* Reads the weights that the functions take, once, and returns 0, or 1 the file cannot be read, 2 "
        "it is\n"
        "   no file of weights, 3 it has those of another network, type or order of bytes, 4 it is damaged. "
        "*/\n"
        "enum {{ {0}_weights = {1} }};\nint {0}_load(const char *path, {2} *weights);\n",
        file.name, file.file_weights, file.is_double ? "double" : "float");
  }
  for (const CPrototype& prototype : prototypes)
    text += fmt::format("/* {}. */\nvoid {};\n", prototype.comment, prototype.signature);
  return c_with_weights(file, text);
}

/// Vectors of weights that lie across cache lines take twice as long to load.
constexpr const char* alignment = R"(
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ALIGNED _Alignas(64)
#elif defined(__GNUC__)
#define ALIGNED __attribute__((aligned(64)))
#else
#define ALIGNED
#endif
)";

std::string c_constant(const SourceConstant& constant, bool is_double) {
  return fmt::format("\n/* {} */\nALIGNED static const {} {}[{}] = {{\n{}}};\n",
                     comment_text(constant.meaning), constant.is_double ? "double" : "real", constant.name,
                     constant.values.size(), c_numbers(constant, is_double, "    "));
}

}  // namespace

std::string c_source(const SourceFile& file) {
  const std::vector<CPrototype> prototypes = c_prototypes(file);
  const CSyntax syntax(file.is_double,
                       [&](const std::string& name) { return c_constant_use(file, name, ""); });
  const CDialect dialect{.function = "static inline",
                         .restricted = "restrict",
                         .real_cast = "(real)",
                         .double_cast = "(double)",
                         .math = "",
                         .math_ending = file.is_double ? "" : "f"};
  std::string text = c_comment(file.description);
  text += file.has_weight_file() ? "#include <math.h>\n#include <stdio.h>\n#include <string.h>\n\n"
                                 : "#include <math.h>\n#include <string.h>\n\n";
  text += c_declarations(file, prototypes);
  text += fmt::format("\ntypedef {} real;\n", file.is_double ? "double" : "float");
  text += alignment;
  for (const SourceConstant& constant : file.plan.constants) {
    if (!constant.file_offset) text += c_constant(constant, file.is_double);
  }
  text += c_routine_text(texts_of(c_routines(file.is_double), file.routines()), dialect);
  text += c_passes(file, syntax, "static");
  if (file.has_weight_file()) text += c_loader_text(file, false);
  const std::string bodies[] = {"  forward($argumentx, y);\n", c_block_body(file, ""),
                                file.derivative == SourceDerivative::none ? "" : c_derivative_body(file, "")};
  for (std::size_t i = 0; i < prototypes.size(); ++i)
    text += c_with_weights(file, fmt::format("\nvoid {} {{\n{}}}\n", prototypes[i].signature, bodies[i]));
  return text + "\n" + c_comment(file.deck);
}

}  // namespace mylos
