#include "mylos/inference/rollout/rollout.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/inference/rollout/member_rollouts.hpp"

namespace mylos {
namespace {

/// A level without a grid has one point.
std::vector<std::int64_t> extents_of(const LevelLayout& layout) {
  return layout.extents.empty() ? std::vector<std::int64_t>{1} : layout.extents;
}

/// The spectra of the members of this rank, for all steps.
class SpectrumSums {
 public:
  static constexpr std::size_t parts = 3;  // network, truth, error

  /// `measures`: whether this rank has members.
  SpectrumSums(const LevelLayout& layout, const RolloutRequest& request, bool measures)
      : is_wanted_(request.has_spectrum) {
    if (!is_wanted_) return;
    if (measures) spectrum_.emplace(extents_of(layout));
    has_missing_ = layout.has_missing;
    channels_ = layout.outputs();
    spectra_ = request.has_spectra ? channels_ : 1;
    width_ = static_cast<std::size_t>(spectra_ * FieldSpectrum::wavenumbers_of(extents_of(layout)));
    sums_.resize(static_cast<std::size_t>(request.steps + 1) * parts * width_);
    with_state_.resize(static_cast<std::size_t>(request.steps + 1));
    with_truth_ = with_state_;
    if (measures) error_.resize(static_cast<std::size_t>(layout.state_values()));
  }

  void add(std::int64_t step, std::span<const float> state, std::span<const float> truth) {
    if (!spectrum_) return;
    const auto is_complete = [this](std::span<const float> field) {  // a spectrum is of all points
      return !has_missing_ || std::ranges::none_of(field, [](float value) { return std::isnan(value); });
    };
    const bool is_known = step > 0 || is_complete(state);  // what is predicted is
    if (is_known) {
      ++with_state_[static_cast<std::size_t>(step)];
      add(state, part(step, 0));
    }
    if (truth.empty() || !is_known || !is_complete(truth)) return;
    ++with_truth_[static_cast<std::size_t>(step)];
    add(truth, part(step, 1));
    for (std::size_t i = 0; i < error_.size(); ++i) error_[i] = state[i] - truth[i];
    add(error_, part(step, 2));
  }

  /// Returns the means over all members, on rank 0.
  std::vector<StepSpectrum> means(RankGroup& ranks, std::int64_t members) {
    if (!is_wanted_) return {};
    std::vector<double> total(sums_.size());
    std::vector<double> others(sums_.size());
    for (int rank = 0; rank < ranks.size(); ++rank) {
      std::vector<double>& from = rank == ranks.rank() ? sums_ : others;
      broadcast_large(ranks, std::as_writable_bytes(std::span(from)), rank);
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += from[i];
    }
    ranks.add_up(with_state_);
    ranks.add_up(with_truth_);
    if (ranks.rank() != 0) return {};
    std::vector<StepSpectrum> result(with_truth_.size());
    const auto mean = [&](std::size_t step, std::size_t which) {
      std::vector<double> values(width_);
      for (std::size_t k = 0; k < width_; ++k)
        values[k] = total[(step * parts + which) * width_ + k] / static_cast<double>(members);
      return values;
    };
    for (std::size_t step = 0; step < result.size(); ++step) {
      result[step].channels = spectra_;
      if (with_state_[step] == members) result[step].network = mean(step, 0);
      if (with_truth_[step] != members) continue;
      result[step].truth = mean(step, 1);
      result[step].error = mean(step, 2);
    }
    return result;
  }

 private:
  void add(std::span<const float> field, std::span<double> energy) {
    const std::size_t wavenumbers = width_ / static_cast<std::size_t>(spectra_);
    for (std::int64_t channel = 0; channel < channels_; ++channel)
      spectrum_->add(field, channels_, channel,
                     energy.subspan(static_cast<std::size_t>(channel % spectra_) * wavenumbers, wavenumbers));
  }
  [[nodiscard]] std::span<double> part(std::int64_t step, std::size_t which) {
    return std::span(sums_).subspan((static_cast<std::size_t>(step) * parts + which) * width_, width_);
  }

