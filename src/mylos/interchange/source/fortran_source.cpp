// Exported Fortran: a module of Fortran 2008 with pure subroutines NAME_evaluate, NAME_evaluate_block and
// derivatives.
//
// Constants are variables with DATA statements, each below the 255 continuation lines that the standard
// grants: gfortran limits the constructor of a parameter to 65535 elements.
//
// Subroutines with local arrays are RECURSIVE: gfortran makes larger local arrays of others static, and
// threads would share them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "mylos/interchange/source/routines/fortran_routines.hpp"
#include "mylos/interchange/source/source_text.hpp"

namespace mylos {
namespace {

constexpr std::size_t fortran_line = 120;
constexpr std::size_t numbers_per_statement = 1000;

/// Returns the literal. Numbers that are not normalised are an error in some compilers, and 0 in arithmetic
/// that flushes them.
std::string fortran_literal(double value, bool is_double, const char* kind) {
  const double smallest =
      is_double ? std::numeric_limits<double>::min() : static_cast<double>(std::numeric_limits<float>::min());
  return fmt::format("{}_{}", number_text(std::abs(value) < smallest ? 0 : value, is_double), kind);
}

class FortranSyntax final : public SourceSyntax {
 public:
  explicit FortranSyntax(bool is_double) : is_double_(is_double) {}

  [[nodiscard]] std::string constant(const std::string& name) const override { return name; }
  [[nodiscard]] std::string number(double value) const override {
    return fortran_literal(value, is_double_, "rk");
  }
  [[nodiscard]] std::string address(const SourceAddress& address, const std::string& column) const override {
    if (!column.empty())
      return fmt::format("{}({} + {} * ({} - 1))", address.buffer, address.offset + 1, address.width, column);
    return address.offset > 0 ? fmt::format("{}({})", address.buffer, address.offset + 1) : address.buffer;
  }

  [[nodiscard]] std::string call(const std::string& routine, const std::vector<std::string>& arguments,
                                 const std::string& layer, const std::string& indent) const override {
    const std::string begin = fmt::format("{}call {}(", indent, routine);
    const std::string texts = wrapped(arguments, begin.size(), fortran_line - 2, indent + "    ", " &");
    const bool has_room = begin.size() + texts.size() < 60;
    return fmt::format("{}{}){}\n", begin, texts,
                       has_room ? fmt::format("  ! {}", comment_text(layer).substr(0, 60)) : "");
  }
  [[nodiscard]] std::string indent() const override { return "    "; }
  [[nodiscard]] std::string loop(const std::string& body) const override {
    return fmt::format("    do c = 1, columns\n{}    end do\n", body);
  }
  [[nodiscard]] std::string array(const std::string& name, std::int64_t columns,
                                  std::int64_t width) const override {
    return columns > 1 ? fmt::format("    real(rk) :: {}({} * {})\n", name, columns, width)
                       : fmt::format("    real(rk) :: {}({})\n", name, width);
  }

