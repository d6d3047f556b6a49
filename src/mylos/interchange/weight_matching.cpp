#include "mylos/interchange/weight_matching.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/interchange/gpt2_names.hpp"
#include "mylos/interchange/tensor_names.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_listed = 12;

/// "a [2, 3], b [4] and 7 more"
std::string listed(const std::vector<std::string>& described) {
  const std::size_t shown = std::min(max_listed, described.size());
  const std::vector<std::string> first(described.begin(), described.begin() + static_cast<long>(shown));
  const std::string more =
      described.size() > shown ? fmt::format(" and {} more", described.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), more);
}

class WeightMatcher {
 public:
  WeightMatcher(const std::vector<OwnWeight>& ours, const TheirTensors& theirs, const ModelOptions& model)
      : ours_(ours), theirs_(theirs), model_(model), matched_(ours.size()), used_(theirs.tensors.size()) {
    for (std::size_t i = 0; i < ours.size(); ++i) ours_by_path_.emplace(ours[i].path, i);
    for (std::size_t i = 0; i < used_.size(); ++i) theirs_by_name_.emplace(theirs.tensors[i].name, i);
  }

  void match_by_map(const std::vector<MapLine>& map) {
    for (const MapLine& line : map) {
      const auto tensor = theirs_by_name_.find(line.theirs);
      if (tensor == theirs_by_name_.end()) {
        fail_input(errors::unknown_name, "{}: {} has no tensor '{}'; nearest are {}", line.where,
                   theirs_.file, printable(line.theirs), printable(nearest_tensors(line.theirs), 200));
      }
      if (line.ours.empty()) {
        leave_out(tensor->second, "not used, by the map");
        continue;
      }
      const auto parameter = ours_by_path_.find(line.ours);
      if (parameter == ours_by_path_.end()) {
        fail_input(errors::unknown_name, "{}: the deck's network has no parameter '{}'; nearest are {}",
                   line.where, printable(line.ours), nearest_names(line.ours, own_paths()));
      }
      match(parameter->second, tensor->second, line.kind, MatchedBy::map, line.where + ": ");
    }
  }

