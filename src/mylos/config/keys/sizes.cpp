#include "mylos/config/keys/sizes.hpp"

#include "mylos/config/deck.hpp"

namespace mylos {

void take_sizes(Options& options, const ModelOptions& known) {
  ModelOptions& model = options.model;
  if (model.inputs == 0) model.inputs = known.inputs;
  if (model.outputs == 0) model.outputs = known.outputs;
  if (model.vocabulary == 0) model.vocabulary = known.vocabulary;
  if (model.shape.empty()) model.shape = known.shape;
  if (model.type == ModelType::chain && options.data.shape.empty()) options.data.shape = model.shape;
}

std::string with_sizes(const std::string& resolved, const ModelOptions& known) {
  Options options = read_stored_deck(resolved, "the deck").options;
  take_sizes(options, known);
  return resolve(options);
}

}  // namespace mylos
