// Edges by the names of axes: the axes of [data.arrays] say which they are, so that the resolved deck lists
// one for each axis.
#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/schema/checks.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"

namespace mylos {
namespace {

class EdgesByAxis : DeckMistakes {
 public:
  EdgesByAxis(const ArrayOptions& arrays, const GivenPlaces& given, const std::string& file_name)
      : DeckMistakes(given, file_name), given_(given) {
    if (arrays.given() && !arrays.points_are_samples) axes_ = arrays.axes_for(arrays.inputs.front());
    std::erase_if(axes_, [](const std::string& axis) { return !is_grid_axis(axis); });
  }

  /// Replaces names. `place`: the key, or the table of the layer.
  void resolve(Edges& edges, const std::string& place, const std::string& owner) const {
    if (edges.by_name.empty()) return;
    if (axes_.empty()) {
      refuse(place, errors::keys_conflict,
             fmt::format("'edges'{} names axes, and the deck gives the grid's axes no names "
                         "('data.arrays.axes'); list one for each axis: [\"zero\", \"periodic\"]",
                         owner));
    }
    std::vector<Padding> by_axis(axes_.size(), Padding::zero);
    for (const auto& [name, padding] : edges.by_name) {
      const auto axis = std::find(axes_.begin(), axes_.end(), name);
      if (axis == axes_.end()) {
        refuse(place, errors::bad_value,
               fmt::format("'edges'{} has the axis \"{}\"; the axes of the grid are {}", owner,
                           printable(name), fmt::join(axes_, ", ")));
      }
      by_axis[static_cast<std::size_t>(axis - axes_.begin())] = padding;
    }
    edges = Edges(std::move(by_axis));
  }

 private:
  [[noreturn]] void refuse(const std::string& place, ErrorId id, const std::string& message) const {
    fail(id, {given_.contains(place) ? place.c_str() : "model.layers"}, message);
  }

  const GivenPlaces& given_;
  std::vector<std::string> axes_;  // of the grid, in the order of the samples'
};

}  // namespace

void resolve_edges(Options& options, const GivenPlaces& given, const std::string& file_name) {
  const EdgesByAxis axes(options.data.arrays, given, file_name);
  ModelOptions& model = options.model;
  axes.resolve(model.edges, "model.edges", " of [model]");
  for (std::size_t i = 0; i < model.chain.size(); ++i) {
    const std::string owner = fmt::format(" of layer '{}'", printable(layer_name(model.chain, i)));
    const std::string place = fmt::format("model.layers.{}", i + 1);
    const auto resolve = [&](auto& kind) {
      if constexpr (requires { kind.edges; }) axes.resolve(kind.edges, place, owner);
    };
    std::visit(resolve, model.chain[i].kind);
  }
}

}  // namespace mylos