 private:
  bool is_double_;
};

std::string fortran_comments(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line.empty() ? "!\n" : fmt::format("! {}\n", comment_text(line).substr(0, 128));
  return text;
}

bool fortran_loops(const SourceCall& call) {
  return call.kind == SourceCallKind::each_element || call.kind == SourceCallKind::whole;
}

struct FortranArgument {
  const char* name;
  const char* intent;
  std::int64_t size;
};

/// A subroutine with those of the arguments that the pass uses.
std::string fortran_pass_text(const SourceFile& file, const SourcePass& pass, const std::string& name,
                              std::initializer_list<FortranArgument> arguments, const char* local_tape) {
  std::vector<std::string> names;
  std::string declarations;
  for (const FortranArgument& argument : arguments) {
    if (!pass.uses(argument.name)) continue;
    names.emplace_back(argument.name);
    declarations +=
        fmt::format("    real(rk), intent({}) :: {}({})\n", argument.intent, argument.name, argument.size);
  }
  if (pass.uses(local_tape))
    declarations += fmt::format("    real(rk) :: {}({})\n", local_tape, file.plan.tape);
  return fmt::format("\n  pure recursive subroutine {0}({1})\n{2}{3}{4}  end subroutine {0}\n", name,
                     fmt::join(names, ", "), declarations,
                     buffer_lines(pass, FortranSyntax(file.is_double), 1),
                     column_calls(pass, FortranSyntax(file.is_double)));
}

std::string fortran_derivative_passes(const SourceFile& file) {
  const SourcePlan& plan = file.plan;
  const std::int64_t inputs = plan.inputs;
  const std::int64_t outputs = plan.outputs;
  const std::int64_t tape = plan.tape;
  std::string text =
      fortran_pass_text(file, plan.tape_forward, "forward_tape",
                        {{"x", "in", inputs}, {"y", "inout", outputs}, {"tape", "inout", tape}}, "");
  if (file.has_tangent()) {
    text += fortran_pass_text(file, plan.tangent, "tangent",
                              {{"x", "in", inputs},
                               {"y", "in", outputs},
                               {"tape", "in", tape},
                               {"dx", "in", inputs},
                               {"dy", "inout", outputs}},
                              "dtape");
  }
  if (file.has_pullback()) {
    text += fortran_pass_text(file, plan.pullback, "pullback",
                              {{"x", "in", inputs},
                               {"y", "in", outputs},
                               {"tape", "in", tape},
                               {"gy", "in", outputs},
                               {"gx", "inout", inputs}},
                              "gtape");
  }
  return text;
}

std::string fortran_derivative_call(const SourceFile& file, const std::string& given,
                                    const std::string& result) {
  const SourcePlan& plan = file.plan;
  if (file.has_tangent()) {
    return fmt::format(
        "call tangent({})\n",
        arguments_of(plan.tangent,
                     {{"x", "x"}, {"y", "y"}, {"tape", "tape"}, {"dx", given}, {"dy", result}}));
  }
  return fmt::format(
      "call pullback({})\n",
      arguments_of(plan.pullback, {{"x", "x"}, {"y", "y"}, {"tape", "tape"}, {"gy", given}, {"gx", result}}));
}

/// The names in upper case are replaced: INPUTS, OUTPUTS and the network's NAME. In one pass, because the
/// network's name may contain them.
std::string fortran_filled(std::string_view text, const SourceFile& file) {
  const std::pair<std::string_view, std::string> words[] = {
      {"OUTPUTS", file.name + "_outputs"}, {"INPUTS", file.name + "_inputs"}, {"NAME", file.name}};
  std::string filled;
  while (!text.empty()) {
    const auto* const word = std::find_if(std::begin(words), std::end(words),
                                          [&](const auto& each) { return text.starts_with(each.first); });
    const bool is_word = word != std::end(words);
    filled += is_word ? std::string_view(word->second) : text.substr(0, 1);
    text.remove_prefix(is_word ? word->first.size() : 1);
  }
  return filled;
}

std::string fortran_tape_call(const SourceFile& file) {
  return fmt::format("    call forward_tape({})\n",
                     arguments_of(file.plan.tape_forward, {{"x", "x"}, {"y", "y"}, {"tape", "tape"}}));
}

std::string fortran_tape_declaration(const SourceFile& file) {
  return file.plan.tape > 0 ? fmt::format("    real(rk) :: tape({})\n", file.plan.tape) : "";
}

std::string fortran_jvp_text(const SourceFile& file) {
  return R"(
  ! y, and the change dy of y by a change dx of x, to first order.
  pure recursive subroutine NAME_jvp(x, dx, y, dy)
    real(rk), intent(in) :: x(INPUTS)
    real(rk), intent(in) :: dx(INPUTS)
    real(rk), intent(out) :: y(OUTPUTS)
    real(rk), intent(out) :: dy(OUTPUTS)
)" + fortran_tape_declaration(file) +
         fortran_tape_call(file) + "    " + fortran_derivative_call(file, "dx", "dy") +
         "  end subroutine NAME_jvp\n";
}

std::string fortran_vjp_text(const SourceFile& file) {
  return R"(
  ! xbar = the gradient with respect to x of the scalar product ybar . y.
  pure recursive subroutine NAME_vjp(x, ybar, xbar)
    real(rk), intent(in) :: x(INPUTS)
    real(rk), intent(in) :: ybar(OUTPUTS)
    real(rk), intent(out) :: xbar(INPUTS)
    real(rk) :: y(OUTPUTS)
)" + fortran_tape_declaration(file) +
         fortran_tape_call(file) + "    " + fortran_derivative_call(file, "ybar", "xbar") +
         "  end subroutine NAME_vjp\n";
}

