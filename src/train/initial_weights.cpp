#include "mylos/train/initial_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/text.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/parameter_names.hpp"
#include "mylos/precision/policy.hpp"
#include "mylos/train/run_state.hpp"

namespace mylos {
namespace {

constexpr std::int64_t piece = std::int64_t{1} << 20;  // elements that are read and exchanged at a time
constexpr std::size_t longest_tensor_name = 1000;      // bytes, of a tensor that a pattern may match

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

/// The tensors of a file by the names that they have here.
class NamesHere {
 public:
  NamesHere(const WeightFile& file, const InitialOptions& options, const Places& places)
      : file_(file),
        options_(options),
        places_(places),
        used_(options.rename.size()),
        overridden_(options.rename.size()) {
    const std::vector<WeightEntry>& entries = file.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) add(entries[i].name, i);
  }

  /// Entry of the file, or nothing.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& parameter) const {
    const auto found = entries_.find(parameter);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

  /// Throws Error where a rule has renamed nothing, or to nothing that the network has.
  void require_use(const std::vector<std::string>& parameters) const {
    for (std::size_t i = 0; i < options_.rename.size(); ++i) {
      const RenameRule& rule = options_.rename[i];
      if (used_[i].empty() && overridden_[i]) {
        fail_input("{}'{}': later rules take all that it matches, and the last one that matches counts",
                   where(i), printable(rule.from));
      }
      if (used_[i].empty()) {
        fail_input("{}'{}' matches no tensor of {}; near ones are {}", where(i), printable(rule.from),
                   file_.path(), printable(nearest_names(rule.from, names_of_file()), 200));
      }
      const bool serves = std::any_of(used_[i].begin(), used_[i].end(), [&](const std::string& name) {
        return std::find(parameters.begin(), parameters.end(), name) != parameters.end();
      });
      if (!serves) {
        fail_input("{}'{}' gives '{}', which is no parameter of this model; near ones are {}", where(i),
                   printable(rule.to), printable(used_[i].front()),
                   nearest_names(used_[i].front(), parameters));
      }
    }
  }

 private:
  [[nodiscard]] std::string where(std::size_t rule) const {
    return place_of(places_, {fmt::format("initial.rename.{}", rule + 1), "initial.rename"}) +
           "initial.rename: ";
  }

  [[nodiscard]] std::vector<std::string> names_of_file() const {
    std::vector<std::string> names;
    for (const WeightEntry& entry : file_.entries()) {
      if (entry.name.size() <= longest_tensor_name) names.push_back(entry.name);
    }
    return names;
  }

  void add(const std::string& name, std::size_t entry) {
    if (name.size() > longest_tensor_name) return;
    std::string here = file_.parameter_name(name);
    bool is_renamed = false;
    for (std::size_t i = options_.rename.size(); i-- > 0;) {
      const auto other = renamed(options_.rename[i].from, options_.rename[i].to, name);
      if (!other) continue;
      if (is_renamed) {
        overridden_[i] = true;
        continue;
      }
      is_renamed = true;
      here = *other;
      used_[i].push_back(here);
    }
    const auto [place, is_new] = entries_.emplace(here, entry);
    if (is_new) return;
    fail_input("{}: its tensors '{}' and '{}' are both to be '{}'; change initial.rename", file_.path(),
               printable(file_.entries()[place->second].name), printable(name), printable(here));
  }

