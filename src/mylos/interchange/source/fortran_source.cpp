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

#include "mylos/interchange/source/fortran_text.hpp"
#include "mylos/interchange/source/routines/fortran_routines.hpp"
#include "mylos/interchange/source/routines/weight_loader.hpp"

namespace mylos {
namespace {

constexpr std::size_t numbers_per_statement = 1000;

std::string fortran_comments(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line.empty() ? "!\n" : fmt::format("! {}\n", comment_text(line).substr(0, 128));
  return text;
}

std::string fortran_forward_text(const SourceFile& file) {
  const SourcePass& forward = file.plan.forward;
  const FortranSyntax syntax(file);
  return fmt::format(R"(
  ! One sample.
  pure recursive subroutine NAME_evaluate(WEIGHTSx, y)
DECLARED    real(rk), intent(in) :: x(INPUTS)
    real(rk), intent(out) :: y(OUTPUTS)
{}{}{}  end subroutine NAME_evaluate

  ! Several samples, each a column of x and y.
  pure subroutine NAME_evaluate_block(WEIGHTScolumns, x, y)
DECLARED    integer, intent(in) :: columns
    real(rk), intent(in) :: x(INPUTS, columns)
    real(rk), intent(out) :: y(OUTPUTS, columns)
    integer :: first, last
    do first = 1, columns, {columns}
      last = min(first + {columns} - 1, columns)
      call forward_columns(WEIGHTSlast - first + 1, x(:, first:last), y(:, first:last))
    end do
  end subroutine NAME_evaluate_block

  ! The same for arrays whose first dimension counts the samples.
  pure recursive subroutine NAME_evaluate_rows(WEIGHTSrows, x, y)
DECLARED    integer, intent(in) :: rows
    real(rk), intent(in) :: x(rows, INPUTS)
    real(rk), intent(out) :: y(rows, OUTPUTS)
    real(rk) :: samples(INPUTS, {columns})
    real(rk) :: results(OUTPUTS, {columns})
    integer :: first, last
    do first = 1, rows, {columns}
      last = min(first + {columns} - 1, rows)
      samples(:, :last - first + 1) = transpose(x(first:last, :))
      call forward_columns(WEIGHTSlast - first + 1, samples, results)
      y(first:last, :) = transpose(results(:, :last - first + 1))
    end do
  end subroutine NAME_evaluate_rows

  pure recursive subroutine forward_columns(WEIGHTScolumns, x, y)
DECLARED    integer, intent(in) :: columns
    real(rk), intent(in) :: x(INPUTS * columns)
    real(rk), intent(inout) :: y(OUTPUTS * columns)
{}{}{}  end subroutine forward_columns
)",
                     fortran_loop_variables(forward, false), buffer_lines(forward, syntax, 1),
                     column_calls(forward, syntax), buffer_lines(forward, syntax, file.columns_at_once()),
                     fortran_loop_variables(forward, true), block_calls(forward, syntax),
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
  if (file.has_weight_file()) {
    entities.emplace_back("weights");
    entities.emplace_back("load");
  }
  for (std::string& entity : entities) entity = "NAME_" + entity;
  return fmt::format(R"(module NAME
  use, intrinsic :: iso_fortran_env, only: rk => {}{}{}
  implicit none
  private
  public :: &
    {}

  ! The kind of all arguments, and the extents of a sample.
  integer, parameter :: NAME_real = rk
  integer, parameter :: NAME_inputs = {}
  integer, parameter :: NAME_outputs = {}
{})",
                     file.is_double ? "real64" : "real32", has_doubles ? ", dk => real64" : "",
                     file.has_weight_file() ? ", int32, int64" : "", fmt::join(entities, ", &\n    "),
                     file.plan.inputs, file.plan.outputs,
                     file.has_weight_file() ? "  integer, parameter :: NAME_weights = COUNT\n" : "");
}

}  // namespace

std::string fortran_source(const SourceFile& file) {
  std::string text = fortran_comments(file.description);
  text += fortran_filled(fortran_module_head(file), file);
  for (const SourceConstant& constant : file.plan.constants) {
    if (!constant.file_offset) text += fortran_constant_text(constant, file.is_double);
  }
  text += "\ncontains\n";
  text += fortran_filled(fortran_forward_text(file), file);
  if (file.has_weight_file()) text += fortran_filled(fortran_weight_loader(), file);
  if (file.derivative != SourceDerivative::none) text += fortran_derivatives(file);
  text += texts_of(fortran_routines(), file.routines());
  text += fmt::format("\nend module {}\n\n", file.name);
  return text + fortran_comments(file.deck);
}

}  // namespace mylos
