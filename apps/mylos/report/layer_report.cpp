#include "run_parts.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::app {
namespace {

/// Names and types do not depend on the data.
void complete_shapes(ModelOptions& model) {
  if (model.inputs == 0) {
    model.inputs = 1;
    for (const std::int64_t extent : model.shape) model.inputs *= extent;
  }
  const bool says_outputs = model.type == ModelType::chain && !model.chain.empty() &&
                            !takes_outputs_of_data(model.chain, model.chain.size() - 1);
  if (model.outputs == 0 && !says_outputs) model.outputs = 1;
  if (model.vocabulary == 0) model.vocabulary = 1;
  for (LossTerm& term : model.terms) term.variables.clear();  // the data have the names
  model.nonnegative.clear();                                  // likewise
}

std::string unreadable_deck(std::string_view why) {
  return fmt::format("types per layer: this version of Mylos cannot read the run's deck: {}",
                     printable(why, 500));
}

}  // namespace

ordered_json layers_of(const std::string& resolved, ordered_json& notes) {
  ordered_json layers = ordered_json::array();
  try {
    Options options = read_stored_deck(resolved, "resolved.toml").options;
    if (options.model.type == ModelType::chain && options.model.shape.empty()) {
      notes.push_back("types per layer: only the data's file says on what grid the network works");
      return nullptr;
    }
    complete_shapes(options.model);
    const Chain chain = make_chain(options.model, options.precision, options.run.seed, false);
    for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
      const Signature& signature = chain.signature(stage);
      if (signature.kind == "loss") continue;  // its operands have the last layer's type, its sums are float
      layers.push_back({{"name", signature.name},
                        {"kind", std::string(signature.kind)},
                        {"compute", std::string(name_of(signature.compute_type))},
                        {"input", std::string(name_of(signature.input_type))},
                        {"output", std::string(name_of(signature.output_type))}});
    }
  } catch (const Error& error) {
    notes.push_back(unreadable_deck(error.message()));
    return nullptr;
  } catch (const std::exception& error) {
    notes.push_back(unreadable_deck(error.what()));
    return nullptr;
  }
  return layers;
}

}  // namespace mylos::app