  const WeightFile& file_;
  const InitialOptions& options_;
  const Places& places_;
  std::map<std::string, std::size_t> entries_;
  std::vector<std::vector<std::string>> used_;  // of each rule, what it made
  std::vector<bool> overridden_;                // of each rule: a later one took what it matches
};

/// GPT-2 as others keep it has other names, and matrices the other way round.
std::string note_on_gpt2(const WeightFile& file) {
  const auto is_embedding = [](const WeightEntry& entry) {
    return entry.name == "wte.weight" || entry.name == "transformer.wte.weight";
  };
  if (file.is_checkpoint() || std::none_of(file.entries().begin(), file.entries().end(), is_embedding))
    return "";
  return fmt::format(
      "; it looks like Hugging Face's GPT-2, of which `mylos convert {} gpt2.h5` makes a "
      "checkpoint to begin with",
      file.path());
}

[[noreturn]] void refuse_missing(const WeightFile& file, const std::vector<std::string>& missing,
                                 const NamesHere& names) {
  constexpr std::size_t most = 8;
  std::vector<std::string> told(
      missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(std::min(most, missing.size())));
  std::string more = missing.size() > most ? fmt::format(" and {} more", missing.size() - most) : "";
  fail_input(
      "{}: has no {}{}, which this model needs; nearest to {} are {} there. [[initial.rename]] gives tensors "
      "other names, and initial.missing = \"draw\" draws what is not there{}",
      file.path(), fmt::join(told, ", "), more, missing.front(),
      printable(nearest_names(missing.front(), names.names()), 200), note_on_gpt2(file));
}

void require_shape(const WeightFile& file, const WeightEntry& entry, const std::string& path,
                   std::vector<std::int64_t> dims) {
  const WeightEntry own{path, std::move(dims)};
  if (entry.dims == own.dims) return;
  fail_input(
      "{}: tensor '{}' is {}, but {} of this model is {}; change the model, or leave it to be drawn: "
      "initial.exclude = \"{}\"",
      file.path(), printable(entry.name), entry.shape(), path, own.shape(), path);
}

/// Running statistics: not weights, but of them.
struct NamedBuffer {
  std::string layer;
  std::string path;
  std::int64_t size;
};

std::vector<NamedBuffer> state_buffers(const Chain& chain) {
  std::vector<NamedBuffer> buffers;
  for (const auto& block : chain.blocks) {
    for (const BufferSpec& spec : block->buffers()) {
      const std::string& layer = block->signature().name;
      if (spec.role == BufferRole::state) buffers.push_back({layer, layer + "/" + spec.name, spec.size});
    }
  }
  return buffers;
}

/// What a rank holds of a parameter or a buffer.
HeldPart held_of(const Model& model, const std::string& path) {
  for (const BufferStore::StateBuffer& buffer : model.buffers().state()) {
    if (buffer.path == path) return {0, buffer.values};
  }
  const std::vector<ParameterSlot>& slots = model.parameters().layout().slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].path() == path) return model.parameters().held_master(slot);
  }
  fail_run("the network has no parameter {}", path);
}

/// What the network can compute with.
struct AllowedValues {
  float least;
  float largest;
};

AllowedValues allowed_values(const Model& model, const std::string& path) {
  DType type = DType::fp32;
  for (const ParameterSlot& slot : model.parameters().layout().slots) {
    if (slot.path() == path) type = slot.spec.type;
  }
  const auto largest = static_cast<float>(limits_of(type).largest);
  return {path.ends_with("/running_variance") ? 0 : -largest, largest};
}

void require_values(const WeightFile& file, const WeightEntry& entry, std::int64_t first,
                    std::span<const float> values, const AllowedValues& allowed) {
  const auto wrong = std::find_if(values.begin(), values.end(), [&](float value) {
    return !(value >= allowed.least && value <= allowed.largest);  // true of NaN
  });
  if (wrong == values.end()) return;
  fail_input(
      "{}: tensor '{}' has {} as its element {} (counted from 0); this model takes numbers from {} to {} "
      "there",
      file.path(), printable(entry.name), *wrong, first + (wrong - values.begin()), allowed.least,
      allowed.largest);
}

/// "a, b and 3 more"
std::string listed(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

}  // namespace

InitialWeights::InitialWeights(RankGroup& ranks, const Options& options, const Chain& chain,
                               const Places& places)
    : ranks_(ranks),
      file_(ranks, options.run.initial,
            options.initial.average ? StoredWeights::average : StoredWeights::current) {
  run_on_all(ranks, [&] { find(options, chain, places); });
}

