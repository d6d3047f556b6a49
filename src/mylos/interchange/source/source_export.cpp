#include "mylos/interchange/source/source_export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/inference/source/source_network_of.hpp"
#include "mylos/inference/stored/float_weights.hpp"
#include "mylos/interchange/source/routines/c_routines.hpp"
#include "mylos/interchange/source/routines/fortran_routines.hpp"
#include "mylos/interchange/source/source_description.hpp"
#include "mylos/interchange/source/source_weights.hpp"
#include "mylos/model/source/source_names.hpp"

namespace mylos {
namespace {

/// Returns the names that the files have besides those of constants, in lower case.
std::set<std::string> reserved_names(const std::string& network) {
  std::set<std::string> names{lower_case(network), "forward",     "forward_columns",
                              "forward_tape",      "tangent",     "pullback",
                              "team_forward",      "rk",          "dk",
                              "crc32_of",          "weights",     "tile_of_columns",
                              "load_weights",      "weight_count"};
  for (const auto& table : {c_routines(false), fortran_routines()}) {
    for (const SourceRoutine& routine : table) names.emplace(routine.name);
  }
  for (const char* ending : {"real", "inputs", "outputs", "weights", "load", "evaluate", "evaluate_block",
                             "evaluate_rows", "jvp", "vjp", "jacobian"})
    names.insert(fmt::format("{}_{}", lower_case(network), ending));
  return names;
}

void require_width(const SourceNetwork& network, const std::string& path) {
  for (std::size_t value = 0; value <= network.operations.size(); ++value) {
    if (network.width(value) <= max_source_width) continue;
    fail_input(errors::too_large,
               "{}: the network has a vector of {} numbers, and source is written for at most {}; export a "
               "model file, MODEL.h5, or MODEL.onnx",
               path, network.width(value), max_source_width);
  }
}

}  // namespace

void require_source_name(const std::string& name, SourceLanguage language) {
  if (is_source_name(name)) {
    // A Fortran module's name is known in all of it.
    if (language != SourceLanguage::fortran || !reserved_names("").contains(lower_case(name))) return;
    fail_input(
        errors::bad_argument,
        "'{}' cannot name a network in Fortran: the module has a routine or a constant of that name; give "
        "another by --name, '{}_net'",
        printable(name), printable(name));
  }
  fail_input(
      errors::bad_argument,
      "'{}' cannot name a network in source: give --name a letter, then letters, digits and "
      "underscores, at most 40 characters, and no keyword or mathematical function of C, C++ or Fortran",
      printable(name));
}

ExportedSource export_source(const CheckpointReader& checkpoint, const SourceOptions& options) {
  require_source_name(options.name, options.language);
  const StoredNetwork network = read_stored_network(checkpoint, NetworkKinds::numbers_and_tokens);
  const FloatWeights weights(checkpoint, network.chain, options.weights == StoredWeights::average);
  if (weights.count() > max_file_weights) {
    fail_input(
        errors::too_large,
        "{}: the network has {} weights, and source holds at most {}; export a model file, MODEL.h5, or "
        "MODEL.onnx",
        network.path, weights.count(), max_file_weights);
  }
  const SourceNetwork source =
      source_network_of(network, [&](const std::string& path) { return weights.read(path); },
                        {"be written as source", "export a model file, MODEL.h5, or MODEL.onnx", true});
  require_width(source, network.path);
  SourceFile file;
  file.name = options.name;
  file.is_double = options.is_double;
  file.derivative = options.derivative;
  file.plan = plan_source(source, reserved_names(options.name), options.derivative != SourceDerivative::none);
  if (file.plan.tape > max_source_tape) {
    fail_input(
        errors::too_large,
        "{}: derivatives hold {} numbers between layers on the stack, and source does so for at most {}; "
        "export without --derivative",
        network.path, file.plan.tape, max_source_tape);
  }
  std::string in_file;
  if (weights.count() > max_source_numbers) in_file = move_weights_to_file(file);
  file.description = source_description(checkpoint, network, options);
  file.deck = source_deck(checkpoint);
  ExportedSource exported{"", std::move(in_file), file.plan.inputs, file.plan.outputs, file.plan.numbers()};
  switch (options.language) {
    case SourceLanguage::c:
      exported.text = c_source(file);
      break;
    case SourceLanguage::cpp:
      exported.text = cpp_source(file);
      break;
    case SourceLanguage::fortran:
      exported.text = fortran_source(file);
      break;
  }
  return exported;
}

}  // namespace mylos
