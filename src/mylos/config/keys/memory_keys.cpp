// [memory].

#include "mylos/base/numbers/number_text.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

constexpr std::int64_t min_budget = std::int64_t{1} << 20;
constexpr std::int64_t max_budget = std::int64_t{1} << 50;
constexpr std::size_t max_groups = 1000;
constexpr std::string_view every = "every ";

/// Returns N of "every N".
std::optional<std::int64_t> length_in(const std::string& text) {
  if (!text.starts_with(every)) return std::nullopt;
  const auto length = to_number<std::int64_t>(std::string_view(text).substr(every.size()));
  return length && *length >= 1 && *length <= max_count ? length : std::nullopt;
}

/// Reads the groups, or returns a description of the value that is not a group.
Found read_groups(const Value::List& list, std::vector<BlockGroup>& groups) {
  if (list.empty()) return Mismatch("an empty list");
  if (list.size() > max_groups) return fmt::format("a list of {}", list.size());
  groups.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto* pair = std::get_if<Value::List>(&list[i].held);
    if (pair == nullptr || pair->size() != 2) return fmt::format("{} at place {}", describe(list[i]), i + 1);
    const auto* first = std::get_if<std::int64_t>(&pair->front().held);
    const auto* last = std::get_if<std::int64_t>(&pair->back().held);
    const std::int64_t min_next = groups.empty() ? 0 : groups.back().last + 1;
    if (first == nullptr || last == nullptr || *first < min_next || *last < *first || *last > max_count) {
      return fmt::format("{} at place {}", to_toml(list[i]), i + 1);
    }
    groups.push_back({*first, *last});
  }
  return std::nullopt;
}

void set_recompute(MemoryOptions& memory, RecomputeMode mode) {
  memory.recompute = mode;
  memory.every = 0;
  memory.groups.clear();
}

Found read_recompute(Options& options, const Value& value) {
  MemoryOptions& memory = options.memory;
  if (const auto* list = std::get_if<Value::List>(&value.held)) {
    std::vector<BlockGroup> groups;
    if (auto found = read_groups(*list, groups)) return found;
    set_recompute(memory, RecomputeMode::groups);
    memory.groups = std::move(groups);
    return std::nullopt;
  }
  const auto* word = std::get_if<std::string>(&value.held);
  if (word == nullptr) return describe(value);
  if (const auto length = length_in(*word)) {
    set_recompute(memory, RecomputeMode::every);
    memory.every = *length;
  } else if (*word == "auto") {
    set_recompute(memory, RecomputeMode::automatic);
  } else if (*word == "none") {
    set_recompute(memory, RecomputeMode::none);
  } else if (*word == "all") {
    set_recompute(memory, RecomputeMode::all);
  } else {
    return describe(value);
  }
  return std::nullopt;
}

Value recompute_of(const MemoryOptions& memory) {
  switch (memory.recompute) {
    case RecomputeMode::automatic:
      break;
    case RecomputeMode::none:
      return {std::string("none")};
    case RecomputeMode::all:
      return {std::string("all")};
    case RecomputeMode::every:
      return {fmt::format("{}{}", every, memory.every)};
    case RecomputeMode::groups: {
      Value::List list;
      for (const BlockGroup& group : memory.groups)
        list.push_back({Value::List{{group.first}, {group.last}}});
      return {std::move(list)};
    }
  }
  return {std::string("auto")};
}

}  // namespace

void add_memory_keys(Schema& schema) {
  Keys keys(
      schema, "memory", "The memory budget of a rank, and recomputation to stay within it.",
      [](auto& options) -> auto& { return options.memory; });
  keys.add(
      "budget", &MemoryOptions::budget_bytes, bytes_type({min_budget, max_budget}, "12 GiB"),
      "Memory of one rank, everything included. auto: 0.9 of the machine's available memory, divided by its "
      "ranks. A run that cannot stay within the budget does not start (exit code 3).");
  Key& recompute =
      keys.add("recompute",
               "\"auto\", \"none\", \"all\", \"every N\" (N from 1) or ascending list of groups of blocks "
               "[first, last] (counted from 0)",
               "",
               "Gradient checkpointing (activation checkpointing): the activations that are recomputed in "
               "backward instead of stored; the weights are bitwise the same. auto: the fastest schedule "
               "that fits the budget. A group stores the input of its "
               "first block. all: every block is a group; every N: groups of N blocks.");
  recompute.choices = {"auto", "none", "all"};
  recompute.read = read_recompute;
  recompute.write = [](const Options& options) -> std::optional<Value> {
    return recompute_of(options.memory);
  };
  keys.finish(recompute);
  keys.choice(
      "times", &MemoryOptions::times,
      Words<TimesSource>{
          {"auto", TimesSource::automatic}, {"measure", TimesSource::measure}, {"model", TimesSource::model}},
      "Source of the plan's times. measure: measured on this machine before the run allocates its memory "
      "(about a second). model: a model of arithmetic in each type and of memory traffic, at fixed rates. "
      "auto: `train` measures if recompute is \"auto\" and recomputation is necessary; `plan` uses the model "
      "with measured rates. A restart keeps its plan.");
  keys.choice("on_oom", &MemoryOptions::on_oom,
              Words<OutOfMemory>{{"refuse", OutOfMemory::refuse}, {"shrink", OutOfMemory::shrink}},
              "Treatment of a run that does not fit `budget`. refuse: the run does not start, and the "
              "message names settings that fit. shrink: the run uses the largest `data.micro_batch` that "
              "fits, with the same batch; not with batch normalisation, whose statistics would change. A "
              "restart uses the same micro-batch.");
}

}  // namespace mylos
