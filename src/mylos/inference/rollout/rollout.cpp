#include "mylos/inference/rollout/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/inference/rollout/rollout_windows.hpp"

namespace mylos {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr FieldErrors no_errors{unknown, unknown, unknown};

/// The rollouts of a rank, a few members at a time.
class MemberRollouts {
 public:
  MemberRollouts(RowInference& network, const Trajectories& data, const RolloutRequest& request)
      : network_(network),
        data_(data),
        request_(request),
        values_(static_cast<std::size_t>(data.layout().state_values())),
        windows_(data.layout(), request.members_at_once),
        outputs_(static_cast<std::size_t>(request.members_at_once) * values_),
        states_(outputs_.size()),
        starts_(outputs_.size()),
        start_energies_(static_cast<std::size_t>(request.members_at_once)),
        truth_(values_) {}

  void start(std::int64_t first, std::int64_t count) {
    first_ = first;
    count_ = count;
    windows_.start(data_, first, count);
    for (std::int64_t member = 0; member < count; ++member) {
      windows_.state(member, of(starts_, member));
      windows_.state(member, of(states_, member));
      start_energies_[static_cast<std::size_t>(member)] =
          field_energy(of(starts_, member), data_.layout().outputs(), request_.weights);
    }
  }

  void advance(std::int64_t step) {
    if (count_ == 0) return;
    const auto outputs = std::span(outputs_).first(static_cast<std::size_t>(count_) * values_);
    network_.run(windows_.inputs(), outputs);
    windows_.advance(data_, step, outputs, step == request_.steps);
    for (std::int64_t member = 0; member < count_; ++member) windows_.state(member, of(states_, member));
  }

  [[nodiscard]] MemberStep measure(std::int64_t member, std::int64_t step) {
    const std::int64_t channels = data_.layout().outputs();
    const std::span<const float> state = of(states_, member);
    const double energy = field_energy(state, channels, request_.weights);
    const double drift = energy / start_energies_[static_cast<std::size_t>(member)] - 1;
    MemberStep found{no_errors, no_errors, energy, drift, unknown};
    if (!read_truth(member, step)) return found;
    found.network = field_errors(state, truth_, channels, request_.weights);
    found.persistence = field_errors(of(starts_, member), truth_, channels, request_.weights);
    found.truth_energy = field_energy(truth_, channels, request_.weights);
    return found;
  }

  /// Reads the truth of a step, 0 included; returns whether there is any.
  bool read_truth(std::int64_t member, std::int64_t step) {
    if (step == 0) {
      std::ranges::copy(of(starts_, member), truth_.begin());
      return true;
    }
    if (!data_.has_truth(first_ + member, step)) return false;
    data_.read_truth(first_ + member, step, truth_);
    return true;
  }

