#include "mylos/train/start/initial_weights.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/network/assumed_orders.hpp"
#include "mylos/model/parameters/parameter_names.hpp"
#include "mylos/precision/policy.hpp"
#include "mylos/train/start/run_state.hpp"
#include "mylos/train/step/initial_names.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

constexpr std::int64_t piece = std::int64_t{1} << 20;  // elements that are read and exchanged at a time

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(pattern, name); });
}

void require_shape(const WeightFile& file, const WeightEntry& entry, const std::string& path,
                   std::vector<std::int64_t> dims) {
  const WeightEntry own{path, std::move(dims)};
  if (entry.dims == own.dims) return;
  const bool has_kernel = entry.dims.size() > 2 && own.dims.size() == 2;
  fail_input(errors::model_mismatch,
             "{}: tensor '{}' is {}, but {} of this model is {}; change the model, or have it drawn: "
             "initial.exclude = \"{}\"{}",
             file.path(), printable(entry.name), entry.shape(), path, own.shape(), path,
             has_kernel
                 ? "; docs/how-to/initial.md shows how a convolution in PyTorch's order becomes one in ours"
                 : "");
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
HeldPart local_part_of(const ParameterStore& parameters, const BufferStore& buffers,
                       const std::string& path) {
  for (const BufferStore::StateBuffer& buffer : buffers.state()) {
    if (buffer.path == path) return {0, buffer.values};
  }
  const std::vector<ParameterSlot>& slots = parameters.layout().slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].path() == path) return parameters.held_master(slot);
  }
  fail_run(errors::internal, "the network has no parameter {}", path);
}

/// What the network can compute with.
struct AllowedValues {
  float least;
  float largest;
};

AllowedValues allowed_values(DType type, const std::string& path) {
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
      errors::bad_dataset,
      "{}: tensor '{}' has {} as its element {} (counted from 0); this model takes numbers from {} to {} "
      "there",
      file.path(), printable(entry.name), *wrong, first + (wrong - values.begin()), allowed.least,
      allowed.largest);
}

AllowedValues allowed_values(const ParameterStore& parameters, const std::string& path) {
  DType type = DType::fp32;
  for (const ParameterSlot& slot : parameters.layout().slots) {
    if (slot.path() == path) type = slot.spec.type;
  }
  return allowed_values(type, path);
}

AllowedValues allowed_values(const Chain& chain, const std::string& path) {
  DType type = DType::fp32;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      if (chain.stage_name(stage) + "/" + spec.name == path) type = spec.type;
    }
  }
  return allowed_values(type, path);
}

/// Reads the tensor and keeps nothing of it.
void require_all_values(WeightFile& file, const WeightEntry& entry, const AllowedValues& allowed) {
  std::vector<float> values;
  for (std::int64_t first = 0; first < entry.size(); first += piece) {
    values.resize(static_cast<std::size_t>(std::min(piece, entry.size() - first)));
    file.read(entry, first, values);
    require_values(file, entry, first, values, allowed);
  }
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
      file_(ranks, weights_in(ranks, options.run.initial),
            options.initial.average ? StoredWeights::average : StoredWeights::current) {
  scaling_ = read_stored_scaling(ranks, file_);
  run_on_all(ranks, [&] { find(options, chain, places); });
  run_on_all(ranks, [&] {  // before a run takes its memory, and for a check
    if (ranks.rank() != 0) return;
    for (const Taken& taken : taken_)
      require_all_values(file_, file_.entries()[taken.entry], allowed_values(chain, taken.path));
  });
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
  const LocalNames names(file_, initial, places);
  names.require_use(parameters);

  const std::map<std::string, ChannelsFirst> on_grids = channels_first_parameters(options.model, chain);
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
      const auto moved = on_grids.find(path);
      const bool moves = file_.is_channels_first() && moved != on_grids.end();
      require_shape(file_, file_.entries()[*entry], path, moves ? moved->second.dims : stored_dims(spec));
      file_.require_readable(file_.entries()[*entry]);
      taken_.push_back({path, *entry, moves ? std::optional(moved->second) : std::nullopt});
      used.insert(*entry);
      if (!file_.says_layout() && moved != on_grids.end() && moved->second.dims.size() == 2) {
        notes_.push_back(fmt::format(
            "{} reads a grid: its columns are taken by point, then channel; PyTorch's lie by channel, then "
            "point (docs/how-to/initial.md)",
            path));
      }
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
    taken_.push_back({buffer.path, *entry, std::nullopt});
    used.insert(*entry);
  }
  if (!missing.empty() && initial.missing == MissingWeights::refuse) refuse_missing(file_, missing, names);
  if (taken_.empty()) {
    fail_input(
        errors::model_mismatch,
        "{}: has no parameter of this model that initial.include and initial.exclude select; leave out "
        "run.initial to draw all{}",
        file_.path(), note_on_gpt2(file_));
  }
  for (std::size_t i = 0; i < file_.entries().size(); ++i) {
    if (!used.contains(i)) unused_.push_back(file_.entries()[i].name);
  }
  compare_networks(options, places);
  if (!file_.deck().empty()) return;
  for (std::string& order : assumed_orders(options.model)) notes_.push_back(std::move(order));
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
  if (!normalization_.empty()) lines.push_back("  " + normalization_);
  if (!drawn_.empty()) lines.push_back(fmt::format("  drawn, not taken: {}", listed(drawn_, most)));
  if (!unused_.empty()) lines.push_back(fmt::format("  not used of the file: {}", listed(unused_, most)));
  for (std::size_t i = 0; i < std::min(most, notes_.size()); ++i) lines.push_back("  " + notes_[i]);
  if (notes_.size() > most)
    lines.push_back(fmt::format("  and {} notes more (--check has all)", notes_.size() - most));
  return lines;
}

