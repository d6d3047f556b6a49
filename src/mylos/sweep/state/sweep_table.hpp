// The file sweep.csv: a row for each member of a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/sweep/space/sweep_key.hpp"
#include "mylos/sweep/space/trials.hpp"
#include "mylos/sweep/state/member_result.hpp"

namespace mylos {

struct MemberRow {
  MemberState state = MemberState::waiting;
  std::size_t rung = 0;                        // that it has reached, or trains to
  std::int64_t steps = 0;                      // of the finished parts
  std::optional<double> value = {};            // the best of the metric
  std::optional<std::int64_t> best_step = {};  // of that
  double seconds = 0;                          // of the finished parts
  int ranks = 0;
  std::string cause = {};
};

/// Returns the row of a member from its results, the first rung first.
[[nodiscard]] MemberRow row_of(const std::vector<MemberResult>& results, bool is_running);

/// Returns "0003".
[[nodiscard]] std::string member_name(std::size_t member);
/// Returns "members/0003", a path within the sweep's folder.
[[nodiscard]] std::string member_folder(std::size_t member);

/// Returns the text of sweep.csv:
/// `member,state,rung,steps,value,best_step,seconds,ranks,folder,cause,KEY...`.
[[nodiscard]] std::string sweep_csv(const std::vector<MemberRow>& rows, const std::vector<SweepKey>& keys,
                                    const std::vector<Trial>& trials);

}  // namespace mylos
