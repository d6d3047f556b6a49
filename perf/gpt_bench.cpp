// Measures the complete training step of a GPT over 65 characters with AdamW, by the commands of
// step_program.hpp.
//
//   gpt_bench [--instructions NAME] SHAPE [COMMAND]    SHAPE: medium, medium12, deep, small (gpt_subject.hpp)
#include "commands.hpp"
#include "gpt_subject.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"

int main(int argument_count, char** arguments) {
  return mylos::run_program(argument_count, arguments, "gpt_bench", [](std::vector<std::string>& words) {
    if (words.empty())
      mylos::fail_input(mylos::errors::missing_argument, "a GPT is missing: medium, medium12, deep or small");
    const mylos::GptSubject gpt(words.front());
    return mylos::answer_commands(gpt, {words.begin() + 1, words.end()});
  });
}