void InitialWeights::load(Trainer& trainer) {
  load(trainer.model().parameters(), trainer.model().buffers(), trainer.execution());
  trainer.refresh_weights();
  trainer.begin_average();
  trainer.communicator().synchronize(trainer.execution());  // MPI and NCCL traffic are not in flight together
}

void InitialWeights::load(const ParameterStore& parameters, const BufferStore& buffers,
                          const Execution& exec) {
  for (const Taken& taken : taken_) load(taken, parameters, buffers, exec);
}

/// Piece by piece, each of whole rows where numbers are to move within them: what a rank holds of it is
/// rounded to the type that its updates move.
void InitialWeights::load(const Taken& taken, const ParameterStore& parameters, const BufferStore& buffers,
                          const Execution& exec) {
  const HeldPart local = local_part_of(parameters, buffers, taken.path);
  const std::int64_t local_end = local.first + (local.values.empty() ? 0 : local.values.size());
  const WeightEntry& entry = file_.entries()[taken.entry];
  const AllowedValues allowed = allowed_values(parameters, taken.path);
  const std::int64_t row = taken.in_file ? taken.in_file->row() : 1;
  const std::int64_t longest = std::min(std::max(piece / row, std::int64_t{1}) * row, entry.size());
  const Kokkos::View<float*, Device> staged("initial weights", static_cast<std::size_t>(longest));
  const auto values = Kokkos::create_mirror_view(staged);
  std::vector<float> as_in_file(taken.in_file && ranks_.rank() == 0 ? values.size() : 0);
  for (std::int64_t first = 0; first < entry.size(); first += longest) {
    const std::int64_t count = std::min(longest, entry.size() - first);
    const auto elements = static_cast<std::size_t>(count);
    run_on_all(ranks_, [&] {
      if (ranks_.rank() != 0) return;
      const std::span<float> here(values.data(), elements);
      const std::span<float> read = taken.in_file ? std::span(as_in_file).first(elements) : here;
      file_.read(entry, first, read);
      require_values(file_, entry, first, read, allowed);
      if (taken.in_file) from_channels_first(*taken.in_file, std::span<const float>(read), here);
    });
    ranks_.broadcast(values.data(), elements * sizeof(float), 0);
    const std::int64_t begin = std::max(first, local.first);
    const std::int64_t end = std::min(first + count, local_end);
    if (begin >= end) continue;
    Kokkos::deep_copy(staged, values);
    const Tensor all(staged.data(), DType::fp32, 1, count);
    convert(exec, all.elements(begin - first, end - begin),
            local.values.elements(begin - local.first, end - begin));
    exec.fence("initial weights");
  }
}

}  // namespace mylos
