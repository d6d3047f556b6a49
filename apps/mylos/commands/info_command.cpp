// mylos info FILE|FOLDER, and the output of --version.
#include <fmt/ranges.h>
#include <mpi.h>

#include "commands.hpp"
#include "commands/open_model.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/file/describe.hpp"
#include "mylos/interchange/onnx/onnx_file.hpp"
#include "mylos/io/hdf5/hdf5.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos::app {
namespace {

/// A separate line in builds for devices; hosts use Mylos' own kernels.
std::string fused_attention_line() {
  return memory_is_host ? std::string() : fmt::format("\n  fused attention: {}", describe_fused_attention());
}

}  // namespace

ExitCode info_command(const NamedCheckpoint& checkpoint) {
  RankGroup& ranks = ranks_of_start();
  const std::string text = describe_checkpoint(ranks, checkpoint_file(ranks, checkpoint));
  standard_output(ranks.rank()).line(text);
  return ExitCode::done;
}

std::string version_text() {
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  const std::string mpi(library, static_cast<std::size_t>(length));
  std::vector<std::string_view> instructions;
  for (const Instructions here : available_instructions()) instructions.push_back(name_of(here));
  return fmt::format(
      "mylos {}\n  Kokkos {}.{}.{}, {}, loops compiled for {}\n  {}\n  {}\n  GEMM engines: {}{}\n  "
      "instructions: {}; here are {}\n  ONNX: {}",
      code_version(), KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100,
      Execution::name(), compiled_for(), mpi.substr(0, mpi.find(',')), hdf5::library_version(),
      fmt::join(gemm_engine_names(), ", "), fused_attention_line(), describe_instructions(),
      fmt::join(instructions, ", "), onnx_library());
}

}  // namespace mylos::app
