#include "mylos/interchange/onnx_import/imported_deck.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "mylos/base/errors/text.hpp"
#include "mylos/config/deck.hpp"

namespace mylos {
namespace {

constexpr const char* deck_beginning = "# The network of ";

/// Returns whether the short deck has this line of the resolved one.
bool is_of_network(const std::string& section, const std::string& line) {
  if (section == "[run]") return line.starts_with("name = ");
  if (section == "[data]") return line.starts_with("shape = ");
  if (section == "[precision]") return line.starts_with("compute = ");
  return section == "[model]" || section == "[[model.layers]]";
}

}  // namespace

Options imported_options(const ImportedNetwork& network, const std::string& checkpoint) {
  Options options;
  constexpr std::size_t longest_name = 100;
  if (std::string name = std::filesystem::path(checkpoint).stem().string(); name.size() <= longest_name)
    options.run.name = std::move(name);
  options.model = network.model;
  options.data.shape = network.model.shape;
  options.precision.compute = DType::fp32;
  return options;
}

std::string imported_deck(const Options& options, const std::string& source, const std::string& checkpoint,
                          const std::string& deck) {
  std::string text = fmt::format(
      "{}{}, whose weights `mylos convert` wrote to {}. To train it further:\n"
      "#   mylos train {} run.initial={} data.train=SAMPLES.h5 run.epochs=10\n",
      deck_beginning, printable(source, 200), printable(checkpoint, 200), printable(deck, 200),
      printable(checkpoint, 200));
  std::istringstream lines(resolve(options));
  std::string section;
  bool is_written = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) {
      section = line;
      is_written = false;
      if (section != "[model]" && section != "[[model.layers]]") continue;
    } else if (line.empty() || !is_of_network(section, line)) {
      continue;
    }
    if (!is_written) text += line == section ? "\n" : fmt::format("\n{}\n", section);
    is_written = true;
    text += line + "\n";
  }
  return text;
}

bool is_imported_deck(const std::string& text) {
  return text.starts_with(deck_beginning);
}

}  // namespace mylos
