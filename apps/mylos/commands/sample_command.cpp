// mylos sample CKPT --prompt TEXT: a network of tokens continues a text.
#include <fmt/ranges.h>

#include <sstream>

#include "commands.hpp"
#include "commands/open_model.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/number_text.hpp"
#include "mylos/inference/text_generator.hpp"

namespace mylos::app {
namespace {

/// Reads "17 4 9", for vocabularies of numbered tokens without text.
std::vector<std::int32_t> token_numbers(const std::string& prompt, std::int64_t vocabulary) {
  std::vector<std::int32_t> tokens;
  std::istringstream words(prompt);
  for (std::string word; words >> word;) {
    const auto token = to_number<std::int32_t>(word);
    if (!token || *token < 0 || *token >= vocabulary) {
      fail_input(
          errors::bad_argument,
          "--prompt: '{}' at position {} (counted from 0): the network knows numbered tokens without text; "
          "expected numbers 0 to {} with spaces between them",
          printable(word), tokens.size(), vocabulary - 1);
    }
    tokens.push_back(*token);
  }
  return tokens;
}

std::vector<std::int32_t> tokens_of(const std::string& prompt, const Vocabulary& vocabulary) {
  const bool has_text = vocabulary.kind() != TokenKind::tokens;
  return has_text ? vocabulary.encode(prompt, "--prompt") : token_numbers(prompt, vocabulary.size());
}

/// Prints the text at once: a reader watches it grow.
void show(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

}  // namespace

ExitCode sample_command(const SampleArguments& arguments) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1)
    fail_input(errors::wrong_rank_count, "mylos sample runs on one rank; start it without mpirun");
  std::vector<std::int32_t> prompt;
  const auto open = open_model(arguments.checkpoint, [&](const CheckpointReader& reader) {
    OpenedNetwork opened{read_stored_network(reader, NetworkKinds::tokens)};
    prompt = tokens_of(arguments.prompt, opened.network.training.vocabulary.value());
    return opened;
  });
  const StoredNetwork& network = open->network();
  const Vocabulary& vocabulary = network.training.vocabulary.value();
  const bool has_text = vocabulary.kind() != TokenKind::tokens;
  TextGenerator generator(open->context(), network.options.model, vocabulary.size(), prompt, arguments.draw);
  show(has_text ? arguments.prompt : fmt::format("{}", fmt::join(prompt, " ")));
  for (std::int64_t i = 0; i < arguments.tokens; ++i) {
    const std::int32_t token = generator.next();
    show(has_text ? vocabulary.decode({&token, 1}) : fmt::format(" {}", token));
  }
  show("\n");
  return ExitCode::done;
}

}  // namespace mylos::app
