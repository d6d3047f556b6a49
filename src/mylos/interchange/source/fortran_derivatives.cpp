#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mylos/interchange/source/fortran_text.hpp"

namespace mylos {
namespace {

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
  if (file.has_weight_file()) {
    names.emplace_back("weights");
    declarations += fmt::format("    real(rk), intent(in) :: weights({})\n", file.file_weights);
  }
  for (const FortranArgument& argument : arguments) {
    if (!pass.uses(argument.name)) continue;
    names.emplace_back(argument.name);
    declarations +=
        fmt::format("    real(rk), intent({}) :: {}({})\n", argument.intent, argument.name, argument.size);
  }
  if (pass.uses(local_tape))
    declarations += fmt::format("    real(rk) :: {}({})\n", local_tape, file.plan.tape);
  declarations += fortran_loop_variables(pass, false);
  return fmt::format("\n  pure recursive subroutine {0}({1})\n{2}{3}{4}  end subroutine {0}\n", name,
                     fmt::join(names, ", "), declarations, buffer_lines(pass, FortranSyntax(file), 1),
                     column_calls(pass, FortranSyntax(file)));
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
        "call tangent(WEIGHTS{})\n",
        arguments_of(plan.tangent,
                     {{"x", "x"}, {"y", "y"}, {"tape", "tape"}, {"dx", given}, {"dy", result}}));
  }
  return fmt::format(
      "call pullback(WEIGHTS{})\n",
      arguments_of(plan.pullback, {{"x", "x"}, {"y", "y"}, {"tape", "tape"}, {"gy", given}, {"gx", result}}));
}

std::string fortran_tape_call(const SourceFile& file) {
  return fmt::format("    call forward_tape(WEIGHTS{})\n",
                     arguments_of(file.plan.tape_forward, {{"x", "x"}, {"y", "y"}, {"tape", "tape"}}));
}

std::string fortran_tape_declaration(const SourceFile& file) {
  return file.plan.tape > 0 ? fmt::format("    real(rk) :: tape({})\n", file.plan.tape) : "";
}

std::string fortran_jvp_text(const SourceFile& file) {
  return R"(
  ! y, and the change dy of y by a change dx of x, to first order.
  pure recursive subroutine NAME_jvp(WEIGHTSx, dx, y, dy)
DECLARED    real(rk), intent(in) :: x(INPUTS)
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
  pure recursive subroutine NAME_vjp(WEIGHTSx, ybar, xbar)
DECLARED    real(rk), intent(in) :: x(INPUTS)
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
  pure recursive subroutine NAME_jacobian(WEIGHTSx, jacobian)
DECLARED    real(rk), intent(in) :: x(INPUTS)
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

}  // namespace

std::string fortran_derivatives(const SourceFile& file) {
  return fortran_filled(fortran_derivative_text(file) + fortran_derivative_passes(file), file);
}

}  // namespace mylos