  bool is_wanted_;
  std::optional<FieldSpectrum> spectrum_;
  bool has_missing_ = false;
  std::int64_t channels_ = 0;
  std::int64_t spectra_ = 0;  // one for each channel, or one
  std::size_t width_ = 0;     // numbers of a part: spectra, wavenumbers
  std::vector<double> sums_;
  std::vector<std::int64_t> with_state_, with_truth_;  // of each step: members whose fields are complete
  std::vector<float> error_;
};

/// Members [first, first + count) of those of a rank.
struct SomeMembers {
  std::int64_t first, count;
};

std::vector<SomeMembers> members_of_all(RankGroup& ranks, const MemberRollouts& own) {
  const SomeMembers mine{own.first(), own.count()};
  std::vector<SomeMembers> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, all.data(), sizeof mine);
  return all;
}

/// The ranks that measure put the boxes of their states together, and rank 0 those of all. `box`: of another
/// rank; `whole`: of other ranks that measure, on rank 0.
void put_together(RankGroup& ranks, const RolloutRequest& request, MemberRollouts& own, std::int64_t step,
                  std::vector<float>& box, std::vector<float>& whole, std::int64_t channels) {
  const DividedRollouts& divided = *request.divided;
  const std::vector<SomeMembers> all = members_of_all(ranks, own);
  const bool is_first = ranks.rank() == 0;
  for (int first = 0; first < ranks.size(); first += divided.boxes()) {
    const SomeMembers& some = all[static_cast<std::size_t>(first)];
    for (std::int64_t member = 0; member < some.count; ++member) {
      for (int rank = first; rank < first + divided.boxes(); ++rank) {
        const std::span<float> fields = rank == ranks.rank() ? own.computed(member) : own.room_in(box, rank);
        broadcast_large(ranks, std::as_writable_bytes(fields), rank);
        if (ranks.rank() == first) own.place(rank, member, fields);
        if (is_first && first > 0) divided.place(rank, own.states_in(fields), whole, channels);
      }
      if (!request.take) continue;
      run_on_all(ranks, [&] {
        if (is_first) request.take(some.first + member, step, first == 0 ? own.states(member) : whole);
      });
    }
  }
}

/// Rank 0 takes the states of all ranks.
void hand_over(RankGroup& ranks, const RolloutRequest& request, MemberRollouts& own, std::int64_t step,
               std::vector<float>& other) {
  const std::vector<SomeMembers> all = members_of_all(ranks, own);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const SomeMembers& part = all[static_cast<std::size_t>(rank)];
    for (std::int64_t member = 0; member < part.count; ++member) {
      const std::span<float> states = rank == ranks.rank() ? own.states(member) : std::span(other);
      broadcast_large(ranks, std::as_writable_bytes(states), rank);
      run_on_all(ranks, [&] {
        if (ranks.rank() == 0) request.take(part.first + member, step, states);
      });
    }
  }
}

/// Returns the members that a rank measures.
Share measured_by(int rank, const RankGroup& ranks, std::int64_t members, const RolloutRequest& request) {
  if (request.divided != nullptr) return request.divided->measured(members, rank);
  return share_of(members, rank, ranks.size());
}

/// The numbers of all members, from the ranks that measure them.
template <class T>
void gather_members(RankGroup& ranks, std::int64_t members, const RolloutRequest& request,
                    std::vector<T>& values) {
  const auto of_member = static_cast<std::size_t>(request.steps);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Share share = measured_by(rank, ranks, members, request);
    const auto own = std::span(values).subspan(static_cast<std::size_t>(share.first) * of_member,
                                               static_cast<std::size_t>(share.count) * of_member);
    broadcast_large(ranks, std::as_writable_bytes(own), rank);
  }
}

}  // namespace

