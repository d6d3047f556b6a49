"""Programs in C, C++ and Fortran that call exported networks: they read samples from NAME.in and write what the functions compute
to NAME.out, in the networks' type.

Of each network: evaluate of every sample, evaluate_block of all, in Fortran evaluate_rows of all, then the derivative of every
sample: y and dy, xbar, or the Jacobian [outputs, inputs].
"""
import shutil
import subprocess

import numpy

SAMPLES = 21  # more than a block of 16 columns, and not a multiple of 4
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


class Network:
    """An exported file: its name, the type of its arithmetic, its derivative, and its extents."""

    def __init__(self, name, real, derivative, inputs, outputs):
        self.name, self.real, self.derivative, self.inputs, self.outputs = name, real, derivative, inputs, outputs
        self.dtype = numpy.float64 if real == "double" else numpy.float32

    def write_input(self, folder, x, dx, ybar):
        data = [numpy.ascontiguousarray(each, self.dtype).tobytes() for each in (x, dx, ybar)]
        (folder / f"{self.name}.in").write_bytes(b"".join(data))

    def read_output(self, folder, has_rows):
        values = numpy.fromfile(folder / f"{self.name}.out", self.dtype)
        shapes = {"evaluate": (SAMPLES, self.outputs), "block": (SAMPLES, self.outputs)}
        if has_rows:
            shapes["rows"] = (SAMPLES, self.outputs)
        if self.derivative == "jvp":
            shapes.update(jvp=(SAMPLES, 2, self.outputs))
        elif self.derivative == "vjp":
            shapes.update(vjp=(SAMPLES, self.inputs))
        elif self.derivative == "jacobian":
            shapes.update(jacobian=(SAMPLES, self.outputs, self.inputs))
        found = {}
        for what, shape in shapes.items():
            count = int(numpy.prod(shape))
            found[what], values = values[:count].reshape(shape).astype(float), values[count:]
        assert values.size == 0, f"{self.name}: {values.size} numbers too many"
        return found


def c_calls(network, prefix, evaluate):
    """Statements that C and C++ have in common. `prefix`: of the functions."""
    n, m, real = network.inputs, network.outputs, network.real
    text = f"""
  {{
    static {real} x[{SAMPLES}][{n}], dx[{SAMPLES}][{n}], ybar[{SAMPLES}][{m}], y[{SAMPLES}][{m}];
    FILE *in = fopen("{network.name}.in", "rb"), *out = fopen("{network.name}.out", "wb");
    if (fread(x, sizeof x, 1, in) + fread(dx, sizeof dx, 1, in) + fread(ybar, sizeof ybar, 1, in) != 3) return 1;
    for (int s = 0; s < {SAMPLES}; ++s) {evaluate}(x[s], y[s]);
    fwrite(y, sizeof y, 1, out);
    {prefix}evaluate_block({SAMPLES}, x[0], y[0]);
    fwrite(y, sizeof y, 1, out);
    for (int s = 0; s < {SAMPLES}; ++s) {{
"""
    if network.derivative == "jvp":
        text += f"""      {real} both[2][{m}];
      {prefix}jvp(x[s], dx[s], both[0], both[1]);
      fwrite(both, sizeof both, 1, out);
"""
    elif network.derivative == "vjp":
        text += f"""      {real} xbar[{n}];
      {prefix}vjp(x[s], ybar[s], xbar);
      fwrite(xbar, sizeof xbar, 1, out);
"""
    elif network.derivative == "jacobian":
        text += f"""      {real} jacobian[{m}][{n}];
      {prefix}jacobian(x[s], jacobian[0]);
      fwrite(jacobian, sizeof jacobian, 1, out);
"""
    return text + "    }\n    fclose(in);\n    fclose(out);\n  }\n"


def c_program(networks, folder):
    text = "#include <stdio.h>\n"
    for network in networks:
        source = (folder / f"{network.name}.c").read_text()
        # The declarations that callers copy.
        text += source[source.index("enum {"):source.index("typedef")]
    text += "int main(void) {\n"
    for network in networks:
        text += f"  if ({network.name}_inputs != {network.inputs} || {network.name}_outputs != {network.outputs}) return 2;\n"
        text += c_calls(network, network.name + "_", network.name + "_evaluate")
    return text + "  return 0;\n}\n"


