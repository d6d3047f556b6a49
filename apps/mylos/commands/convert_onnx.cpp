#include "commands/convert_onnx.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <filesystem>

#include "commands/checkpoint_output.hpp"
#include "launch/runtime.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/deck/deck_without_length.hpp"
#include "mylos/interchange/gpt_weights.hpp"
#include "mylos/interchange/onnx/onnx_file.hpp"
#include "mylos/interchange/onnx/read_onnx.hpp"
#include "mylos/interchange/onnx_import/gpt_import.hpp"
#include "mylos/interchange/onnx_import/imported_deck.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/run/initial_checkpoint.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

void require_options_of_onnx(const ConvertArguments& arguments) {
  const auto refuse = [](const char* option) {
    fail_input(errors::arguments_conflict,
               "{} is not for the conversion of an ONNX file, which states its network; leave it out",
               option);
  };
  if (!arguments.map.empty()) refuse("--map");
  if (arguments.heads != 0) refuse("--heads");
  if (arguments.pad_vocabulary != 1) refuse("--pad-vocabulary");
  if (!arguments.names.empty()) refuse("--names");
  if (!arguments.type.empty()) refuse("--type");
}

/// A deck that someone wrote is not replaced.
void require_deck_output(const std::string& path) {
  std::error_code failure;
  if (!fs::exists(path, failure)) return;
  if (fs::is_regular_file(path, failure) && is_imported_deck(file_text(path, 64))) return;
  fail_input(errors::already_exists,
             "{}: exists, and the deck of the network would replace it; name another output, or move it",
             printable(path));
}

/// The weights, as the checkpoint's writer asks for them: each is there, and of the right size.
std::vector<float> weights_of(const ImportedNetwork& network, const std::string& path) {
  const auto found = network.weights.find(path);
  if (found == network.weights.end())
    fail_run(errors::internal, "the imported network has no weights '{}'", path);
  return found->second;
}

ExitCode convert_gpt(ForeignGraph graph, const std::string& input, const ConvertArguments& arguments,
                     const std::string& deck_path) {
  ImportedGpt gpt = import_gpt(std::move(graph));
  GptWeights weights{.model = gpt.model, .vocabulary = gpt.vocabulary, .parameters = std::move(gpt.weights)};
  const std::vector<GptParameter> parameters = gpt_parameters(weights.model);
  std::int64_t count = 0;
  for (const GptParameter& parameter : parameters) {
    const std::int64_t size = parameter.spec.rows * parameter.spec.columns;
    const auto found = weights.parameters.find(parameter.path);
    if (found == weights.parameters.end() || static_cast<std::int64_t>(found->second.size()) != size)
      fail_input(errors::damaged, "{}: its weights '{}' have not the {} numbers of a GPT of this shape",
                 input, parameter.path, size);
    count += size;
  }
  ImportedNetwork described;
  described.model = weights.model;
  const std::string text =
      imported_deck(imported_options(described, arguments.output), input, arguments.output, deck_path);
  write_checkpoint_weights(ranks_of_start(), weights, arguments.output);
  publish_text(deck_path, text);
  const Output output = standard_output(0);
  output.line(fmt::format("{}: deck of its {} blocks", deck_path, weights.model.layers));
  output.line(fmt::format("{}: checkpoint of a GPT, {} parameters, with weights of {}", arguments.output,
                          count, input));
  return ExitCode::done;
}

}  // namespace

ExitCode convert_onnx(const std::string& input, const ConvertArguments& arguments) {
  require_options_of_onnx(arguments);
  require_onnx();
  require_checkpoint_output(arguments.output, "net.h5");
  const std::string deck_path = fs::path(arguments.output).replace_extension(".toml").string();
  require_deck_output(deck_path);
  ForeignGraph graph = read_onnx(input);
  if (reads_tokens(graph)) return convert_gpt(std::move(graph), input, arguments, deck_path);
  const ImportedNetwork network = import_onnx(std::move(graph));
  const std::string text =
      imported_deck(imported_options(network, arguments.output), input, arguments.output, deck_path);
  const Deck deck = read_deck_without_length(text, deck_path, {});
  const Output output = standard_output(0);
  const OtherWeights source{.prepare = [](const Options&, const Chain&) {},
                            .read = [&](const std::string& path) { return weights_of(network, path); },
                            .normalizer = network.normalizer};
  const KokkosRuntime kokkos(deck.options.run.threads);
  const std::int64_t parameters =
      write_initial_checkpoint(deck, MPI_COMM_WORLD, arguments.output, output, &source);
  publish_text(deck_path, text);
  for (const std::string& note : network.notes) output.line(note);
  output.line(fmt::format("{}: deck of its {} layers", deck_path, network.model.chain.size()));
  output.line(fmt::format("{}: checkpoint of step 0, {} parameters, with weights of {}", arguments.output,
                          parameters, input));
  return ExitCode::done;
}

}  // namespace mylos::app
