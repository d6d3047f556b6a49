#include "mylos/train/evaluation/measures/measures_of_parts.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/runs.hpp"

namespace mylos {
namespace {

void require_same_points(const Options& options, const Chain& chain) {
  std::vector<std::int64_t> extents = options.model.shape;
  if (extents.empty() || chain.grids.empty()) return;
  extents.pop_back();
  std::vector<std::int64_t> outputs;
  const GridShape& grid = chain.grids.back();
  const std::size_t lacking = grid.extent.size() - extents.size();
  for (std::size_t i = 0; i < extents.size(); ++i)
    outputs.push_back(options.model.part.whole_extent(lacking + i, grid.extent[lacking + i]));
  if (outputs == extents) return;
  fail_input(
      errors::keys_conflict,
      "mesh.space = [{}]: the network's outputs lie on a grid of [{}], its samples on one of [{}]; boxes "
      "need targets on the points of the inputs",
      fmt::join(options.mesh.space, ", "), fmt::join(outputs, ", "), fmt::join(extents, ", "));
}

}  // namespace

const char* why_not_of_boxes(Measure measure) {
  switch (measure) {
    case Measure::crps:
    case Measure::r2:
      return "";
    case Measure::relative_l2:
    case Measure::relative_h1:
      return "its norms are of whole samples";
    case Measure::top5:
    case Measure::confusion:
      return "classes are of whole samples";
  }
  return "it is of whole samples";
}

bool divides_samples(const Options& options) {
  return std::ranges::any_of(options.mesh.space, [](std::int64_t boxes) { return boxes > 1; });
}

void require_measures_of_parts(const Options& options, const Chain& chain, const Places& places) {
  if (!divides_samples(options)) return;
  const std::string place = place_of(places, {"run.metrics", "mesh.space"});
  const auto refuse = [&](std::string_view metric, const char* why) {
    fail_input(
        errors::not_measured,
        "{}run.metrics: \"{}\" is not measured of samples that mesh.space divides: {}; leave it out, or "
        "measure it after the run with `mylos eval`",
        place, metric, why);
  };
  if (options.run.rollout_steps > 0)
    refuse(fmt::format("rollout{}", options.run.rollout_steps), "its states are whole samples");
  const bool is_vector = chain.head != nullptr && chain.outputs() == options.model.outputs;
  if (is_vector) return;  // every rank has it whole
  for (const Measure measure : options.run.metrics)
    if (const char* const why = why_not_of_boxes(measure); *why != 0) refuse(name_of(measure), why);
  require_same_points(options, chain);
}

}  // namespace mylos
