#include "mylos/sweep/state/member_result.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mylos/base/errors/contents.hpp"

namespace mylos {
namespace {

using nlohmann::ordered_json;

constexpr const char* state_names[] = {"waiting",  "running", "stopped",     "done",
                                       "diverged", "failed",  "does_not_fit"};

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::optional<double> number_in(const ordered_json& document, const char* name) {
  const ordered_json& value = document.at(name);
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

MemberState state_of(const std::string& name) {
  const std::optional<MemberState> state = member_state(name);
  if (!state || *state < MemberState::stopped)
    fail_input(errors::damaged, "'{}' is not the state of a result", name);
  return *state;
}

}  // namespace

std::string_view name_of(MemberState state) {
  return state_names[static_cast<int>(state)];
}

std::optional<MemberState> member_state(std::string_view name) {
  const auto* found = std::find(std::begin(state_names), std::end(state_names), name);
  if (found == std::end(state_names)) return std::nullopt;
  return static_cast<MemberState>(found - std::begin(state_names));
}

MemberState state_after(const Error& error) {
  if (error.code() == ExitCode::diverged) return MemberState::diverged;
  return error.code() == ExitCode::does_not_fit ? MemberState::does_not_fit : MemberState::failed;
}

std::string document_of(const MemberResult& result) {
  const ordered_json document = {{"state", name_of(result.state)},
                                 {"steps", result.steps},
                                 {"value", number_or_null(result.value)},
                                 {"best", number_or_null(result.best)},
                                 {"best_step", result.best_step},
                                 {"seconds", result.seconds},
                                 {"ranks", result.ranks},
                                 {"cause", result.cause}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

MemberResult parse_member_result(const std::string& text, const std::string& path) {
  try {
    const ordered_json document = ordered_json::parse(text);
    MemberResult result;
    result.state = state_of(document.at("state").get<std::string>());
    result.steps = document.at("steps").get<std::int64_t>();
    result.value = number_in(document, "value");
    result.best = number_in(document, "best");
    result.best_step = document.at("best_step").get<std::int64_t>();
    result.seconds = document.at("seconds").get<double>();
    result.ranks = document.at("ranks").get<int>();
    result.cause = document.at("cause").get<std::string>();
    return result;
  } catch (const std::exception& error) {
    fail_input(errors::damaged,
               "{}: is not the result of a member ({}); delete it, and the member is trained again", path,
               error.what());
  }
}

}  // namespace mylos
