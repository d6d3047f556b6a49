"""Times exported source of a small network, one column at a time and in blocks, beside loops written by hand in Fortran.

usage: exported_source.py MYLOS [ACTIVATION ...]
8 inputs, three layers of 128 and 3 outputs, in float; compiled with -O3 -march=native by gcc, clang (if there is one) and gfortran.
Prints microseconds of one column, the least of many interleaved rounds, and their ratio to the loops.
"""
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy

COLUMNS = 96
DECK = """[run]
name = "small"
peak_flops = 1e12
[data]
train = "small-data.h5"
batch = 8
normalize = "none"
[model]
type = "mlp"
hidden = [128, 128, 128]
activation = "{}"
loss = "mse"
[precision]
compute = "fp32"
"""
ACTIVATED = {"relu": "max(y, 0.0)", "tanh": "tanh(y)", "silu": "y / (1 + exp(-y))"}
LOOPS = """module by_hand
  use iso_c_binding
  implicit none
  real(c_float) :: w1(128, 8), w2(128, 128), w3(128, 128), w4(3, 128), b(128)
contains
  pure subroutine layer(inputs, outputs, w, b, x, y)
    integer, intent(in) :: inputs, outputs
    real(c_float), intent(in) :: w(outputs, inputs), b(outputs), x(inputs)
    real(c_float), intent(out) :: y(outputs)
    integer :: i, o
    y = b
    do i = 1, inputs
      do o = 1, outputs
        y(o) = y(o) + w(o, i) * x(i)
      end do
    end do
  end subroutine layer
  elemental function activated(y) result(a)
    real(c_float), intent(in) :: y
    real(c_float) :: a
    a = ACTIVATED
  end function activated
  subroutine initialise() bind(c)
    call random_number(w1)
    call random_number(w2)
    call random_number(w3)
    call random_number(w4)
    call random_number(b)
    w1 = w1 - 0.5
    w2 = 0.2 * (w2 - 0.5)
    w3 = 0.2 * (w3 - 0.5)
  end subroutine initialise
  subroutine hand_evaluate(x, y) bind(c)
    real(c_float), intent(in) :: x(8)
    real(c_float), intent(out) :: y(3)
    real(c_float) :: a(128), c(128)
    call layer(8, 128, w1, b, x, a)
    a = activated(a)
    call layer(128, 128, w2, b, a, c)
    c = activated(c)
    call layer(128, 128, w3, b, c, a)
    a = activated(a)
    call layer(128, 3, w4, b, a, y)
  end subroutine hand_evaluate
  subroutine fortran_evaluate(x, y) bind(c)
    use of_fortran
    real(c_float), intent(in) :: x(8)
    real(c_float), intent(out) :: y(3)
    call of_fortran_evaluate(x, y)
  end subroutine fortran_evaluate
  subroutine fortran_evaluate_block(columns, x, y) bind(c)
    use of_fortran
    integer(c_int), value :: columns
    real(c_float), intent(in) :: x(8, columns)
    real(c_float), intent(out) :: y(3, columns)
    call of_fortran_evaluate_block(columns, x, y)
  end subroutine fortran_evaluate_block
end module by_hand
"""
PROGRAM = """#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
void initialise(void);
void hand_evaluate(const float *, float *);
void fortran_evaluate(const float *, float *);
void fortran_evaluate_block(int, const float *, float *);
void of_c_evaluate(const float *, float *);
void of_c_evaluate_block(int, const float *, float *);
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
int main(void) {
  static float x[COLUMNS][8], y[COLUMNS][3];
  double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
  initialise();
  for (int i = 0; i < COLUMNS * 8; ++i) x[0][i] = (float)(i % 17) / 17 - 0.5f;
  for (int round = 0; round < 1000; ++round) {
    for (int way = 0; way < 5; ++way) {
      const double start = now();
      for (int c = 0; c < COLUMNS; c += way < 3 ? 1 : 16) {
        if (way == 0) hand_evaluate(x[c], y[c]);
        if (way == 1) of_c_evaluate(x[c], y[c]);
        if (way == 2) fortran_evaluate(x[c], y[c]);
        if (way == 3) of_c_evaluate_block(16, x[c], y[c]);
        if (way == 4) fortran_evaluate_block(16, x[c], y[c]);
      }
      const double time = (now() - start) / COLUMNS;
      if (time < best[way]) best[way] = time;
    }
  }
  for (int way = 0; way < 5; ++way) printf("%.6f\\n", best[way]);
}
"""
WAYS = ("loops by hand", "C, evaluate", "Fortran, evaluate", "C, evaluate_block of 16", "Fortran, evaluate_block of 16")


def times(mylos, folder, activation, compiler):
    def run(*line):
        return subprocess.run(line, cwd=folder, check=True, capture_output=True, text=True).stdout

    (folder / "small.toml").write_text(DECK.format(activation), encoding="utf-8")
    (folder / "by_hand.f90").write_text(LOOPS.replace("ACTIVATED", ACTIVATED[activation]), encoding="utf-8")
    (folder / "main.c").write_text(PROGRAM.replace("COLUMNS", str(COLUMNS)), encoding="utf-8")
    run(mylos, "init", "small.toml", "small.h5")
    run(mylos, "export", "small.h5", "of_c.c")
    run(mylos, "export", "small.h5", "of_fortran.f90")
    options = ["-O3", "-march=native"]
    run("gfortran", *options, "-c", "of_fortran.f90", "by_hand.f90")
    run(compiler, *options, "-c", "of_c.c", "main.c")
    run("gfortran", "of_fortran.o", "by_hand.o", "of_c.o", "main.o", "-o", "times", "-lm")
    return [float(word) for word in run("./times").split()]


def main():
    mylos = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source = numpy.random.default_rng(1)
        with h5py.File(folder / "small-data.h5", "w") as file:
            file["inputs"] = source.normal(size=(16, 8)).astype("f4")
            file["targets"] = source.normal(size=(16, 3)).astype("f4")
        for compiler in ("gcc", "clang"):
            if subprocess.run(["which", compiler], capture_output=True, check=False).returncode:
                continue
            for activation in sys.argv[2:] or ACTIVATED:
                found = times(mylos, folder, activation, compiler)
                for way, time in zip(WAYS, found):
                    print(f"{compiler:6} {activation:5} {way:30} {time:6.2f} us  {time / found[0]:5.2f}", flush=True)


main()