  void leave_out_counters() {
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i] && is_counter(theirs_.tensors[i].name)) leave_out(i, "not used: counts batches");
    }
  }

  /// Hugging Face's linear layers are [inputs, outputs], those of other programs [outputs, inputs]: the shape
  /// of one that is not square decides.
  void match_by_gpt2_names() {
    if (model_.type != ModelType::gpt) return;
    const auto found = std::find_if(theirs_by_name_.begin(), theirs_by_name_.end(), [](const auto& entry) {
      return entry.first == "wte.weight" || entry.first.ends_with(".wte.weight");
    });
    if (found == theirs_by_name_.end()) return;
    const std::string prefix =
        found->first.substr(0, found->first.size() - std::string_view("wte.weight").size());
    const auto qkv = theirs_by_name_.find(prefix + "h.0.attn.c_attn.weight");
    const bool is_conv1d = qkv != theirs_by_name_.end() &&
                           theirs_.tensors[qkv->second].shape == TensorShape{model_.width, 3 * model_.width};
    for (const TensorName& name : gpt2_names(model_)) {
      const auto parameter = ours_by_path_.find(name.parameter);
      auto tensor = theirs_by_name_.find(name.tensor == gpt2_head ? name.tensor : prefix + name.tensor);
      if (tensor == theirs_by_name_.end() && name.tensor == gpt2_head)
        tensor = theirs_by_name_.find(prefix + name.tensor);
      if (parameter == ours_by_path_.end() || tensor == theirs_by_name_.end()) continue;
      if (matched_[parameter->second] || used_[tensor->second]) continue;
      const FormKind kind = name.transposed && is_conv1d ? FormKind::transposed : FormKind::usual;
      match(parameter->second, tensor->second, kind, MatchedBy::gpt2_name, "");
    }
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
      for (const std::string& mask : gpt2_masks(layer)) leave_out_named(prefix + mask, "not used: a mask");
    }
    if (!model_.tied) return;
    for (const std::string& head : {std::string(gpt2_head), prefix + gpt2_head})
      leave_out_named(head, "the token embedding again", found->second);
  }

  /// All or nothing: networks that count their layers from another number have some names of ours, too.
  void match_by_own_names() {
    const std::map<std::size_t, std::size_t> named = tensors_of_own_names();
    refuse_other_order(named);
    for (const std::size_t own : free_ours()) {
      const auto found = named.find(own);
      if (found == named.end() || !fits(own, found->second)) return;
    }
    for (const std::size_t own : free_ours())
      match(own, named.at(own), FormKind::usual, MatchedBy::own_name, "");
  }

  void match_by_order() {
    for (const OrderMatch& found : match_layers(ours_, free_ours(), theirs_, free_theirs())) {
      matched_[found.ours] = WeightMatch{found.ours, found.theirs, found.form, MatchedBy::order};
      used_[found.theirs] = true;
      refuse_other_name(found);
    }
  }

  [[nodiscard]] MatchedWeights finish() {
    refuse_left_over();
    refuse_open_squares();
    for (std::optional<WeightMatch>& match : matched_) result_.matches.push_back(std::move(match.value()));
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<std::string> own_paths() const {
    std::vector<std::string> paths;
    for (const OwnWeight& weight : ours_) paths.push_back(weight.path);
    return paths;
  }
  [[nodiscard]] std::string nearest_tensors(const std::string& wanted) const {
    std::vector<std::string> names;
    for (const TheirTensor& tensor : theirs_.tensors) names.push_back(tensor.name);
    return nearest_names(wanted, std::move(names));
  }
  [[nodiscard]] std::vector<std::size_t> free_ours() const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (!matched_[i]) indices.push_back(i);
    }
    return indices;
  }
  [[nodiscard]] std::vector<std::size_t> free_theirs() const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) indices.push_back(i);
    }
    return indices;
  }

  [[nodiscard]] bool fits(std::size_t own, std::size_t tensor) const {
    return form_of(ours_[own], theirs_.tensors[tensor].shape, FormKind::usual, true) != nullptr;
  }

  /// Returns the free tensors that have the names of free parameters, by parameter.
  [[nodiscard]] std::map<std::size_t, std::size_t> tensors_of_own_names() const {
    std::map<std::size_t, std::size_t> named;
    for (const std::size_t i : free_theirs()) {
      const TensorNameParts parts = parts_of_name(theirs_.tensors[i].name);
      const auto found = ours_by_path_.find(parts.layer + "/" + parts.name);
      if (found == ours_by_path_.end() || matched_[found->second]) continue;
      if (const auto [known, is_new] = named.emplace(found->second, i); !is_new) {
        fail_input(errors::duplicate_key,
                   "{}: the tensors '{}' and '{}' both have the name of the parameter {}; --map FILE says "
                   "which one it is",
                   theirs_.file, printable(theirs_.tensors[known->second].name),
                   printable(theirs_.tensors[i].name), found->first);
      }
    }
    return named;
  }

  /// Of matrices with equal shapes, the names must not say another order than a file that has one. Vectors do
  /// not count: some programs put the normalisations of a network beside each other.
  void refuse_other_order(const std::map<std::size_t, std::size_t>& named) const {
    if (theirs_.order != TensorOrder::network) return;
    std::map<std::string, std::pair<std::size_t, std::size_t>> last;  // of our parameters, by shapes
    for (const auto& [own, tensor] : named) {
      if (ours_[own].dims.size() == 1 || !fits(own, tensor)) continue;
      const std::string shapes = fmt::format("{}{}", shape_text(ours_[own].forms.front().shape),
                                             shape_text(theirs_.tensors[tensor].shape));
      const auto [before, is_first] = last.try_emplace(shapes, own, tensor);
      if (!is_first && tensor < before->second.second) {
        fail_input(errors::missing_argument,
                   "{}: the tensors '{}' and '{}' have the names of {} and {}, but lie in the other order, "
                   "and their shapes are equal. Give --map FILE with lines TENSOR PARAMETER",
                   theirs_.file, printable(theirs_.tensors[before->second.second].name),
                   printable(theirs_.tensors[tensor].name), ours_[before->second.first].path,
                   ours_[own].path);
      }
      before->second = {own, tensor};
    }
  }

  /// Order gave a tensor to one parameter, and its name is that of another that it fits. Names that differ in
  /// numbers alone are taken to be counted from another number.
  void refuse_other_name(const OrderMatch& match) const {
    const std::string& name = theirs_.tensors[match.theirs].name;
    const TensorNameParts parts = parts_of_name(name);
    const auto other = ours_by_path_.find(parts.layer + "/" + parts.name);
    if (other == ours_by_path_.end() || other->second == match.ours) return;
    const std::string& path = ours_[match.ours].path;
    if (pattern_of_name(other->first) == pattern_of_name(path) || !fits(other->second, match.theirs)) return;
    fail_input(errors::missing_argument,
               "{}: the tensor '{}' has the name of {}, and by its order it is {}, of the same shape. Give "
               "--map FILE with lines TENSOR PARAMETER",
               theirs_.file, printable(name), other->first, path);
  }

  void leave_out(std::size_t tensor, const char* why, std::optional<std::size_t> repeats = {}) {
    used_[tensor] = true;
    result_.unused.push_back({tensor, why, repeats});
  }
  void leave_out_named(const std::string& name, const char* why, std::optional<std::size_t> repeats = {}) {
    const auto found = theirs_by_name_.find(name);
    if (found != theirs_by_name_.end() && !used_[found->second]) leave_out(found->second, why, repeats);
  }

  void match(std::size_t parameter, std::size_t tensor, FormKind kind, MatchedBy by,
             const std::string& where) {
    const OwnWeight& own = ours_[parameter];
    const TheirTensor& their = theirs_.tensors[tensor];
    const WeightForm* form = form_of(own, their.shape, kind, by != MatchedBy::gpt2_name);
    if (form == nullptr) refuse_shape(own, their, kind, where);
    matched_[parameter] = WeightMatch{parameter, tensor, *form, by};
    used_[tensor] = true;
  }

  [[noreturn]] void refuse_shape(const OwnWeight& own, const TheirTensor& their, FormKind kind,
                                 const std::string& where) const {
    const auto expected = std::find_if(own.forms.begin(), own.forms.end(),
                                       [&](const WeightForm& form) { return form.kind == kind; });
    const std::string form = kind == FormKind::transposed      ? "transposed "
                             : kind == FormKind::channels_last ? "channels_last "
                                                               : "";
    if (expected == own.forms.end()) {
      fail_input(errors::model_mismatch, "{}{}: tensor '{}' is {}, and {} has no {}form", where, theirs_.file,
                 printable(their.name), shape_text(their.shape), own.path, form);
    }
    fail_input(errors::model_mismatch,
               "{}{}: tensor '{}' is {}, but {} of the deck's network would be {}{} there", where,
               theirs_.file, printable(their.name), shape_text(their.shape), own.path, form,
               expected_shape(own, *expected));
  }

  /// A form leaves out the axes of extent 1 of a vector, and would show that of one element as a scalar.
  static std::string expected_shape(const OwnWeight& own, const WeightForm& form) {
    return shape_text(own.dims.size() == 1 ? own.dims : form.shape);
  }

  void refuse_left_over() const {
    std::vector<std::string> tensors, parameters;
    for (const std::size_t i : free_theirs()) {
      const TheirTensor& tensor = theirs_.tensors[i];
      tensors.push_back(fmt::format("{} {}", printable(tensor.name), shape_text(tensor.shape)));
    }
    for (const std::size_t i : free_ours())
      parameters.push_back(
          fmt::format("{} {}", ours_[i].path, expected_shape(ours_[i], ours_[i].forms.front())));
    if (tensors.empty() && parameters.empty()) return;
    std::string problem;
    if (!tensors.empty()) problem = fmt::format("no parameter of the deck's network is {}", listed(tensors));
    if (!parameters.empty()) {
      problem += fmt::format("{}no tensor is {}", problem.empty() ? "" : "; ", listed(parameters));
    }
    fail_input(
        errors::model_mismatch,
        "{}: {}. Change the deck, or give --map FILE with lines TENSOR PARAMETER (TENSOR - for one that "
        "is not used)",
        theirs_.file, problem);
  }

  /// A square matrix among transposed ones: its shape does not show whether it is transposed, too.
  void refuse_open_squares() const {
    std::vector<std::string> squares;
    std::string transposed;
    for (const std::optional<WeightMatch>& match : matched_) {
      if (match->by != MatchedBy::order && match->by != MatchedBy::own_name) continue;
      const OwnWeight& own = ours_[match->ours];
      const TheirTensor& their = theirs_.tensors[match->theirs];
      if (match->form.kind == FormKind::transposed) transposed = their.name;
      const bool could_be = form_of(own, their.shape, FormKind::transposed) != nullptr;
      if (match->form.kind == FormKind::usual && could_be) squares.push_back(printable(their.name));
    }
    if (transposed.empty() || squares.empty()) return;
    fail_input(errors::missing_argument,
               "{}: the tensor '{}' is transposed, [inputs, outputs], and of square ones the shape does not "
               "show it: {}. Give --map FILE with lines TENSOR PARAMETER transposed (or without that word)",
               theirs_.file, printable(transposed), listed(squares));
  }

  const std::vector<OwnWeight>& ours_;
  const TheirTensors& theirs_;
  const ModelOptions& model_;
  std::map<std::string, std::size_t> ours_by_path_;
  std::map<std::string, std::size_t> theirs_by_name_;
  std::vector<std::optional<WeightMatch>> matched_;  // by ours
  std::vector<bool> used_;                           // theirs
  MatchedWeights result_;
};

}  // namespace

