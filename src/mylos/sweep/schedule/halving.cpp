#include "mylos/sweep/schedule/halving.hpp"

#include <algorithm>

namespace mylos {
namespace {

using Members = std::vector<MemberProgress>;

bool may_train(const MemberProgress& member) {
  return !member.is_claimed && !member.is_over;
}

/// Returns the members that have finished the rung, the best first; among equals the lowest number is the
/// best.
std::vector<std::size_t> ranking(const Members& members, std::size_t rung, bool higher_is_better) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].finished() > rung) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    const auto& first = members[one].values[rung];
    const auto& second = members[other].values[rung];
    if (!first || !second) return first.has_value() && !second;
    return higher_is_better ? *first > *second : *first < *second;
  });
  return order;
}

bool is_candidate(const MemberProgress& member, std::size_t rung) {
  return may_train(member) && member.finished() == rung + 1 && member.values[rung].has_value();
}

std::optional<NextJob> promotion(const Members& members, const SweepRules& rules) {
  for (std::size_t rung = rules.rungs - 1; rung-- > 0;) {
    const std::vector<std::size_t> order = ranking(members, rung, rules.higher_is_better);
    const std::size_t promoted = order.size() / static_cast<std::size_t>(rules.factor);
    for (std::size_t rank = 0; rank < promoted; ++rank) {
      if (is_candidate(members[order[rank]], rung))
        return NextJob{NextJob::Kind::train, order[rank], rung + 1};
    }
  }
  return std::nullopt;
}

/// Returns the best member of the highest rung from which one can be promoted.
std::optional<NextJob> last_promotion(const Members& members, const SweepRules& rules) {
  for (std::size_t rung = rules.rungs - 1; rung-- > 0;) {
    for (const std::size_t member : ranking(members, rung, rules.higher_is_better))
      if (is_candidate(members[member], rung)) return NextJob{NextJob::Kind::train, member, rung + 1};
  }
  return std::nullopt;
}

}  // namespace

NextJob next_job(const Members& members, const SweepRules& rules) {
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].is_interrupted && may_train(members[i]))
      return {NextJob::Kind::train, i, members[i].finished()};
  if (const auto job = promotion(members, rules)) return *job;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i].finished() == 0 && may_train(members[i])) return {NextJob::Kind::train, i, 0};
  const bool waits = std::any_of(members.begin(), members.end(),
                                 [](const MemberProgress& member) { return member.is_claimed; });
  if (waits) return {.kind = NextJob::Kind::wait};
  const bool has_finished = std::any_of(members.begin(), members.end(), [](const MemberProgress& member) {
    return member.is_over && !member.values.empty() && member.values.back().has_value();
  });
  if (has_finished) return {};
  return last_promotion(members, rules).value_or(NextJob{});
}

}  // namespace mylos
