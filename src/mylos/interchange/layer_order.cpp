#include "mylos/interchange/layer_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/interchange/tensor_names.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_layers_of_file = 100'000;  // of a file; what a deck describes has fewer

/// The weights of a layer by their names in it.
struct Layer {
  std::string name;
  std::map<std::string, std::size_t> weights = {};  // "bias": index of the parameter or tensor
  std::optional<std::size_t> partner = {};
  bool is_transposed = false;
  bool follows = false;  // a normalisation that found its partner together with the layer before it
};

Layer& layer_named(std::vector<Layer>& layers, std::map<std::string, std::size_t>& indices,
                   const std::string& name) {
  const auto [entry, is_new] = indices.emplace(name, layers.size());
  if (is_new) layers.push_back({name});
  return layers[entry->second];
}

class LayerMatcher {
 public:
  LayerMatcher(const std::vector<OwnWeight>& ours, const std::vector<std::size_t>& own,
               const TheirTensors& theirs, const std::vector<std::size_t>& their)
      : ours_(ours), theirs_(theirs) {
    std::map<std::string, std::size_t> indices;
    for (const std::size_t i : own) layer_named(own_, indices, ours[i].layer()).weights[ours[i].name()] = i;
    indices.clear();
    for (const std::size_t i : their) {
      const TensorNameParts parts = parts_of_name(theirs.tensors[i].name);
      layer_named(their_, indices, parts.layer).weights[parts.name] = i;
    }
    if (their_.size() > max_layers_of_file) {
      fail_input(errors::model_mismatch, "{}: has {} layers, and the deck's network {}", theirs.file,
                 their_.size(), own_.size());
    }
    put_into_order();
  }

  [[nodiscard]] std::vector<OrderMatch> matches() {
    const bool has_groups = is_known_ && find_partners_of_groups();
    find_partners();
    if (has_groups && open_pair()) {
      forget_partners();
      find_partners();
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
      return position_in_fno(a.name) < position_in_fno(b.name);
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

  void forget_partners() {
    for (std::vector<Layer>* layers : {&own_, &their_}) {
      for (Layer& layer : *layers) {
        layer.partner.reset();
        layer.follows = false;
      }
    }
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
        forget_partners();
        return false;
      }
      pair(own, *found, false);
      pair(own + 1, *found + 1, false);
      own_[own + 1].follows = true;
    }
    return true;
  }

  [[nodiscard]] const Layer& partner_of(std::size_t own) const { return their_[own_[own].partner.value()]; }

  /// Returns our layers that have partners of the same shapes, in order: by the shapes. A normalisation that
  /// follows its layer is not among them.
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> layers_by_shapes() const {
    std::map<std::string, std::vector<std::size_t>> alike;
    for (std::size_t own = 0; own < own_.size(); ++own) {
      if (!own_[own].partner || own_[own].follows) continue;
      std::string shapes = shapes_of(partner_of(own));
      if (own + 1 < own_.size() && own_[own + 1].follows) shapes += "; " + shapes_of(partner_of(own + 1));
      alike[shapes].push_back(own);
    }
    return alike;
  }

  /// Returns whether the names say that the first partner is before the second: they differ in numbers alone.
  [[nodiscard]] bool ascend_by_number(std::size_t first, std::size_t second) const {
    const std::string& a = partner_of(first).name;
    const std::string& b = partner_of(second).name;
    return pattern_of_name(a) == pattern_of_name(b) && is_before_by_number(a, b);
  }

  /// Returns whether other layers say so: of the two parts of the network in which the names differ ("downs",
  /// "ups"), all layers that are sure are before all of the other part.
  [[nodiscard]] bool ascend_by_parts(std::size_t first, std::size_t second,
                                     const std::vector<bool>& sure) const {
    const auto [part, other] = parts_that_differ(partner_of(first).name, partner_of(second).name);
    std::optional<std::size_t> last, next;
    for (std::size_t own = 0; own < own_.size(); ++own) {
      if (!sure[own]) continue;
      const std::string& name = partner_of(own).name;
      if (is_in_part(name, part)) last = own;
      if (is_in_part(name, other) && !next) next = own;
    }
    return last && next && *last < *next;
  }

  struct Doubt {
    std::size_t first, second;  // of ours: only their order in the file distinguishes their partners
  };

  /// Returns a doubt for each of our layers whose partner is not sure. A partner is sure if no other has its
  /// shapes, or if numbers or parts of the network order those that have them.
  [[nodiscard]] std::vector<std::optional<Doubt>> doubts() const {
    const auto alike = layers_by_shapes();
    std::vector<bool> sure(own_.size());
    std::vector<std::optional<Doubt>> found(own_.size());
    for (const bool by_parts : {false, true}) {
      std::vector<bool> now = sure;
      for (const auto& [shapes, layers] : alike) {
        std::optional<Doubt> doubt;
        for (std::size_t i = 0; i + 1 < layers.size() && !doubt; ++i) {
          const bool is_ordered = ascend_by_number(layers[i], layers[i + 1]) ||
                                  (by_parts && ascend_by_parts(layers[i], layers[i + 1], sure));
          if (!is_ordered) doubt = Doubt{layers[i], layers[i + 1]};
        }
        for (const std::size_t own : layers) {
          now[own] = !doubt.has_value();
          found[own] = doubt;
        }
      }
      sure = std::move(now);
    }
    for (std::size_t own = 1; own < own_.size(); ++own) {
      if (own_[own].follows) found[own] = found[own - 1];
    }
    return found;
  }

  /// Returns a doubt that matters: if the order of the network is lost, any; else one about a layer whose
  /// partner is not in the order of another layer's.
  [[nodiscard]] std::optional<Doubt> open_pair() const {
    const std::vector<std::optional<Doubt>> open = doubts();
    for (std::size_t a = 0; a < own_.size(); ++a) {
      if (!own_[a].partner) continue;
      if (!is_known_ && open[a]) return open[a];
      for (std::size_t b = a + 1; b < own_.size(); ++b) {
        if (!own_[b].partner || *own_[a].partner < *own_[b].partner) continue;
        if (open[a]) return open[a];
        if (open[b]) return open[b];
      }
    }
    return std::nullopt;
  }

  void refuse_open_order() const {
    const std::optional<Doubt> open = open_pair();
    if (!open) return;
    const std::string problem =
        fmt::format("{}: the layers '{}' and '{}' have the same shapes ({}), and ", theirs_.file,
                    printable(partner_of(open->first).name), printable(partner_of(open->second).name),
                    shapes_of(partner_of(open->first)));
    if (is_known_) {
      fail_input(errors::missing_argument,
                 "{}the file's layers are not in the order of the deck's network, so that {} and {} could be "
                 "either. Give --map FILE with lines TENSOR PARAMETER",
                 problem, own_[open->first].name, own_[open->second].name);
    }
    fail_input(
        errors::missing_argument,
        "{}the file's tensors are sorted by name, so that the order of the network is lost. Give --map FILE "
        "with lines TENSOR PARAMETER, or write the file with its order: save_file(state, FILE, "
        "{{\"mylos.order\": \"\\n\".join(state)}})",
        problem);
  }

  /// "weight [3, 4], bias [4]": only order distinguishes layers of the file with equal shapes.
  [[nodiscard]] std::string shapes_of(const Layer& their) const {
    std::string text;
    for (const auto& [name, tensor] : their.weights)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", name, shape_text(theirs_.tensors[tensor].shape));
    return text;
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
        fail_input(errors::missing_argument,
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
