#include "mylos/interchange/source/source_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "mylos/base/version.hpp"
#include "mylos/checkpoint/file/user_block.hpp"

namespace mylos {
namespace {

/// "  0  temperature  300 to 1200"
void add_inputs(std::vector<std::string>& lines, const StoredNetwork& network) {
  const InputRange& range = network.training.normalizer.input_range;
  const std::vector<std::string>& names = network.samples.input_names;
  const auto count = static_cast<std::size_t>(network.chain.inputs());
  lines.push_back(fmt::format("Inputs: {}, in the units of the data{}", count,
                              range.known() ? ", with their range in the training samples:" : ""));
  if (!range.known() && names.empty()) return;
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = fmt::format("  {}", i);
    if (!names.empty()) line += fmt::format("  {}", names[i % names.size()]);
    if (range.known()) {
      const std::size_t column = i % range.minimum.size();
      line += fmt::format("  {:.7g} to {:.7g}", range.minimum[column], range.maximum[column]);
    }
    lines.push_back(std::move(line));
  }
}

void add_names(std::vector<std::string>& lines, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) lines.push_back(fmt::format("  {}  {}", i, names[i]));
}

void add_outputs(std::vector<std::string>& lines, const StoredNetwork& network) {
  const std::int64_t count = network.chain.outputs();
  switch (network.chain.prediction()) {
    case Prediction::classes:
      lines.push_back(fmt::format("Outputs: {}, the probabilities of the classes", count));
      return add_names(lines, network.samples.class_names);
    case Prediction::probabilities:
      lines.push_back(fmt::format("Outputs: {}, the probability of each target", count));
      return add_names(lines, network.samples.target_names);
    case Prediction::distributions:
      lines.push_back(
          fmt::format("Outputs: {}, in the units of the data: {} means, then {} standard deviations",
                      2 * count, count, count));
      return add_names(lines, network.samples.target_names);
    case Prediction::quantiles:
      lines.push_back(
          fmt::format("Outputs: {}, in the units of the data: {} quantiles at each of the levels {}",
                      count * static_cast<std::int64_t>(network.chain.quantiles().size()), count,
                      fmt::join(network.chain.quantiles(), ", ")));
      return add_names(lines, network.samples.target_names);
    case Prediction::numbers:
      break;
  }
  lines.push_back(fmt::format("Outputs: {}, in the units of the data", count));
  add_names(lines, network.samples.target_names);
}

}  // namespace

std::vector<std::string> source_description(const CheckpointReader& checkpoint, const StoredNetwork& network,
                                            const SourceOptions& options) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: a trained network as source, written by `mylos export` {}", options.name,
                              code_version()));
  lines.emplace_back();
  lines.push_back(
      fmt::format("Run: {}, trained with {}", network.options.run.name, checkpoint.header().code_version));
  lines.push_back(fmt::format(
      "Checkpoint: {}, step {}, {}", std::filesystem::path(network.path).filename().string(), network.step,
      options.weights == StoredWeights::average ? "average of the weights" : "current weights"));
  lines.push_back(fmt::format("Digest: {}", contents_digest(checkpoint.path())));
  lines.push_back(fmt::format("Data: {}", network.training.identity));
  lines.push_back(fmt::format("Arithmetic: {}", options.is_double ? "double" : "float"));
  lines.emplace_back();
  add_inputs(lines, network);
  add_outputs(lines, network);
  return lines;
}

std::vector<std::string> source_deck(const CheckpointReader& checkpoint) {
  std::vector<std::string> lines{"The deck of the run:", ""};
  const std::string& deck = checkpoint.header().deck;
  for (std::size_t at = 0; at < deck.size();) {
    const std::size_t end = std::min(deck.find('\n', at), deck.size());
    lines.push_back(deck.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace mylos
