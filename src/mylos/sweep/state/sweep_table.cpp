#include "mylos/sweep/state/sweep_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mylos {
namespace {

/// Quotes a field as in RFC 4180, where that is needed; line ends become blanks.
std::string field(std::string text, bool is_quoted = false) {
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
  if (!is_quoted && text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

}  // namespace

MemberRow row_of(const std::vector<MemberResult>& results, bool is_running) {
  MemberRow row;
  if (is_running) row.state = MemberState::running;
  row.rung = results.size();
  for (const MemberResult& result : results) row.seconds += result.seconds;
  if (results.empty()) return row;
  const MemberResult& last = results.back();
  if (!is_running) {
    row.state = last.state;
    row.rung = results.size() - 1;
  }
  row.steps = last.steps;
  row.ranks = last.ranks;
  row.cause = last.cause;
  if (last.best) {
    row.value = last.best;
    row.best_step = last.best_step;
  }
  return row;
}

std::string member_name(std::size_t member) {
  return fmt::format("{:04}", member);
}

std::string member_folder(std::size_t member) {
  return "members/" + member_name(member);
}

std::string sweep_csv(const std::vector<MemberRow>& rows, const std::vector<SweepKey>& keys,
                      const std::vector<Trial>& trials) {
  std::string text = "member,state,rung,steps,value,best_step,seconds,ranks,folder,cause";
  for (const SweepKey& key : keys) text += ',' + field(key.key);
  text += '\n';
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MemberRow& row = rows[i];
    text += fmt::format("{},{},{},{},{},{},{:.3f},{},{},{}", member_name(i), name_of(row.state), row.rung,
                        row.steps, row.value ? fmt::format("{}", *row.value) : "",
                        row.best_step ? fmt::format("{}", *row.best_step) : "", row.seconds, row.ranks,
                        member_folder(i), row.cause.empty() ? "" : field(row.cause, true));
    for (const std::string& value : trials[i]) text += ',' + field(value);
    text += '\n';
  }
  return text;
}

}  // namespace mylos
