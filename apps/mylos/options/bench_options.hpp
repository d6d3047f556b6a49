// mylos bench: its benchmarks and the command-line options of each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

struct BenchArguments {
  BenchAllreduceArguments allreduce;
  BenchGemmArguments gemm;
  BenchCheckpointArguments checkpoint;
};

/// Adds `bench` and its benchmarks, and sets `command` to the selected one. Both arguments must outlive the
/// parsing.
void add_bench(CLI::App& app, BenchArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app