  [[nodiscard]] std::span<float> state(std::int64_t member) { return of(states_, member); }
  [[nodiscard]] std::span<const float> truth() const { return truth_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  [[nodiscard]] std::span<float> of(std::vector<float>& fields, std::int64_t member) const {
    return std::span(fields).subspan(static_cast<std::size_t>(member) * values_, values_);
  }

  RowInference& network_;
  const Trajectories& data_;
  const RolloutRequest& request_;
  std::size_t values_;  // of a state
  RolloutWindows windows_;
  std::vector<float> outputs_;
  std::vector<float> states_;
  std::vector<float> starts_;
  std::vector<double> start_energies_;
  std::vector<float> truth_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

/// A level without a grid has one point.
std::vector<std::int64_t> extents_of(const LevelLayout& layout) {
  return layout.extents.empty() ? std::vector<std::int64_t>{1} : layout.extents;
}

/// The spectra of the members of this rank, for all steps.
class SpectrumSums {
 public:
  static constexpr std::size_t parts = 3;  // network, truth, error

  SpectrumSums(const LevelLayout& layout, const RolloutRequest& request) {
    if (!request.has_spectrum) return;
    spectrum_.emplace(extents_of(layout));
    channels_ = layout.outputs();
    width_ = static_cast<std::size_t>(spectrum_->wavenumbers());
    sums_.resize(static_cast<std::size_t>(request.steps + 1) * parts * width_);
    with_truth_.resize(static_cast<std::size_t>(request.steps + 1));
    error_.resize(static_cast<std::size_t>(layout.state_values()));
  }

  void add(std::int64_t step, std::span<const float> state, std::span<const float> truth) {
    if (!spectrum_) return;
    spectrum_->add_channels(state, channels_, part(step, 0));
    if (truth.empty()) return;
    ++with_truth_[static_cast<std::size_t>(step)];
    spectrum_->add_channels(truth, channels_, part(step, 1));
    for (std::size_t i = 0; i < error_.size(); ++i) error_[i] = state[i] - truth[i];
    spectrum_->add_channels(error_, channels_, part(step, 2));
  }

  /// Returns the means over all members, on rank 0.
  std::vector<StepSpectrum> means(RankGroup& ranks, std::int64_t members) {
    if (!spectrum_) return {};
    std::vector<double> total(sums_.size());
    std::vector<double> others(sums_.size());
    for (int rank = 0; rank < ranks.size(); ++rank) {
      std::vector<double>& from = rank == ranks.rank() ? sums_ : others;
      broadcast_large(ranks, std::as_writable_bytes(std::span(from)), rank);
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += from[i];
    }
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
      result[step].network = mean(step, 0);
      if (with_truth_[step] != members) continue;
      result[step].truth = mean(step, 1);
      result[step].error = mean(step, 2);
    }
    return result;
  }

 private:
  [[nodiscard]] std::span<double> part(std::int64_t step, std::size_t which) {
    return std::span(sums_).subspan((static_cast<std::size_t>(step) * parts + which) * width_, width_);
  }

  std::optional<FieldSpectrum> spectrum_;
  std::int64_t channels_ = 0;
  std::size_t width_ = 0;
  std::vector<double> sums_;
  std::vector<std::int64_t> with_truth_;
  std::vector<float> error_;
};

/// Rank 0 takes the states of all ranks.
void hand_over(RankGroup& ranks, const RolloutRequest& request, MemberRollouts& own, std::int64_t step,
               std::vector<float>& other) {
  struct Part {
    std::int64_t first, count;
  };
  const Part mine{own.first(), own.count()};
  std::vector<Part> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, all.data(), sizeof mine);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Part& part = all[static_cast<std::size_t>(rank)];
    for (std::int64_t member = 0; member < part.count; ++member) {
      const std::span<float> state = rank == ranks.rank() ? own.state(member) : std::span(other);
      broadcast_large(ranks, std::as_writable_bytes(state), rank);
      run_on_all(ranks, [&] {
        if (ranks.rank() == 0) request.take(part.first + member, step, state);
      });
    }
  }
}

/// The numbers of all members, from the ranks that have them.
template <class T>
void gather_members(RankGroup& ranks, std::int64_t members, std::size_t of_member, std::vector<T>& values) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const Share share = share_of(members, rank, ranks.size());
    const auto own = std::span(values).subspan(static_cast<std::size_t>(share.first) * of_member,
                                               static_cast<std::size_t>(share.count) * of_member);
    broadcast_large(ranks, std::as_writable_bytes(own), rank);
  }
}

/// A mean over the values that are known.
struct KnownMean {
  double sum = 0;
  std::int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] double value() const { return count == 0 ? unknown : sum / static_cast<double>(count); }
};

}  // namespace

std::int64_t RolloutResult::first_not_finite(std::int64_t member) const {
  for (std::int64_t step = 1; step <= steps; ++step)
    if (!std::isfinite(at(member, step).energy)) return step;
  return 0;
}