def cpp_program(networks, _):
    text = "#include <cstdio>\n" + "".join(f'#include "{network.name}.hpp"\n' for network in networks)
    # Of one file of each network: compilers for devices take long.
    kernels = [network for network in networks if (network.real, network.derivative) == ("float", "vjp")]
    text += "#if defined(__CUDACC__) || defined(__HIPCC__)\n" + "".join(
        f"__global__ void of_{network.name}(const float *x, float *y) {{ {network.name}::evaluate(x, y); }}\n" for network in kernels)
    text += "#endif\nusing std::FILE;\nint main() {\n"
    for network in networks:
        text += f"  static_assert({network.name}::inputs == {network.inputs} && {network.name}::outputs == {network.outputs});\n"
        text += c_calls(network, network.name + "::", network.name + "::evaluate")
    return text + "  return 0;\n}\n"


def fortran_program(networks, _):
    text = ""
    for network in networks:
        n, m, name = network.inputs, network.outputs, network.name
        derivative = {"none": "", "jvp": f"""      call {name}_jvp(x(:, s), dx(:, s), both(:, 1), both(:, 2))
      write (out) both
""", "vjp": f"""      call {name}_vjp(x(:, s), ybar(:, s), xbar)
      write (out) xbar
""", "jacobian": f"""      call {name}_jacobian(x(:, s), jacobian)
      write (out) transpose(jacobian)
"""}[network.derivative]
        local = {"none": "", "jvp": f"    real({name}_real) :: both({m}, 2)\n", "vjp": f"    real({name}_real) :: xbar({n})\n",
                 "jacobian": f"    real({name}_real) :: jacobian({m}, {n})\n"}[network.derivative]
        loop = f"    do s = 1, {SAMPLES}\n{derivative}    end do\n" if derivative else ""
        text += f"""
  subroutine run_{name}()
    use {name}
    integer :: in, out, s
    real({name}_real) :: x({name}_inputs, {SAMPLES}), dx({n}, {SAMPLES}), ybar({m}, {SAMPLES})
    real({name}_real) :: y({name}_outputs, {SAMPLES}), rows({SAMPLES}, {m})
{local}    open (newunit=in, file="{name}.in", access="stream", form="unformatted", status="old")
    open (newunit=out, file="{name}.out", access="stream", form="unformatted", status="replace")
    read (in) x, dx, ybar
    do s = 1, {SAMPLES}
      call {name}_evaluate(x(:, s), y(:, s))
    end do
    write (out) y
    call {name}_evaluate_block({SAMPLES}, x, y)
    write (out) y
    call {name}_evaluate_rows({SAMPLES}, transpose(x), rows)
    write (out) transpose(rows)
{loop}    close (in)
    close (out)
  end subroutine run_{name}
"""
    calls = "".join(f"  call run_{network.name}()\n" for network in networks)
    return f"program main\n  implicit none\n{calls}contains\n{text}end program main\n"


class Language:
    def __init__(self, ending, compilers, program, main):
        self.ending, self.compilers, self.program, self.main = ending, compilers, program, main

    def available(self):
        return [line for line in self.compilers if shutil.which(line[0])]

    def run(self, folder, networks, full):
        """Compiles the networks with the first compiler that there is, or all, and yields the name of each after its run."""
        (folder / self.main).write_text(self.program(networks, folder))
        sources = [] if self.ending == "hpp" else [f"{network.name}.{self.ending}" for network in networks]
        for line in self.available()[:None if full else 1]:
            subprocess.run([*line, "-o", "program", *sources, self.main, *(["-lm"] if self.ending == "c" else [])], cwd=folder, check=True)
            subprocess.run(["./program"], cwd=folder, check=True)
            yield line[0]


LANGUAGES = [
    Language("c", [["gcc", "-std=c99", "-O1", *WARNINGS], ["clang", "-std=c99", "-O1", *WARNINGS]], c_program, "main.c"),
    Language("hpp", [["g++", "-std=c++17", "-O1", *WARNINGS], ["clang++", "-std=c++17", "-O1", *WARNINGS],
                     ["nvcc", "-std=c++17", "-O1", "-x", "cu", "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings"]], cpp_program, "main.cpp"),
    Language("f90", [["gfortran", "-std=f2008", "-O1", "-fcheck=all,no-array-temps", *WARNINGS[:2], "-pedantic", "-Werror"]], fortran_program, "main.f90"),
]
