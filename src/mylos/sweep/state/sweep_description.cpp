#include "mylos/sweep/state/sweep_description.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

using nlohmann::ordered_json;

const char* name_of(SweepStrategy strategy) {
  constexpr const char* names[] = {"grid", "random", "halving"};
  return names[static_cast<int>(strategy)];
}

ordered_json members_of(const SweepKey& key) {
  if (!key.is_range()) return {{"key", key.key}, {"kind", "list"}, {"values", key.values}};
  return {{"key", key.key},
          {"kind", "range"},
          {"low", key.low},
          {"high", key.high},
          {"scale", key.is_logarithmic ? "log" : "linear"},
          {"integer", key.is_integer}};
}

ordered_json json_of(const SweepDescription& sweep) {
  ordered_json keys = ordered_json::array();
  for (const SweepKey& key : sweep.keys) keys.push_back(members_of(key));
  return {{"format", "mylos-sweep"},
          {"version", 1},
          {"name", sweep.name},
          {"deck", sweep.deck},
          {"metric", sweep.metric},
          {"better", sweep.higher_is_better ? "higher" : "lower"},
          {"strategy", name_of(sweep.strategy)},
          {"trials", sweep.trials},
          {"ranks_per_trial", sweep.ranks_per_trial},
          {"seed", sweep.seed},
          {"budget", sweep.by_time ? "time" : "steps"},
          {"factor", sweep.factor},
          {"rungs", sweep.rungs},
          {"keys", keys}};
}

}  // namespace

std::string document_of(const SweepDescription& sweep) {
  return json_of(sweep).dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

void require_same_sweep(const std::string& text, const std::string& path, const SweepDescription& sweep) {
  const ordered_json before = ordered_json::parse(text, nullptr, false);
  if (!before.is_object())
    fail_input(errors::damaged, "{}: is not the description of a sweep; give another --out", path);
  // As it is written and read: numbers compare as the file has them.
  const ordered_json now = ordered_json::parse(document_of(sweep));
  for (const auto& [name, value] : now.items()) {
    if (before.contains(name) && before.at(name) == value) continue;
    const bool is_short = name != "deck" && name != "keys";
    fail_input(errors::restart_mismatch,
               "{}: this folder holds another sweep: '{}' differs{}; give the same command line and deck to "
               "continue "
               "it, or another --out",
               path, name,
               is_short
                   ? fmt::format(" ({} there, {} now)", printable(before.value(name, ordered_json()).dump()),
                                 printable(value.dump()))
                   : "");
  }
}

}  // namespace mylos
