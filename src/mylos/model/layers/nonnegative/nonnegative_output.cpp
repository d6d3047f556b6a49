#include "mylos/model/layers/nonnegative/nonnegative_output.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/numbers/target_channels.hpp"
#include "mylos/model/layers/nonnegative/nonnegative_block.hpp"

namespace mylos {
namespace {

constexpr const char* nonnegative_layer = "nonnegative";

}  // namespace

void append_nonnegative(Chain& chain, const ModelOptions& model, const SampleShape& output) {
  if (model.nonnegative.empty()) return;
  if (outputs_per_target(model.loss) > 1) {
    fail_input(errors::keys_conflict,
               "model.nonnegative is of outputs that are the targets' values, and with model.loss = \"{}\" "
               "they have {} numbers for each; leave model.nonnegative out",
               name_of(model.loss), outputs_per_target(model.loss));
  }
  for (const auto& block : chain.blocks) {
    if (block->signature().name == nonnegative_layer) {
      fail_input(errors::duplicate_key,
                 "model.nonnegative makes a layer '{}', and the network has a layer of that name; rename it",
                 nonnegative_layer);
    }
  }
  NonnegativeOptions options;
  options.name = nonnegative_layer;
  options.width = output.grid.columns();
  options.channels = output.grid.channels;
  options.of =
      channels_of_targets("model.nonnegative", model.nonnegative, model.target_names, options.channels);
  std::sort(options.of.begin(), options.of.end());
  options.form = model.nonnegative_form;
  options.type = chain.blocks.back()->signature().output_type;
  chain.skips.resize(chain.blocks.size(), no_skip);
  chain.blocks.push_back(std::make_unique<NonnegativeBlock>(std::move(options)));
  chain.skips.push_back(no_skip);
}

}  // namespace mylos