std::string fortran_jacobian_text(const SourceFile& file) {
  const bool by_inputs = file.has_tangent();
  const std::string size = by_inputs ? "INPUTS" : "OUTPUTS";
  const std::string slopes = by_inputs ? "OUTPUTS" : "INPUTS";
  const std::string part = by_inputs ? "jacobian(:, i)" : "jacobian(i, :)";
  return R"(
  ! jacobian(o, i) = d y(o) / d x(i).
  pure recursive subroutine NAME_jacobian(x, jacobian)
    real(rk), intent(in) :: x(INPUTS)
    real(rk), intent(out) :: jacobian( &
      OUTPUTS, INPUTS)
    integer :: i
    real(rk) :: y(OUTPUTS)
    real(rk) :: seed()" +
         size + ")\n    real(rk) :: slopes(" + slopes + ")\n" + fortran_tape_declaration(file) +
         fortran_tape_call(file) + "    seed = 0\n    do i = 1, " + size + "\n      seed(i) = 1\n      " +
         fortran_derivative_call(file, "seed", "slopes") + "      seed(i) = 0\n      " + part +
         " = slopes\n    end do\n  end subroutine NAME_jacobian\n";
}

std::string fortran_derivative_text(const SourceFile& file) {
  switch (file.derivative) {
    case SourceDerivative::jvp:
      return fortran_jvp_text(file);
    case SourceDerivative::vjp:
      return fortran_vjp_text(file);
    case SourceDerivative::jacobian:
      return fortran_jacobian_text(file);
    case SourceDerivative::none:
      break;
  }
  return "";
}

std::string fortran_forward_text(const SourceFile& file) {
  const SourcePass& forward = file.plan.forward;
  const FortranSyntax syntax(file.is_double);
  const bool has_loop = std::any_of(forward.calls.begin(), forward.calls.end(), fortran_loops);
  return fmt::format(R"(
  ! One sample.
  pure recursive subroutine NAME_evaluate(x, y)
    real(rk), intent(in) :: x(INPUTS)
    real(rk), intent(out) :: y(OUTPUTS)
{}{}  end subroutine NAME_evaluate

  ! Several samples, each a column of x and y.
  pure subroutine NAME_evaluate_block(columns, x, y)
    integer, intent(in) :: columns
    real(rk), intent(in) :: x(INPUTS, columns)
    real(rk), intent(out) :: y(OUTPUTS, columns)
    integer :: first, last
    do first = 1, columns, {columns}
      last = min(first + {columns} - 1, columns)
      call forward_columns(last - first + 1, x(:, first:last), y(:, first:last))
    end do
  end subroutine NAME_evaluate_block

  ! The same for arrays whose first dimension counts the samples.
  pure recursive subroutine NAME_evaluate_rows(rows, x, y)
    integer, intent(in) :: rows
    real(rk), intent(in) :: x(rows, INPUTS)
    real(rk), intent(out) :: y(rows, OUTPUTS)
    real(rk) :: samples(INPUTS, {columns})
    real(rk) :: results(OUTPUTS, {columns})
    integer :: first, last
    do first = 1, rows, {columns}
      last = min(first + {columns} - 1, rows)
      samples(:, :last - first + 1) = transpose(x(first:last, :))
      call forward_columns(last - first + 1, samples, results)
      y(first:last, :) = transpose(results(:, :last - first + 1))
    end do
  end subroutine NAME_evaluate_rows

  pure recursive subroutine forward_columns(columns, x, y)
    integer, intent(in) :: columns
    real(rk), intent(in) :: x(INPUTS * columns)
    real(rk), intent(inout) :: y(OUTPUTS * columns)
{}{}{}  end subroutine forward_columns
)",
                     buffer_lines(forward, syntax, 1), column_calls(forward, syntax),
                     buffer_lines(forward, syntax, file.columns_at_once()),
                     has_loop ? "    integer :: c\n" : "", block_calls(forward, syntax),
                     fmt::arg("columns", file.columns_at_once()));
}

