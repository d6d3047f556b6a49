#include "commands.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/instructions.hpp"

namespace mylos {
namespace {

/// Broadcasts from the first rank to all.
void broadcast(void* data, std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::optional<std::string> take_option(std::vector<std::string>& words, const std::string& name) {
  const auto option = std::find(words.begin(), words.end(), name);
  if (option == words.end()) return std::nullopt;
  if (option + 1 == words.end()) fail_input(errors::missing_argument, "{} needs a value", name);
  std::string value = *(option + 1);
  words.erase(option, option + 2);
  return value;
}

int run_program(int argument_count, char** arguments, const std::string& name,
                const std::function<int(std::vector<std::string>& words)>& program) {
  int threads = 0;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_SERIALIZED, &threads);  // as the command does
  int exit_code = 2;
  {
    const Kokkos::ScopeGuard kokkos(argument_count, arguments);
    std::vector<std::string> words(arguments + 1, arguments + argument_count);
    try {
      if (const auto instructions = take_option(words, "--instructions"))
        use_instructions(instructions_named(*instructions));
      exit_code = program(words);
    } catch (const Error& error) {
      fmt::print(stderr, "{}: {}\n", name, error.what());
    }
  }
  MPI_Finalize();
  return exit_code;
}

std::optional<std::string> next_line() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string line;
  std::int64_t length = -1;
  if (rank == 0 && std::getline(std::cin, line)) length = static_cast<std::int64_t>(line.size());
  broadcast(&length, sizeof(length));
  if (length < 0) return std::nullopt;
  line.resize(static_cast<std::size_t>(length));
  broadcast(line.data(), line.size());
  return line;
}

}  // namespace mylos
