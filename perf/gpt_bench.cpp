// Measures the complete training step of a GPT over 65 characters with AdamW, by the commands of
// step_program.hpp.
//
//   gpt_bench [--instructions NAME] SHAPE [COMMAND]    SHAPE: medium, medium12, deep, small (gpt_subject.hpp)
#include <fmt/format.h>
#include <mpi.h>

#include "commands.hpp"
#include "gpt_subject.hpp"

int main(int argument_count, char** arguments) {
  int threads = 0;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_SERIALIZED, &threads);  // as the command does
  int exit_code = 0;
  {
    const Kokkos::ScopeGuard kokkos(argument_count, arguments);
    std::vector<std::string> words(arguments + 1, arguments + argument_count);
    try {
      mylos::hold_to_instructions(words);
      if (words.empty())
        mylos::fail_input(mylos::ErrorId::missing_argument,
                          "a GPT is missing: medium, medium12, deep or small");
      const mylos::GptSubject gpt(words.front());
      exit_code = mylos::answer_commands(gpt, {words.begin() + 1, words.end()});
    } catch (const mylos::Error& error) {
      fmt::print(stderr, "gpt_bench: {}\n", error.what());
      exit_code = 2;
    }
  }
  MPI_Finalize();
  return exit_code;
}