void InitialWeights::find(const Options& options, const Chain& chain, const Places& places) {
  const InitialOptions& initial = options.initial;
  std::vector<std::string> parameters = parameter_names(chain);
  const std::vector<NamedBuffer> buffers = state_buffers(chain);
  for (const NamedBuffer& buffer : buffers) parameters.push_back(buffer.path);
  const auto require = [&](const char* key, const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns)
      require_match(place_of(places, {key}) + key, pattern, parameters);
  };
  require("initial.include", initial.include);
  require("initial.exclude", initial.exclude);
  const NamesHere names(file_, initial, places);
  names.require_use(parameters);

  std::vector<std::string> missing;
  std::set<std::size_t> used;
  std::size_t next = 0;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      const std::string& path = parameters[next++];
      if (!matches_any(initial.include, path) || matches_any(initial.exclude, path)) {
        drawn_.push_back(path);
        continue;
      }
      const std::optional<std::size_t> entry = names.find(path);
      if (!entry) {
        missing.push_back(path);
        drawn_.push_back(path);
        continue;
      }
      require_shape(file_, file_.entries()[*entry], path, stored_dims(spec));
      file_.require_readable(file_.entries()[*entry]);
      taken_.push_back({path, *entry});
      used.insert(*entry);
    }
  }
  for (const NamedBuffer& buffer : buffers) {
    const bool wanted =
        matches_any(initial.include, buffer.path) && !matches_any(initial.exclude, buffer.path);
    const std::optional<std::size_t> entry = wanted ? names.find(buffer.path) : std::nullopt;
    if (!entry) {
      // Weights would be taken whose statistics are another network's.
      const bool is_half_taken = std::any_of(taken_.begin(), taken_.end(), [&](const Taken& taken) {
        return taken.path.starts_with(buffer.layer + "/");
      });
      if (wanted && is_half_taken) missing.push_back(buffer.path);
      drawn_.push_back(buffer.path);
      continue;
    }
    require_shape(file_, file_.entries()[*entry], buffer.path, {buffer.size});
    file_.require_readable(file_.entries()[*entry]);
    taken_.push_back({buffer.path, *entry});
    used.insert(*entry);
  }
  if (!missing.empty() && initial.missing == MissingWeights::refuse) refuse_missing(file_, missing, names);
  if (taken_.empty()) {
    fail_input(
        "{}: nothing of it is a parameter of this model that initial.include and initial.exclude "
        "leave; leave out run.initial to draw all{}",
        file_.path(), note_on_gpt2(file_));
  }
  for (std::size_t i = 0; i < file_.entries().size(); ++i) {
    if (!used.contains(i)) unused_.push_back(file_.entries()[i].name);
  }
}

std::vector<std::string> InitialWeights::lines(std::size_t most) const {
  std::vector<std::string> lines{fmt::format("run.initial: {} of {} parameters from {} ({})", taken_.size(),
                                             taken_.size() + drawn_.size(), file_.path(), file_.kind())};
  for (std::size_t i = 0; i < std::min(most, taken_.size()); ++i) {
    const WeightEntry& entry = file_.entries()[taken_[i].entry];
    const std::string from = entry.name == taken_[i].path ? "" : " = " + printable(entry.name);
    lines.push_back(fmt::format("  {} {}{}", taken_[i].path, entry.shape(), from));
  }
  if (taken_.size() > most)
    lines.push_back(fmt::format("  and {} more (--check names all)", taken_.size() - most));
  if (!drawn_.empty()) lines.push_back(fmt::format("  drawn, not taken: {}", listed(drawn_, most)));
  if (!unused_.empty()) lines.push_back(fmt::format("  not used of the file: {}", listed(unused_, most)));
  return lines;
}

void InitialWeights::load(Trainer& trainer) {
  for (const Taken& taken : taken_) load(trainer, taken);
  trainer.refresh_weights();
  trainer.begin_average();
  trainer.communicator().synchronize(trainer.execution());  // MPI and NCCL traffic are not in flight together
}

/// Piece by piece: what a rank holds of each it rounds to the type that its updates move.
void InitialWeights::load(Trainer& trainer, const Taken& taken) {
  const HeldPart held = held_of(trainer.model(), taken.path);
  const std::int64_t held_end = held.first + (held.values.empty() ? 0 : held.values.size());
  const WeightEntry& entry = file_.entries()[taken.entry];
  const AllowedValues allowed = allowed_values(trainer.model(), taken.path);
  const auto most = static_cast<std::size_t>(std::min(piece, entry.size()));
  const Kokkos::View<float*, Device> staged("initial weights", most);
  const auto values = Kokkos::create_mirror_view(staged);
  for (std::int64_t first = 0; first < entry.size(); first += piece) {
    const std::int64_t count = std::min(piece, entry.size() - first);
    const auto elements = static_cast<std::size_t>(count);
    run_on_all(ranks_, [&] {
      if (ranks_.rank() != 0) return;
      file_.read(entry, first, {values.data(), elements});
      require_values(file_, entry, first, {values.data(), elements}, allowed);
    });
    ranks_.broadcast(values.data(), elements * sizeof(float), 0);
    const std::int64_t begin = std::max(first, held.first);
    const std::int64_t end = std::min(first + count, held_end);
    if (begin >= end) continue;
    Kokkos::deep_copy(staged, values);
    const Tensor all(staged.data(), DType::fp32, 1, count);
    convert(trainer.execution(), all.elements(begin - first, end - begin),
            held.values.elements(begin - held.first, end - begin));
    trainer.execution().fence("initial weights");
  }
}

}  // namespace mylos
