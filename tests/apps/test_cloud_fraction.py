"""A cloud fraction network of an atmosphere model, from decks to a call in the model's convention.

The network is that of E3SM's process cld_frac_net (github.com/E3SM-Project/E3SM, components/eamxx/src/physics/cld_fraction): of the
72 levels of a column, qi -> dense 64, relu, dense, sigmoid, 1 where above 1/2: the ice cloud fraction; liquid and ice cloud
fraction -> dense 64, relu, dense: the total. Its function is called by column, forward(ice, tot, qi, liq), with views of rank 1 for
the four: the outputs first. The step between the two networks is no layer, so that each has a deck and a namespace.

usage: test_cloud_fraction.py MYLOS KOKKOS [--full]
KOKKOS: the CMake folder of a Kokkos for hosts, with which --full calls it in a kernel by teams, as E3SM does; or "none".
"""
import pathlib
import shutil
import subprocess

import h5py
import numpy

from support.cases import run_cases, skip
from support.decks import deck_text
from support.run_folders import weights_of

LEVELS, NEURONS, COLUMNS = 72, 64, 37
FUNCTION = """
#include "ice_net.hpp"
#include "total_net.hpp"

template <class Out, class In>
MARK void forward(const Out &ice, const Out &tot, const In &qi, const In &liq) {
  float both[2 * LEVELS], probability[LEVELS];
  ice_net::evaluate(qi, probability);
  for (int k = 0; k < LEVELS; ++k) {
    ice[k] = probability[k] > 0.5f ? 1.0f : 0.0f;
    both[k] = liq[k];
    both[LEVELS + k] = ice[k];
  }
  total_net::evaluate(both, tot);
}
"""
PLAIN = """#include <cstdio>
#include <vector>
constexpr int LEVELS = 72;
#define MARK inline
FUNCTION
// A column of an array [levels][columns], as a view with a stride has it.
struct Column {
  float *first;
  long stride;
  float &operator[](int k) const { return first[k * stride]; }
};
int main() {
  std::vector<float> fields[4];
  std::FILE *in = std::fopen("fields.in", "rb"), *out = std::fopen("fields.out", "wb");
  for (auto &field : fields) field.assign(COLUMNS * LEVELS, -1.0f);
  for (int f = 2; f < 4; ++f)
    if (std::fread(fields[f].data(), sizeof(float), COLUMNS * LEVELS, in) != COLUMNS * LEVELS) return 1;
  for (int c = 0; c < COLUMNS; ++c) {
    const auto column = [&](int f) { return Column{fields[f].data() + c, COLUMNS}; };
    forward(column(0), column(1), column(2), column(3));
  }
  for (int f = 0; f < 2; ++f) std::fwrite(fields[f].data(), sizeof(float), COLUMNS * LEVELS, out);
  std::fclose(in);
  std::fclose(out);
}
"""
KERNEL = """#include <Kokkos_Core.hpp>
#include <cstdio>
constexpr int LEVELS = 72;
#define MARK KOKKOS_INLINE_FUNCTION
#include "ice_net.hpp"
#include "total_net.hpp"
template <class Team, class Out, class In>
KOKKOS_INLINE_FUNCTION void forward(const Team &team, const Out &ice, const Out &tot, const In &qi, const In &liq,
                                    float *scratch) {
  float *both = scratch, *own = scratch + 2 * LEVELS;
  ice_net::evaluate(team, qi, ice, own);
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, LEVELS), [=](int k) {
    ice[k] = ice[k] > 0.5f ? 1.0f : 0.0f;
    both[k] = liq[k];
    both[LEVELS + k] = ice[k];
  });
  team.team_barrier();
  total_net::evaluate(team, both, tot, own);
}
using Fields = Kokkos::View<float *[LEVELS]>;
int main(int argc, char **argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  Fields fields[4] = {Fields("ice", COLUMNS), Fields("tot", COLUMNS), Fields("qi", COLUMNS), Fields("liq", COLUMNS)};
  std::FILE *in = std::fopen("fields.in", "rb"), *out = std::fopen("fields.out", "wb");
  for (int f = 2; f < 4; ++f) {
    Kokkos::View<float[LEVELS][COLUMNS], Kokkos::LayoutRight, Kokkos::HostSpace> read("read");
    if (std::fread(read.data(), sizeof(float), COLUMNS * LEVELS, in) != COLUMNS * LEVELS) return 1;
    auto host = Kokkos::create_mirror_view(fields[f]);
    for (int c = 0; c < COLUMNS; ++c) for (int k = 0; k < LEVELS; ++k) host(c, k) = read(k, c);
    Kokkos::deep_copy(fields[f], host);
  }
  using Policy = Kokkos::TeamPolicy<>;
  const std::size_t larger = ice_net::scratch_bytes > total_net::scratch_bytes ? ice_net::scratch_bytes : total_net::scratch_bytes;
  const std::size_t bytes = larger + 2 * LEVELS * sizeof(float);
  const Fields ice = fields[0], tot = fields[1], qi = fields[2], liq = fields[3];
  Kokkos::parallel_for(Policy(COLUMNS, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(bytes)),
                       KOKKOS_LAMBDA(const Policy::member_type &team) {
    const int c = team.league_rank();
    const auto column = [&](const Fields &field) { return Kokkos::subview(field, c, Kokkos::ALL); };
    forward(team, column(ice), column(tot), column(qi), column(liq), static_cast<float *>(team.team_scratch(0).get_shmem(bytes)));
  });
  for (int f = 0; f < 2; ++f) {
    auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), fields[f]);
    for (int k = 0; k < LEVELS; ++k) for (int c = 0; c < COLUMNS; ++c) std::fwrite(&host(c, k), sizeof(float), 1, out);
  }
  std::fclose(in);
  std::fclose(out);
}
"""


