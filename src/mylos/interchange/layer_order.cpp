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
    const bool has_groups = is_known_ && find_partners_of_groups();
    find_partners();
    if (has_groups && open_pair()) {
      for (std::vector<Layer>* layers : {&own_, &their_}) {
        for (Layer& layer : *layers) layer.partner.reset();
      }
      find_partners();
    }
    refuse_lost_order();
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

  void pair(std::size_t own, std::size_t their, bool is_transposed) {
    own_[own].partner = their;
    own_[own].is_transposed = is_transposed;
    their_[their].partner = own;
  }

  void find_partners() {
    for (const bool may_transpose : {false, true}) {
      for (std::size_t own = 0; own < own_.size(); ++own) {
        for (std::size_t i = 0; i < their_.size() && !own_[own].partner; ++i) {
          if (!their_[i].partner && fits(own_[own], their_[i], may_transpose)) pair(own, i, may_transpose);
        }
      }
    }
  }

  template <class ShapeOf>
  static bool has_matrix(const Layer& layer, const ShapeOf& shape_of) {
    return std::any_of(layer.weights.begin(), layer.weights.end(), [&](const auto& weight) {
      const TensorShape& shape = shape_of(weight.second);
      return std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) > 1;
    });
  }

  /// Returns the layers with matrices that a normalisation follows: both have their partners together, so
  /// that the statistics of a shortcut are not those of the convolution beside it.
  template <class ShapeOf>
  static std::vector<std::size_t> groups_of(const std::vector<Layer>& layers, const ShapeOf& shape_of) {
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
      if (has_matrix(layers[i], shape_of) && !has_matrix(layers[i + 1], shape_of)) groups.push_back(i);
    }
    return groups;
  }

  /// Returns whether all groups have found partners; else no layer has one.
  bool find_partners_of_groups() {
    const std::vector<std::size_t> ours = groups_of(
        own_, [&](std::size_t weight) -> const TensorShape& { return ours_[weight].forms.front().shape; });
    const std::vector<std::size_t> theirs = groups_of(
        their_, [&](std::size_t tensor) -> const TensorShape& { return theirs_.tensors[tensor].shape; });
    if (ours.size() != theirs.size()) return false;
    for (const std::size_t own : ours) {
      const auto found = std::find_if(theirs.begin(), theirs.end(), [&](std::size_t i) {
        return !their_[i].partner && fits(own_[own], their_[i], false) &&
               fits(own_[own + 1], their_[i + 1], false);
      });
      if (found == theirs.end()) {
        for (std::vector<Layer>* layers : {&own_, &their_}) {
          for (Layer& layer : *layers) layer.partner.reset();
        }
        return false;
      }
      pair(own, *found, false);
      pair(own + 1, *found + 1, false);
    }
    return true;
  }

  /// Returns for each of our layers whether its partner is sure without the order of the other layers: no
  /// other has its shapes, or those that have them have names that differ in ascending numbers alone.
  [[nodiscard]] std::vector<bool> sure_partners() const {
    struct Alike {
      std::string last;  // name
      bool is_sure = true;
    };
    std::map<std::string, Alike> classes;
    for (const Layer& own : own_) {
      if (!own.partner) continue;
      const Layer& their = their_[*own.partner];
      const auto [known, is_new] = classes.try_emplace(shapes_of(their), Alike{their.name});
      if (is_new) continue;
      Alike& alike = known->second;
      alike.is_sure = alike.is_sure && pattern_of_name(alike.last) == pattern_of_name(their.name) &&
                      is_before_by_number(alike.last, their.name);
      alike.last = their.name;
    }
    std::vector<bool> sure;
    for (const Layer& own : own_)
      sure.push_back(!own.partner || classes.at(shapes_of(their_[*own.partner])).is_sure);
    return sure;
  }

  /// Returns two of our layers whose partners are in the other order, one of them by its place alone.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> open_pair() const {
    if (!is_known_) return std::nullopt;
    const std::vector<bool> sure = sure_partners();
    for (std::size_t a = 0; a < own_.size(); ++a) {
      for (std::size_t b = a + 1; b < own_.size(); ++b) {
        if (!own_[a].partner || !own_[b].partner || *own_[a].partner < *own_[b].partner) continue;
        if (!sure[a] || !sure[b]) return std::pair{a, b};
      }
    }
    return std::nullopt;
  }

  void refuse_open_order() const {
    const auto open = open_pair();
    if (!open) return;
    const Layer& first = their_[*own_[open->first].partner];
    const Layer& second = their_[*own_[open->second].partner];
    fail_input(
        ErrorId::missing_argument,
        "{}: the order of its layers is not that of the deck's network: '{}' ({}) would be {}, and '{}' "
        "before it ({}) would be {}, and other layers have the same shapes. Give --map FILE with lines "
        "TENSOR PARAMETER",
        theirs_.file, printable(first.name), shapes_of(first), own_[open->first].name, printable(second.name),
        shapes_of(second), own_[open->second].name);
  }

  /// "weight [3, 4], bias [4]": layers of the file with equal shapes are told apart by their order alone.
  [[nodiscard]] std::string shapes_of(const Layer& their) const {
    std::string text;
    for (const auto& [name, tensor] : their.weights)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape_text(theirs_.tensors[tensor].shape));
    return text;
  }

  void refuse_lost_order() const {
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
