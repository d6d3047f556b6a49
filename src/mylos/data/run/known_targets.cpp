#include "mylos/data/run/known_targets.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/numbers/target_channels.hpp"
#include "mylos/model/losses/sum/term_text.hpp"

namespace mylos {
namespace {

void require_known(const std::string& what, const std::vector<std::string>& targets,
                   const ModelOptions& model, const std::string& place) {
  if (targets.empty()) return;
  try {
    const auto channels = static_cast<std::int64_t>(model.target_names.size());
    static_cast<void>(channels_of_targets(what, targets, model.target_names, channels));
  } catch (const Error& error) {
    throw error.with(fmt::format("{}{}", place, error.message()));
  }
}

}  // namespace

void require_known_targets(const ModelOptions& model, const Places& places) {
  for (std::size_t i = 0; i < model.terms.size(); ++i)
    require_known(text_of_term(i), model.terms[i].variables, model,
                  place_of(places, {fmt::format("model.terms.{}", i + 1), "model.terms"}));
  require_known("model.nonnegative", model.nonnegative, model, place_of(places, {"model.nonnegative"}));
}

}  // namespace mylos