def write_network(command, name, inputs, loss):
    """A deck with E3SM's layers, and its initial weights as its trained ones."""
    source = numpy.random.default_rng(inputs)
    with h5py.File(command.folder / f"{name}-data.h5", "w") as file:
        file["inputs"] = source.normal(size=(16, inputs)).astype("f4")
        file["targets"] = source.integers(0, 2, (16, LEVELS)).astype("f4")
    command.write(f"{name}.toml", deck_text(
        run=dict(name=name, seed=inputs), data=dict(train=f"{name}-data.h5", batch=8, normalize="none"),
        model=dict(type="mlp", hidden=[NEURONS], activation="relu", loss=loss), precision=dict(compute="fp32")))
    command.must("init", f"{name}.toml", f"{name}.h5")
    command.must("export", f"{name}.h5", f"{name}.hpp")
    return {key: value.astype(float) for key, value in weights_of(command.folder / f"{name}.h5").items()}


def dense(weights, name, x):
    return x @ weights[f"{name}/weight"].T + weights[f"{name}/bias"].ravel()


def expected_fields(ice_net, total_net, qi, liq):
    """The formulas, of fields [columns, levels]."""
    ice = (1 / (1 + numpy.exp(-dense(ice_net, "head", numpy.maximum(dense(ice_net, "hidden1", qi), 0)))) > 0.5).astype(float)
    hidden = numpy.maximum(dense(total_net, "hidden1", numpy.concatenate([liq, ice], -1)), 0)
    return ice, dense(total_net, "head", hidden)


def compare(folder, expected):
    """Fields are [levels, columns] in the files."""
    ice, total = numpy.fromfile(folder / "fields.out", "f4").reshape(2, LEVELS, COLUMNS)
    assert (ice.T == expected[0]).all(), "the ice cloud fraction differs"
    assert 0.1 < expected[0].mean() < 0.9, "the ice cloud fraction is trivial"
    error = numpy.abs(total.T - expected[1]).max() / numpy.abs(expected[1]).max()
    assert error < 1e-6, f"total cloud fraction: {error:.2g}"


def check_cloud_fraction(command, kokkos, full):
    if not shutil.which("g++"):
        skip("no g++")
    ice_net = write_network(command, "ice_net", LEVELS, "binary_cross_entropy")
    total_net = write_network(command, "total_net", 2 * LEVELS, "mse")
    source = numpy.random.default_rng(5)
    qi, liq = source.normal(size=(COLUMNS, LEVELS)).astype("f4"), source.random((COLUMNS, LEVELS)).astype("f4")
    (command.folder / "fields.in").write_bytes(qi.T.tobytes() + liq.T.tobytes())
    expected = expected_fields(ice_net, total_net, qi.astype(float), liq.astype(float))
    compile_and_run(command, PLAIN.replace("FUNCTION", FUNCTION), [])
    compare(command.folder, expected)
    if full and kokkos != "none":
        library = pathlib.Path(kokkos).parents[1]
        libraries = [str(library / f"libkokkos{part}.a") for part in ("containers", "core")]
        compile_and_run(command, KERNEL, ["-fopenmp", f"-I{library.parent}/include", *libraries, "-ldl"])
        compare(command.folder, expected)
        print("by teams of Kokkos")


def compile_and_run(command, text, options):
    command.write("main.cpp", text.replace("COLUMNS", str(COLUMNS)))
    (command.folder / "fields.out").unlink(missing_ok=True)
    subprocess.run(["g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-o", "columns", "main.cpp", *options], cwd=command.folder, check=True)
    subprocess.run(["./columns"], cwd=command.folder, check=True)


run_cases(check_cloud_fraction, arguments=["kokkos"])
