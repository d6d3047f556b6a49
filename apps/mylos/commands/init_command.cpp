// mylos init DECK OUT.h5 [key=value ...] [--from FILE]
#include <fmt/format.h>
#include <mpi.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/checkpoint_output.hpp"
#include "launch/runtime.hpp"
#include "launch/shared_deck.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/run/initial_checkpoint.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

/// Before memory is taken and weights are drawn for it.
void require_possible_output(const InitArguments& arguments, const Options& options) {
  const std::string& output = arguments.output;
  if (output.ends_with(".safetensors")) {
    fail_input(errors::bad_argument,
               "{}: `mylos init` writes a checkpoint; name it FILE.h5, and let `mylos convert` make {} of it",
               printable(output), printable(output));
  }
  std::error_code failure;
  for (const std::string& input : {arguments.deck, options.run.initial}) {
    if (!input.empty() && fs::exists(input, failure)) require_other_file(input, output);
  }
  require_other_than_data(options.data, output);
  require_checkpoint_output(output);
}

}  // namespace

ExitCode init_command(const InitArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.from.empty()) overrides.push_back("run.initial=" + arguments.from);
  Deck deck;
  Output output;
  {
    RankGroup& ranks = ranks_of_start();
    deck = read_shared_deck(ranks, arguments.deck, overrides, read_deck_without_length);
    output = standard_output(ranks.rank());
    run_on_first(ranks, [&] { require_possible_output(arguments, deck.options); });
  }
  const KokkosRuntime kokkos(deck.options.run.threads);
  const std::int64_t parameters = write_initial_checkpoint(deck, MPI_COMM_WORLD, arguments.output, output);
  const std::string& from = deck.options.run.initial;
  output.line(fmt::format("{}: checkpoint of step 0, {} parameters, {}", arguments.output, parameters,
                          from.empty() ? fmt::format("drawn by run.seed = {}", deck.options.run.seed)
                                       : fmt::format("with weights of {}", from)));
  return ExitCode::done;
}

}  // namespace mylos::app
