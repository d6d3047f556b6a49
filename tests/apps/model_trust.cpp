// model_trust flags MODEL IN OUT [range|LIMIT]: flags and distances of samples, as floats [2, samples].
// model_trust ensemble IN OUT MODEL...: mean and standard deviation of the models, as floats [2, samples,
// outputs].
//
// IN: float [samples, inputs] in binary. MPI is never started. An error's message goes to standard error.
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/mylos.hpp"

namespace {

using Rows = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;

Rows read_rows(const char* path, std::int64_t columns) {
  const std::size_t values = std::filesystem::file_size(path) / sizeof(float);
  const auto width = static_cast<std::size_t>(columns);
  Rows rows("x", values / width, width);
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(values * sizeof(float)));
  return rows;
}

void write_rows(std::ofstream& out, const Rows& rows) {
  out.write(reinterpret_cast<const char*>(rows.data()),
            static_cast<std::streamsize>(rows.size() * sizeof(float)));
}

void flags_of(int count, char** arguments) {
  mylos::Model model(arguments[0]);
  const Rows x = read_rows(arguments[1], model.inputs());
  const bool of_range = count > 3 && std::string_view(arguments[3]) == "range";
  const Kokkos::View<std::uint8_t*, Kokkos::HostSpace> flags("flags", x.extent(0));
  const Kokkos::View<float*, Kokkos::HostSpace> distances("distances", x.extent(0));
  const mylos::Execution exec;
  if (of_range) {
    model.check_inputs(exec, x, flags, {.distance = false});
  } else {
    model.check_inputs(exec, x, flags, distances, {.limit = count > 3 ? std::atof(arguments[3]) : 0});
  }
  exec.fence();
  const Rows found("found", 2, x.extent(0));
  for (std::size_t i = 0; i < x.extent(0); ++i) {
    found(0, i) = static_cast<float>(flags(i));
    found(1, i) = distances(i);
  }
  std::ofstream out(arguments[2], std::ios::binary);
  write_rows(out, found);
}

void ensemble_of(int count, char** arguments) {
  mylos::Ensemble ensemble(std::vector<std::string>(arguments + 2, arguments + count));
  const Rows x = read_rows(arguments[0], ensemble.member(0).inputs());
  const auto outputs = static_cast<std::size_t>(ensemble.member(0).outputs());
  const Rows mean("mean", x.extent(0), outputs);
  const Rows deviation("deviation", x.extent(0), outputs);
  const mylos::Execution exec;
  ensemble.infer(exec, x, mean, deviation);
  exec.fence();
  std::ofstream out(arguments[1], std::ios::binary);
  write_rows(out, mean);
  write_rows(out, deviation);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(argument_count, arguments);
  if (argument_count < 5) return 2;
  const std::string_view what = arguments[1];
  try {
    (what == "flags" ? flags_of : ensemble_of)(argument_count - 2, arguments + 2);
  } catch (const mylos::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
