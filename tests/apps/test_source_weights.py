"""Weights in a file beside exported source: its layout, the files that its loaders refuse, and the numbers that functions compute.

usage: test_source_weights.py MYLOS
Languages without a compiler are not tested.
"""
import shutil
import struct
import subprocess
import zlib

import h5py
import numpy

from source_networks import Reference, dense, error_of, network, require
from support.cases import run_cases
from support.decks import deck_text

WEIGHT_CODES = {"large.weights": 0, "missing.weights": 1, "head.weights": 2, "magic.weights": 2, "order.weights": 3, "doubles.weights": 3,
                "other.weights": 3, "short.weights": 4, "long.weights": 4, "changed.weights": 4}
WEIGHT_PROGRAMS = {
    "c": """#include <stdio.h>
DECLARATIONS
static float w[large_weights];
int main(int count, char **names) {
  float x[large_inputs], y[large_outputs], block[5][large_outputs], xbar[large_inputs], rows[5][large_inputs];
  for (int i = 0; i < large_inputs; ++i) x[i] = 0.25f * i - 0.5f;
  for (int c = 0; c < 5; ++c) for (int i = 0; i < large_inputs; ++i) rows[c][i] = x[i];
  for (int i = count - 1; i > 0; --i) printf("%d\\n", large_load(names[i], w));
  large_evaluate(w, x, y);
  large_evaluate_block(w, 5, rows[0], block[0]);
  large_vjp(w, x, y, xbar);
  for (int o = 0; o < large_outputs; ++o) printf("%.9g %.9g\\n", y[o], block[4][o]);
  for (int i = 0; i < large_inputs; ++i) printf("%.9g\\n", xbar[i]);
  return 0;
}
""",
    "hpp": """#include <cstdio>
#include <vector>
#include "large.hpp"
int main(int count, char **names) {
  std::vector<float> w(large::weight_count);
  float x[large::inputs], y[large::outputs], block[5][large::outputs], xbar[large::inputs], rows[5][large::inputs];
  for (int i = 0; i < large::inputs; ++i) x[i] = 0.25f * float(i) - 0.5f;
  for (auto &row : rows) for (int i = 0; i < large::inputs; ++i) row[i] = x[i];
  for (int i = count - 1; i > 0; --i) std::printf("%d\\n", large::load_weights(names[i], w.data()));
  large::evaluate(w.data(), x, y);
  large::evaluate_block(w.data(), 5, rows[0], block[0]);
  large::vjp(w.data(), x, y, xbar);
  for (int o = 0; o < large::outputs; ++o) std::printf("%.9g %.9g\\n", y[o], block[4][o]);
  for (const float value : xbar) std::printf("%.9g\\n", value);
}
""",
    "f90": """program main
  use large
  implicit none
  real(large_real), allocatable :: w(:)
  real(large_real) :: x(large_inputs), y(large_outputs), block(large_outputs, 5), xbar(large_inputs)
  character(len=100) :: name
  integer :: i, status
  allocate (w(large_weights))
  x = [(0.25 * i - 0.75, i = 1, large_inputs)]
  do i = command_argument_count(), 1, -1
    call get_command_argument(i, name)
    call large_load(trim(name), w, status)
    print '(i0)', status
  end do
  call large_evaluate(w, x, y)
  call large_evaluate_block(w, 5, spread(x, 2, 5), block)
  call large_vjp(w, x, y, xbar)
  do i = 1, large_outputs
    print '(2es17.9)', y(i), block(i, 5)
  end do
  print '(es17.9)', xbar
end program main
"""}


def check_weight_file(command):
    """Weights beside the source: the layout, what the loaders refuse, and the numbers that they give."""
    source = numpy.random.default_rng(3)
    with h5py.File(command.folder / "large-data.h5", "w") as file:
        file["inputs"] = source.normal(size=(16, 8)).astype("f4")
        file["targets"] = source.normal(size=(16, 2)).astype("f4")
    command.write("large.toml", deck_text(run=dict(name="large"), data=dict(train="large-data.h5", batch=8, normalize="none"),
                                          model=dict(type="mlp", hidden=[1100, 1100], activation="tanh", loss="mse"), precision=dict(compute="fp32")))
    command.must("init", "large.toml", "large.h5")
    command.must("init", "large.toml", "other.h5", "run.seed=7")
    command.must("export", "other.h5", "other.c")
    command.must("export", "large.h5", "doubles.c", "--real", "double")
    described = network(8, 2, layers=[dense("hidden1", activation="tanh"), dense("hidden2", activation="tanh"), dense("head")])
    reference = Reference(described, command.folder / "large.h5")
    x = 0.25 * numpy.arange(8.0) - 0.5
    y = reference.forward(x[None])[0]
    expected = numpy.concatenate([numpy.repeat(y, 2), reference.jacobian(x[None])[0].T @ y])
    for ending, main in (("c", "main.c"), ("hpp", "main.cpp"), ("f90", "main.f90")):
        command.must("export", "large.h5", f"large.{ending}", "--derivative", "vjp")
        check_weight_layout(command, reference)
        text = WEIGHT_PROGRAMS[ending]
        if ending == "c":
            exported = command.text("large.c")
            text = text.replace("DECLARATIONS", exported[exported.index("enum {"):exported.index("typedef")])
        command.write(main, text)
        line = {"c": ["gcc", "-std=c99", "large.c", main], "hpp": ["g++", "-std=c++17", main], "f90": ["gfortran", "-std=f2008", "large.f90", main]}[ending]
        if not shutil.which(line[0]):
            continue
        subprocess.run([*line, "-O1", "-Wall", "-Wextra", "-Werror", "-o", "large", "-lm"], cwd=command.folder, check=True)
        output = subprocess.run(["./large", *WEIGHT_CODES], cwd=command.folder, check=True, capture_output=True, text=True).stdout.split()
        codes = [int(code) for code in output[:len(WEIGHT_CODES)]][::-1]
        assert dict(zip(WEIGHT_CODES, codes)) == WEIGHT_CODES, (ending, codes)
        require(f"weights beside {ending}", error_of(numpy.array(output[len(WEIGHT_CODES):], float), expected), 1e-5)


def check_weight_layout(command, reference):
    """Reads the file by its documented layout, and writes the files that loaders refuse."""
    right = (command.folder / "large.weights").read_bytes()
    magic, order, size, count, crc, _ = struct.unpack("<8sIIQII", right[:32])
    assert (magic, order, size, count, crc) == (b"MYLOSNET", 0x01020304, 4, (len(right) - 32) // 4, zlib.crc32(right[32:]))
    numbers = numpy.frombuffer(right[32:], "<f4")
    first = reference.weights["hidden1/weight"].T.ravel()
    assert (numbers[:first.size] == first).all() and count == 1_223_202, count
    changed = bytearray(right)
    changed[-5] ^= 1
    for name, contents in (("head", right[:20]), ("magic", b"X" + right[1:]), ("order", right[:8] + right[8:12][::-1] + right[12:]),
                           ("short", right[:-4]), ("long", right + b"0"), ("changed", bytes(changed))):
        (command.folder / f"{name}.weights").write_bytes(contents)


run_cases(check_weight_file)
