#include "mylos/interchange/layer_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/interchange/tensor_names.hpp"

namespace mylos {
namespace {

constexpr std::size_t most_layers = 100'000;  // of a file; what a deck describes has fewer

/// The weights of a layer by their names in it.
struct Layer {
  std::string name;
  std::map<std::string, std::size_t> weights = {};  // "bias": index of the parameter or tensor
  std::optional<std::size_t> partner = {};
  bool is_transposed = false;
};

Layer& layer_named(std::vector<Layer>& layers, std::map<std::string, std::size_t>& places,
                   const std::string& name) {
  const auto [place, is_new] = places.emplace(name, layers.size());
  if (is_new) layers.push_back({name});
  return layers[place->second];
}

class LayerMatcher {
 public:
  LayerMatcher(const std::vector<OwnWeight>& ours, const std::vector<std::size_t>& own,
               const TheirTensors& theirs, const std::vector<std::size_t>& their)
      : ours_(ours), theirs_(theirs) {
    std::map<std::string, std::size_t> places;
    for (const std::size_t i : own) layer_named(own_, places, ours[i].layer()).weights[ours[i].name()] = i;
    places.clear();
    for (const std::size_t i : their) {
      const TensorNameParts parts = parts_of_name(theirs.tensors[i].name);
      layer_named(their_, places, parts.layer).weights[parts.name] = i;
    }
    if (their_.size() > most_layers) {
      fail_input(ErrorId::model_mismatch, "{}: has {} layers, and the deck's network {}", theirs.file,
                 their_.size(), own_.size());
    }
    put_into_order();
  }

  [[nodiscard]] std::vector<OrderMatch> matches() {
    for (const bool may_transpose : {false, true}) {
      for (Layer& layer : own_) find_partner(layer, may_transpose);
    }
    refuse_open_order();
    refuse_open_transposition();
    std::vector<OrderMatch> found;
    for (const Layer& layer : own_) {
      if (!layer.partner) continue;
      for (const auto& [name, own] : layer.weights) {
        const std::size_t their = their_[*layer.partner].weights.at(name);
        found.push_back({own, their, *form(own, their, layer.is_transposed)});
      }
    }
    return found;
  }

 private:
  void put_into_order() {
    is_known_ = theirs_.order == TensorOrder::network;
    const bool is_fno = std::any_of(theirs_.tensors.begin(), theirs_.tensors.end(),
                                    [](const TheirTensor& tensor) { return is_of_fno(tensor.name); });
    if (!is_known_) {
      std::stable_sort(their_.begin(), their_.end(),
                       [](const Layer& a, const Layer& b) { return is_before_by_number(a.name, b.name); });
    }
    if (!is_fno) return;
    is_known_ = true;
    std::stable_sort(their_.begin(), their_.end(), [](const Layer& a, const Layer& b) {
      return place_in_fno(a.name) < place_in_fno(b.name);
    });
  }

  [[nodiscard]] const WeightForm* form(std::size_t own, std::size_t their, bool may_transpose) const {
    return form_of(ours_[own], theirs_.tensors[their].shape, FormKind::usual, may_transpose);
  }

  [[nodiscard]] bool fits(const Layer& own, const Layer& their, bool may_transpose) const {
    if (own.weights.size() != their.weights.size()) return false;
    return std::all_of(own.weights.begin(), own.weights.end(), [&](const auto& weight) {
      const auto there = their.weights.find(weight.first);
      return there != their.weights.end() && form(weight.second, there->second, may_transpose) != nullptr;
    });
  }

  void find_partner(Layer& own, bool may_transpose) {
    if (own.partner) return;
    for (std::size_t i = 0; i < their_.size(); ++i) {
      if (their_[i].partner || !fits(own, their_[i], may_transpose)) continue;
      own.partner = i;
      own.is_transposed = may_transpose;
      their_[i].partner = static_cast<std::size_t>(&own - own_.data());
      return;
    }
  }

  /// "weight [3, 4], bias [4]": layers of the file with equal shapes are told apart by their order alone.
  [[nodiscard]] std::string shapes_of(const Layer& their) const {
    std::string text;
    for (const auto& [name, tensor] : their.weights)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape_text(theirs_.tensors[tensor].shape));
    return text;
  }

  void refuse_open_order() const {
    if (is_known_) return;
    std::map<std::string, const Layer*> first;  // of each shape
    for (const Layer& their : their_) {
      if (!their.partner) continue;
      const auto [known, is_new] = first.emplace(shapes_of(their), &their);
      if (is_new || pattern_of_name(known->second->name) == pattern_of_name(their.name)) continue;
      fail_input(ErrorId::missing_argument,
                 "{}: the layers '{}' and '{}' have the same shapes ({}), and the file's tensors are sorted "
                 "by name, "
                 "so that the order of the network is lost. Give --map FILE with lines TENSOR PARAMETER, or "
                 "write the "
                 "file with its order: save_file(state, FILE, {{\"mylos.order\": \"\\n\".join(state)}})",
                 theirs_.file, printable(known->second->name), printable(their.name), known->first);
    }
  }

  /// Two layers that would also fit if both were transposed and exchanged, which their order suggests.
  void refuse_open_transposition() const {
    for (std::size_t a = 0; a < own_.size(); ++a) {
      for (std::size_t b = a + 1; b < own_.size(); ++b) {
        const Layer& first = own_[a];
        const Layer& second = own_[b];
        if (!first.partner || !second.partner || *first.partner < *second.partner) continue;
        const bool may_be_exchanged =
            fits(first, their_[*second.partner], true) && fits(second, their_[*first.partner], true);
        if (!may_be_exchanged || shapes_of(their_[*first.partner]) == shapes_of(their_[*second.partner]))
          continue;
        fail_input(ErrorId::missing_argument,
                   "{}: the layers '{}' and '{}' fit {} and {}, and also each the other when they are "
                   "transposed. Give --map FILE with lines TENSOR PARAMETER (and the word transposed)",
                   theirs_.file, printable(their_[*first.partner].name),
                   printable(their_[*second.partner].name), first.name, second.name);
      }
    }
  }

  const std::vector<OwnWeight>& ours_;
  const TheirTensors& theirs_;
  std::vector<Layer> own_;
  std::vector<Layer> their_;  // in the order of the network, as far as it is known
  bool is_known_ = true;
};

}  // namespace

std::vector<OrderMatch> match_layers(const std::vector<OwnWeight>& ours, const std::vector<std::size_t>& own,
                                     const TheirTensors& theirs, const std::vector<std::size_t>& their) {
  return LayerMatcher(ours, own, theirs, their).matches();
}

}  // namespace mylos
