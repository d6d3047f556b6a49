// MemberResult: how a member has reached a rung, or why it never will.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mylos/base/error.hpp"

namespace mylos {

enum class MemberState {
  waiting,  // not begun
  running,
  stopped,  // at a rung, and not promoted so far
  done,     // at the end of its run
  diverged,
  failed,
  does_not_fit  // the memory
};

[[nodiscard]] std::string_view name_of(MemberState state);
/// Returns the state of this name; nothing if there is none.
[[nodiscard]] std::optional<MemberState> member_state(std::string_view name);
/// Returns the state of a member whose training ended with this error.
[[nodiscard]] MemberState state_after(const Error& error);

struct MemberResult {
  MemberState state = MemberState::stopped;
  std::int64_t steps = 0;            // of the run, of all starts
  std::optional<double> value = {};  // of the metric at the end of this part
  std::optional<double> best = {};   // of all evaluations so far
  std::int64_t best_step = 0;        // of that
  double seconds = 0;                // of this part, its start included
  int ranks = 1;
  std::string cause = {};  // of a failure, one line

  [[nodiscard]] bool is_over() const { return state != MemberState::stopped; }
  bool operator==(const MemberResult&) const = default;
};

/// Returns the result as JSON.
[[nodiscard]] std::string document_of(const MemberResult& result);
/// Throws Error (bad_input, damaged) that names `path` if the text is something else.
[[nodiscard]] MemberResult parse_member_result(const std::string& text, const std::string& path);

}  // namespace mylos