TheirTensors in_network_order(TheirTensors tensors, const std::string& order) {
  if (order.empty()) {
    // The usual writers sort the tensors of each type.
    const auto is_after = [](const TheirTensor& a, const TheirTensor& b) {
      return a.type == b.type && a.name > b.name;
    };
    const std::vector<TheirTensor>& all = tensors.tensors;
    if (std::adjacent_find(all.begin(), all.end(), is_after) == all.end())
      tensors.order = TensorOrder::by_name;
    return tensors;
  }
  std::map<std::string_view, std::size_t> position;
  std::size_t next = 0;
  for (std::string_view rest = order; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    position.emplace(rest.substr(0, end), next++);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const TheirTensor& tensor : tensors.tensors) {
    if (position.contains(tensor.name)) continue;
    fail_input(errors::damaged, "{}: its metadata mylos.order lacks the tensor '{}'", tensors.file,
               printable(tensor.name));
  }
  std::sort(tensors.tensors.begin(), tensors.tensors.end(), [&](const TheirTensor& a, const TheirTensor& b) {
    return position.at(a.name) < position.at(b.name);
  });
  return tensors;
}

MatchedWeights match_weights(const std::vector<OwnWeight>& ours, const TheirTensors& theirs,
                             const std::vector<MapLine>& map, const ModelOptions& model) {
  WeightMatcher matcher(ours, theirs, model);
  matcher.match_by_map(map);
  matcher.leave_out_counters();
  matcher.match_by_gpt2_names();
  matcher.match_by_own_names();
  matcher.match_by_order();
  return matcher.finish();
}

}  // namespace mylos
