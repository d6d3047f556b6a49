#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"

namespace mylos {

void check_mesh(const Options& options, const GivenPlaces& given, const std::string& file_name) {
  const DeckMistakes mistakes(given, file_name);
  const std::vector<std::int64_t>& space = options.mesh.space;
  const std::vector<std::int64_t>& shape = options.data.shape;
  if (!space.empty() && !shape.empty() && space.size() + 1 != shape.size()) {
    mistakes.fail(
        errors::keys_conflict, {"mesh.space", "data.shape"},
        fmt::format("'mesh.space' has {} numbers, and the grid of 'data.shape' has {} axes; give one "
                    "number per axis",
                    space.size(), shape.size() - 1));
  }
  const bool is_split = std::any_of(space.begin(), space.end(), [](std::int64_t boxes) { return boxes > 1; });
  if (is_split && options.data.augment.any()) {
    mistakes.fail(
        errors::keys_conflict, {"mesh.space", "data.augment"},
        "'data.augment' moves the points of samples, which 'mesh.space' divides into boxes that stay on "
        "their ranks; leave one of them out");
  }
  if (is_split && options.run.reproducible) {
    mistakes.fail(errors::keys_conflict, {"mesh.space", "run.reproducible"},
                  "'run.reproducible' needs whole samples on every rank, because sums over points depend on "
                  "'mesh.space'; leave it out, or set reproducible = false");
  }
}

}  // namespace mylos