MemberStep RolloutResult::mean(std::int64_t step) const {
  KnownMean network[3];
  KnownMean persistence[3];
  KnownMean energy;
  KnownMean drift;
  KnownMean truth_energy;
  for (std::int64_t member = 0; member < members; ++member) {
    const MemberStep& one = at(member, step);
    energy.add(one.energy);
    drift.add(one.energy_drift);
    if (std::isnan(one.truth_energy)) continue;
    truth_energy.add(one.truth_energy);
    const auto add = [](KnownMean(&to)[3], const FieldErrors& errors) {
      to[0].add(errors.relative_l2);
      to[1].add(errors.nrmse);
      to[2].add(errors.correlation);
    };
    add(network, one.network);
    add(persistence, one.persistence);
  }
  const auto errors = [](const KnownMean(&of)[3]) {
    return FieldErrors{of[0].value(), of[1].value(), of[2].value()};
  };
  return {errors(network), errors(persistence), energy.value(), drift.value(), truth_energy.value()};
}

std::int64_t RolloutResult::compared_steps() const {
  std::int64_t count = 0;
  for (std::int64_t step = 1; step <= steps; ++step) count += std::isnan(mean(step).truth_energy) ? 0 : 1;
  return count;
}

double RolloutResult::mean_nrmse() const {
  double sum = 0;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const MemberStep of_members = mean(step);
    if (!std::isnan(of_members.truth_energy)) sum += of_members.network.nrmse;
  }
  return sum / static_cast<double>(compared_steps());
}

RolloutResult roll_out(RowInference& network, RankGroup& ranks, const Trajectories& data,
                       const RolloutRequest& request) {
  const LevelLayout& layout = data.layout();
  const std::int64_t members = data.members();
  RolloutResult result{.steps = request.steps, .members = members, .all = {}, .spectrum = {}};
  std::optional<MemberRollouts> own;
  std::optional<SpectrumSums> spectrum;
  std::vector<float> other;
  run_on_all(ranks, [&] {
    result.all.resize(static_cast<std::size_t>(members * request.steps));
    own.emplace(network, data, request);
    spectrum.emplace(layout, request);
    if (ranks.size() > 1) other.resize(static_cast<std::size_t>(layout.state_values()));
  });
  const Share share = share_of(members, ranks.rank(), ranks.size());
  const std::int64_t largest = share_of(members, 0, ranks.size()).count;
  const auto record = [&](std::int64_t step) {
    for (std::int64_t member = 0; member < own->count(); ++member) {
      const std::int64_t trajectory = own->first() + member;
      if (step > 0)
        result.all[static_cast<std::size_t>(trajectory * request.steps + step - 1)] =
            own->measure(member, step);
      if (!request.has_spectrum) continue;
      const bool known = own->read_truth(member, step);
      spectrum->add(step, own->state(member), known ? own->truth() : std::span<const float>());
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
        record(step);
      });
      if (request.take) hand_over(ranks, request, *own, step, other);
    }
  }
  gather_members(ranks, members, static_cast<std::size_t>(request.steps), result.all);
  result.spectrum = spectrum->means(ranks, members);
  return result;
}

std::size_t rollout_bytes(const LevelLayout& layout, const RolloutRequest& request, std::int64_t members) {
  const auto values = static_cast<std::size_t>(layout.state_values());
  const std::size_t states = (3 * static_cast<std::size_t>(request.members_at_once) + 3) * values;
  const auto steps = static_cast<std::size_t>(request.steps + 1);
  std::size_t spectra = 0;
  if (request.has_spectrum) {
    const std::vector<std::int64_t> extents = extents_of(layout);
    spectra = FieldSpectrum::memory_bytes(extents) +
              3 * steps * SpectrumSums::parts * sizeof(double) *
                  static_cast<std::size_t>(FieldSpectrum::wavenumbers_of(extents));
  }
  return RolloutWindows::memory_bytes(layout, request.members_at_once) + states * sizeof(float) +
         static_cast<std::size_t>(request.members_at_once) * sizeof(double) +
         static_cast<std::size_t>(members * request.steps) * sizeof(MemberStep) + spectra;
}

}  // namespace mylos