RolloutResult roll_out(std::span<RowInference* const> networks, RankGroup& ranks, const Trajectories& data,
                       const RolloutRequest& request) {
  const LevelLayout& layout = data.layout();
  const std::int64_t members = data.members();
  const DividedRollouts* const divided = request.divided;
  const Share share = divided != nullptr ? divided->computed(members, ranks.rank())
                                         : share_of(members, ranks.rank(), ranks.size());
  const Share measured = measured_by(ranks.rank(), ranks, members, request);
  const bool measures = divided == nullptr || divided->measuring_rank(ranks.rank()) == ranks.rank();
  RolloutResult result{.steps = request.steps, .members = members, .all = {}, .spectrum = {}};
  std::optional<MemberRollouts> own;
  std::optional<SpectrumSums> spectrum;
  std::optional<ScoreSums> scores;
  std::vector<float> other, box;
  run_on_all(ranks, [&] {
    result.all.resize(static_cast<std::size_t>(members * request.steps));
    own.emplace(networks, data, request, measures);
    spectrum.emplace(layout, request, measures);
    if (request.has_scores)
      scores.emplace(ranks, request.steps, layout.outputs(), measured.first, measured.count);
    const bool takes_others = divided == nullptr ? ranks.size() > 1 : ranks.rank() == 0;
    if (takes_others) other.resize(static_cast<std::size_t>(request.forecasts() * layout.state_values()));
    if (divided != nullptr)
      box.resize(
          static_cast<std::size_t>((request.forecasts() + 1) * divided->max_points() * layout.outputs()));
  });
  const std::int64_t largest = measured_by(0, ranks, members, request).count;
  const auto record = [&](std::int64_t step) {
    for (std::int64_t member = 0; member < own->count(); ++member) {
      const std::int64_t trajectory = own->first() + member;
      if (step > 0) {
        result.all[static_cast<std::size_t>(trajectory * request.steps + step - 1)] =
            own->measure(member, step);
        if (data.has_truth(trajectory, step)) {
          if (scores) scores->add(trajectory, step, own->scores());
          if (request.take_scores) request.take_scores(step, own->scores());
        }
      }
      if (!request.has_spectrum) continue;
      const bool known = own->read_truth(member, step);
      spectrum->add(step, own->mean(member), known ? own->truth() : std::span<const float>());
    }
  };
  for (std::int64_t done = 0; done < largest; done += request.members_at_once) {
    for (std::int64_t step = 0; step <= request.steps; ++step) {
      run_on_all(ranks, [&] {
        if (step == 0) {
          const std::int64_t left = std::max<std::int64_t>(0, share.count - done);
          own->start(share.first + done, std::min(request.members_at_once, left));
        } else {
          own->advance(step);
        }
        if (divided != nullptr) return;
        if (step == 0) own->begin();
        record(step);
      });
      if (divided == nullptr) {
        if (request.take) hand_over(ranks, request, *own, step, other);
        continue;
      }
      put_together(ranks, request, *own, step, box, other, layout.outputs());
      run_on_all(ranks, [&] {
        if (!measures) return;
        if (step == 0) own->begin();
        record(step);
      });
    }
  }
  gather_members(ranks, members, request, result.all);
  result.spectrum = spectrum->means(ranks, members);
  if (scores) result.scores = scores->means();
  if (request.intervals != nullptr) result.scores.coverage = request.intervals->coverage;
  return result;
}

std::size_t rollout_bytes(const LevelLayout& layout, const RolloutRequest& request, std::int64_t members,
                          int ranks) {
  const auto values = static_cast<std::size_t>(layout.state_values());
  const auto steps = static_cast<std::size_t>(request.steps + 1);
  std::size_t spectra = 0;
  if (request.has_spectrum) {
    const std::vector<std::int64_t> extents = extents_of(layout);
    spectra = FieldSpectrum::memory_bytes(extents) + values * sizeof(float) +
              4 * steps * SpectrumSums::parts * sizeof(double) *
                  static_cast<std::size_t>((request.has_spectra ? layout.outputs() : 1) *
                                           FieldSpectrum::wavenumbers_of(extents));
  }
  const std::size_t scores =
      request.has_scores
          ? ScoreSums::memory_bytes(request.steps, layout.outputs(),
                                    share_of(members, std::min(1, ranks - 1), ranks).count, ranks == 1)
          : 0;
  return MemberRollouts::memory_bytes(layout, request) +
         static_cast<std::size_t>(request.forecasts()) * values * sizeof(float) +  // of another rank
         static_cast<std::size_t>(members * request.steps) * sizeof(MemberStep) + spectra + scores;
}

}  // namespace mylos