std::string fortran_constant_text(const SourceConstant& constant, bool is_double) {
  const char* kind = constant.is_double ? "dk" : "rk";
  std::string text =
      fmt::format("\n  ! {}\n  real({}), save :: {}({})\n", comment_text(constant.meaning).substr(0, 120),
                  kind, constant.name, constant.values.size());
  for (std::size_t first = 0; first < constant.values.size(); first += numbers_per_statement) {
    const std::size_t end = std::min(first + numbers_per_statement, constant.values.size());
    std::vector<std::string> numbers;
    for (std::size_t i = first; i < end; ++i)
      numbers.push_back(fortran_literal(constant.values[i], is_double || constant.is_double, kind));
    text += fmt::format("  data {}({}:{}) / &\n    {} /\n", constant.name, first + 1, end,
                        wrapped(numbers, 4, fortran_line, "    ", " &"));
  }
  return text;
}

std::string fortran_module_head(const SourceFile& file) {
  const bool has_doubles = std::any_of(file.plan.constants.begin(), file.plan.constants.end(),
                                       [](const SourceConstant& constant) { return constant.is_double; });
  std::vector<std::string> entities{"real",     "inputs",         "outputs",
                                    "evaluate", "evaluate_block", "evaluate_rows"};
  if (file.derivative == SourceDerivative::jvp) entities.emplace_back("jvp");
  if (file.derivative == SourceDerivative::vjp) entities.emplace_back("vjp");
  if (file.derivative == SourceDerivative::jacobian) entities.emplace_back("jacobian");
  for (std::string& entity : entities) entity = "NAME_" + entity;
  return fmt::format(R"(module NAME
  use, intrinsic :: iso_fortran_env, only: rk => {}{}
  implicit none
  private
  public :: &
    {}

  ! The kind of all arguments, and the extents of a sample.
  integer, parameter :: NAME_real = rk
  integer, parameter :: NAME_inputs = {}
  integer, parameter :: NAME_outputs = {}
)",
                     file.is_double ? "real64" : "real32", has_doubles ? ", dk => real64" : "",
                     fmt::join(entities, ", &\n    "), file.plan.inputs, file.plan.outputs);
}

}  // namespace

std::string fortran_source(const SourceFile& file) {
  std::string text = fortran_comments(file.description);
  text += fortran_filled(fortran_module_head(file), file);
  for (const SourceConstant& constant : file.plan.constants)
    text += fortran_constant_text(constant, file.is_double);
  text += "\ncontains\n";
  text += fortran_filled(fortran_forward_text(file), file);
  if (file.derivative != SourceDerivative::none)
    text += fortran_filled(fortran_derivative_text(file), file) + fortran_derivative_passes(file);
  text += texts_of(fortran_routines(), file.routines());
  text += fmt::format("\nend module {}\n\n", file.name);
  return text + fortran_comments(file.deck);
}

}  // namespace mylos
