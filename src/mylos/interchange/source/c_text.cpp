#include "mylos/interchange/source/c_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>

#include "mylos/interchange/source/routines/weight_loader.hpp"

namespace mylos {
namespace {

constexpr std::size_t c_line = 110;
constexpr const char* in_device_code =
    "defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)";

struct CParameter {
  const char* name;
  bool is_written;
};

/// Returns the parameters that the pass uses; a function has no others.
std::string c_parameters_of(const SourcePass& pass, std::initializer_list<CParameter> parameters) {
  std::vector<std::string> texts;
  for (const CParameter& parameter : parameters) {
    if (pass.uses(parameter.name))
      texts.push_back(fmt::format("{}real *{}", parameter.is_written ? "" : "const ", parameter.name));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string c_function(const std::string& function, const std::string& signature, const std::string& body) {
  return fmt::format("\n{} void {} {{\n{}}}\n", function, signature, body);
}

/// A buffer of derivatives beside the tape, if the pass has one.
std::string c_tape_line(const SourceFile& file, const SourcePass& pass, const char* name) {
  return pass.uses(name) ? fmt::format("  real {}[{}];\n", name, file.plan.tape) : "";
}

std::string c_derivative_passes(const SourceFile& file, const SourceSyntax& syntax,
                                const std::string& function) {
  const SourcePlan& plan = file.plan;
  std::string text =
      c_function(function,
                 fmt::format("forward_tape($parameter{})",
                             c_parameters_of(plan.tape_forward, {{"x", false}, {"y", true}, {"tape", true}})),
                 column_calls(plan.tape_forward, syntax));
  if (file.has_tangent()) {
    text += c_function(
        function,
        fmt::format(
            "tangent($parameter{})",
            c_parameters_of(plan.tangent,
                            {{"x", false}, {"y", false}, {"tape", false}, {"dx", false}, {"dy", true}})),
        c_tape_line(file, plan.tangent, "dtape") + buffer_lines(plan.tangent, syntax, 1) +
            column_calls(plan.tangent, syntax));
  }
  if (file.has_pullback()) {
    text += c_function(
        function,
        fmt::format(
            "pullback($parameter{})",
            c_parameters_of(plan.pullback,
                            {{"x", false}, {"y", false}, {"tape", false}, {"gy", false}, {"gx", true}})),
        c_tape_line(file, plan.pullback, "gtape") + buffer_lines(plan.pullback, syntax, 1) +
            column_calls(plan.pullback, syntax));
  }
  return text;
}

/// Returns the call of tangent or pullback.
std::string c_derivative_call(const SourceFile& file, const std::string& scope, const std::string& given,
                              const std::string& result) {
  if (file.has_tangent()) {
    return fmt::format(
        "{}tangent($argument{});\n", scope,
        arguments_of(file.plan.tangent,
                     {{"x", "x"}, {"y", "y"}, {"tape", "tape"}, {"dx", given}, {"dy", result}}));
  }
  return fmt::format("{}pullback($argument{});\n", scope,
                     arguments_of(file.plan.pullback,
                                  {{"x", "x"}, {"y", "y"}, {"tape", "tape"}, {"gy", given}, {"gx", result}}));
}

/// Lines that compute the values which derivatives read.
std::string c_tape_lines(const SourceFile& file, const std::string& scope) {
  std::string text;
  if (file.derivative != SourceDerivative::jvp) text += fmt::format("  real y[{}];\n", file.plan.outputs);
  if (file.plan.tape > 0) text += fmt::format("  real tape[{}];\n", file.plan.tape);
  const std::string call =
      fmt::format("  {}forward_tape($argument{});\n", scope,
                  arguments_of(file.plan.tape_forward, {{"x", "x"}, {"y", "y"}, {"tape", "tape"}}));
  return text + call;
}

}  // namespace

std::string c_comment(const std::vector<std::string>& lines) {
  std::string text = "/*\n";
  for (const std::string& line : lines)
    text += line.empty() ? "\n" : fmt::format("  {}\n", comment_text(line));
  return text + "*/\n";
}

std::string c_with_weights(const SourceFile& file, std::string text) {
  const bool has = file.has_weight_file();
  replace_all(text, "$parameter",
              has ? fmt::format("const {} *weights, ", file.is_double ? "double" : "float") : "");
  replace_all(text, "$argument", has ? "weights, " : "");
  return text;
}

std::string c_constant_use(const SourceFile& file, const std::string& name, const char* ending) {
  const std::optional<std::int64_t> offset = file.file_offset(name);
  if (!offset) return name + ending;
  return *offset == 0 ? "weights" : fmt::format("weights + {}", *offset);
}

std::string c_numbers(const SourceConstant& constant, bool is_double, std::string_view indent) {
  std::vector<std::string> numbers;
  numbers.reserve(constant.values.size());
  const bool has_doubles = is_double || constant.is_double;
  for (const double value : constant.values)
    numbers.push_back(number_text(value, has_doubles) + (has_doubles ? "" : "f"));
  return fmt::format("{}{}", indent, wrapped(numbers, indent.size(), c_line, indent, ""));
}

std::string c_routine_text(std::string text, const CDialect& dialect) {
  replace_all(text, "$function", dialect.function);
  replace_all(text, "$restrict", dialect.restricted);
  replace_all(text, "$real", dialect.real_cast);
  replace_all(text, "$double", dialect.double_cast);
  for (const std::string_view function :
       std::initializer_list<std::string_view>{"exp", "expm1", "tanh", "erf", "sqrt"}) {
    replace_all(text, fmt::format("$device({})", function),
                dialect.has_devices
                    ? fmt::format("#if {}\n  return math::{}(x);\n#else\n", in_device_code, function)
                    : "");
    replace_all(text, fmt::format("${}(", function),
                fmt::format("{}{}{}(", dialect.math, function, dialect.math_ending));
  }
  replace_all(text, "$host", dialect.has_devices ? "#endif\n" : "");
  return text;
}

std::string CSyntax::number(double value) const {
  return number_text(value, is_double_) + (is_double_ ? "" : "f");
}

std::string CSyntax::address(const SourceAddress& address, const std::string& column,
                             const std::string& point) const {
  std::string text = address.buffer;
  if (address.offset > 0) text += fmt::format(" + {}", address.offset);
  for (const auto& [variable, width] : {std::pair{column, address.width}, std::pair{point, address.step}}) {
    if (!variable.empty()) text += width == 1 ? " + " + variable : fmt::format(" + {} * {}", width, variable);
  }
  return text;
}

std::string CSyntax::call(const std::string& routine, const std::vector<std::string>& arguments,
                          const std::string& layer, const std::string& indent) const {
  const std::string begin = fmt::format("{}{}(", indent, routine);
  return fmt::format("{}{});{}\n", begin, wrapped(arguments, begin.size(), c_line, indent + "    ", ""),
                     layer.empty() ? "" : fmt::format("  /* {} */", comment_text(layer)));
}

std::string CSyntax::loop(const std::string& variable, const std::string& count, const std::string& body,
                          const std::string& indent) const {
  return fmt::format("{0}for (int {1} = 0; {1} < {2}; ++{1})\n{3}", indent, variable, count, body);
}

std::string CSyntax::array(const std::string& name, std::int64_t columns, std::int64_t width) const {
  // Without the zeros, gcc warns that a block of no columns would leave the buffer uninitialised.
  return columns > 1 ? fmt::format("  real {}[{} * {}] = {{0}};\n", name, columns, width)
                     : fmt::format("  real {}[{}];\n", name, width);
}

std::string c_loader_text(const SourceFile& file, bool is_cpp) {
  std::string text = c_weight_loader(is_cpp);
  replace_all(text, "$name", file.name);
  replace_all(text, "$type", file.is_double ? "double" : "float");
  replace_all(text, "$count", fmt::format("{}", file.file_weights));
  replace_all(text, "$crc", fmt::format("{}", file.weights_crc));
  return text;
}

std::string c_passes(const SourceFile& file, const SourceSyntax& syntax, const std::string& function) {
  const SourcePass& forward = file.plan.forward;
  std::string text = c_function(function, "forward($parameterconst real *x, real *y)",
                                buffer_lines(forward, syntax, 1) + column_calls(forward, syntax));
  text += c_function(function, "forward_columns($parameterint columns, const real *x, real *y)",
                     buffer_lines(forward, syntax, file.columns_at_once()) + block_calls(forward, syntax));
  if (file.derivative != SourceDerivative::none) text += c_derivative_passes(file, syntax, function);
  return c_with_weights(file, text);
}

std::string c_derivative_body(const SourceFile& file, const std::string& scope) {
  std::string text = c_tape_lines(file, scope);
  if (file.derivative == SourceDerivative::jvp)
    return text + "  " + c_derivative_call(file, scope, "dx", "dy");
  if (file.derivative == SourceDerivative::vjp)
    return text + "  " + c_derivative_call(file, scope, "ybar", "xbar");
  const SourcePlan& plan = file.plan;
  if (file.has_pullback()) {
    return fmt::format(
        "  real seed[{1}] = {{0}};\n{0}"
        "  for (int o = 0; o < {1}; ++o) {{\n"
        "    seed[o] = 1;\n"
        "    {2}"
        "    seed[o] = 0;\n"
        "  }}\n",
        text, plan.outputs,
        c_derivative_call(file, scope, "seed", fmt::format("jacobian + {} * o", plan.inputs)));
  }
  return fmt::format(
      "  real seed[{1}] = {{0}};\n"
      "  real slopes[{2}];\n{0}"
      "  for (int i = 0; i < {1}; ++i) {{\n"
      "    seed[i] = 1;\n"
      "    {3}"
      "    seed[i] = 0;\n"
      "    for (int o = 0; o < {2}; ++o) jacobian[{1} * o + i] = slopes[o];\n"
      "  }}\n",
      text, plan.inputs, plan.outputs, c_derivative_call(file, scope, "seed", "slopes"));
}

std::string c_block_body(const SourceFile& file, const std::string& scope) {
  return fmt::format(
      "  for (int first = 0; first < columns; first += {0}) {{\n"
      "    const int count = columns - first < {0} ? columns - first : {0};\n"
      "    {1}forward_columns($argumentcount, x, y);\n"
      "    x += {2} * count;\n"
      "    y += {3} * count;\n"
      "  }}\n",
      file.columns_at_once(), scope, file.plan.inputs, file.plan.outputs);
}

}  // namespace mylos
