#include "options/options.hpp"

#include "launch/usage.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/comm/options.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t kibibyte = 1 << 10;
constexpr std::int64_t mebibyte = kibibyte << 10;
constexpr std::int64_t gibibyte = mebibyte << 10;
constexpr std::int64_t tebibyte = gibibyte << 10;

constexpr std::int64_t max_bench_rounds = 10000;
constexpr std::int64_t max_message = 2 * gibibyte;  // MPI counts the floats of one in 31 bits
constexpr std::int64_t max_state = 64 * tebibyte;

void add_rounds(CLI::App& app, int& rounds, std::string& csv) {
  app.add_option("--rounds", rounds, "Measurements of each number, interleaved; the median is printed")
      ->check(integer_from(1, max_bench_rounds))
      ->capture_default_str();
  app.add_option("--csv", csv, "Also write every number to this file, one per line, for programs");
}

void add_types(CLI::App& app, std::vector<std::string>& types) {
  types = {"fp32", "bf16", "fp16"};
  app.add_option("--types", types, "Some of fp32,bf16,fp16 (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
}

void add_allreduce(CLI::App& bench, BenchAllreduceArguments& arguments, Command& command) {
  CLI::App* app = bench.add_subcommand("allreduce",
                                       "Sums of gradients over the ranks of this start, and their agreement");
  for (std::int64_t bytes = kibibyte; bytes <= 256 * mebibyte; bytes *= 4)
    arguments.sizes.push_back(std::to_string(bytes));
  app->add_option("--sizes", arguments.sizes,
                  "Bytes of the messages, such as 64KiB,1MiB (default: 1 KiB to 256 MiB by factors of 4)")
      ->delimiter(',')
      ->check(bytes_from(1, max_message));
  add_types(*app, arguments.types);
  std::vector<std::string> backends(communication_backends.begin(), communication_backends.end());
  backends.emplace_back("auto");
  app->add_option("--backend", arguments.backend, "As communication.backend in decks")
      ->check(CLI::IsMember(backends))
      ->capture_default_str();
  add_rounds(*app, arguments.rounds, arguments.csv);
  app->footer(
      "A sum is what training does with a bucket of gradients: a reduce-scatter over equal slices and an "
      "all-gather.\nBeside it stands MPI_Allreduce of floats in host memory. GB/s: bytes of the message over "
      "the time of the\nslowest rank.");
  app->callback([&] { command = [&] { return bench_allreduce_command(arguments); }; });
}

void add_gemm(CLI::App& bench, BenchGemmArguments& arguments, Command& command) {
  CLI::App* app = bench.add_subcommand("gemm", "The rate of every GEMM engine of this build, by type");
  app->add_option(
         "--shapes", arguments.shapes,
         "Linear layers, such as 512x784x2048: samples, inputs, outputs (default: squares, and layers of "
         "the decks in inputs/)")
      ->delimiter(',');
  add_types(*app, arguments.types);
  app->add_option("--engines", arguments.engines, "Some of this build's, such as onednn,tiles (default: all)")
      ->delimiter(',');
  app->add_option("--instructions", arguments.instructions, "As kernels.instructions in decks");
  add_rounds(*app, arguments.rounds, arguments.csv);
  app->footer(
      "y: a layer's output, dx: the gradient of its input, dW: that of its weights. OMP_NUM_THREADS says "
      "how many\nthreads compute.");
  app->callback([&] { command = [&] { return bench_gemm_command(arguments); }; });
}

void add_checkpoint(CLI::App& bench, BenchCheckpointArguments& arguments, Command& command) {
  CLI::App* app =
      bench.add_subcommand("checkpoint", "Writing a checkpoint between two steps, and reading it again");
  app->add_option("folder", arguments.folder, "Folder in which it is written, in a temporary folder")
      ->required();
  app->add_option("--size", arguments.size, "Bytes of the state")
      ->check(bytes_from(1, max_state))
      ->capture_default_str();
  app->add_flag("--sharded", arguments.sharded,
                "Each rank has a slice of the state; by default each has the complete state");
  add_rounds(*app, arguments.rounds, arguments.csv);
  app->callback([&] { command = [&] { return bench_checkpoint_command(arguments); }; });
}

}  // namespace

void add_bench(CLI::App& app, BenchArguments& arguments, Command& command) {
  CLI::App* bench =
      app.add_subcommand("bench", "Measure this machine with the code of a run: network, GEMMs, disk");
  bench->require_subcommand(1);
  add_allreduce(*bench, arguments.allreduce, command);
  add_gemm(*bench, arguments.gemm, command);
  add_checkpoint(*bench, arguments.checkpoint, command);
}

}  // namespace mylos::app
