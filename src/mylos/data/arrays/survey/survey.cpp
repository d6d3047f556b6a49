#include "mylos/data/arrays/survey/survey.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <exception>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/arrays/survey/touched_levels.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

/// Ranks that share a pass and may wait longer for each other than for an exchange: a rank that still reads
/// joins one often enough.
class SharedPass {
 public:
  explicit SharedPass(RankGroup& ranks)
      : ranks_(ranks), ended_(static_cast<std::size_t>(ranks.size())), exchanged_(Clock::now()) {}

  /// Called at least for each slab that this rank reads.
  void still_reads() {
    const std::chrono::duration<double> silence(ranks_.timeout_s() / 4);
    if (ended_.size() > 1 && Clock::now() - exchanged_ > silence) exchange(0);
  }
  /// Called when this rank has read its files.
  void wait_for_others() {
    do exchange(1);
    while (std::find(ended_.begin(), ended_.end(), 0) != ended_.end());
  }

 private:
  using Clock = std::chrono::steady_clock;

  void exchange(char has_ended) {
    ranks_.all_gather(&has_ended, ended_.data(), sizeof has_ended);
    exchanged_ = Clock::now();
  }

  RankGroup& ranks_;
  std::vector<char> ended_;
  Clock::time_point exchanged_;
};

class FileSums {
 public:
  /// `pass`: of all ranks, or null.
  FileSums(const SurveyedData& data, std::int64_t file, ArraySums& sums, SharedPass* pass = nullptr)
      : data_(data), file_(file), sums_(sums), pass_(pass) {}

  /// Adds the windows [first, first + count) of the file.
  void add(std::int64_t first, std::int64_t count) {
    if (count == 0) return;
    const SampleLayout& layout = data_.layout;
    const std::int64_t each = data_.windows.windows_of_trajectory(file_);
    for (std::size_t array = 0; array < layout.arrays.size(); ++array) {
      if (layout.is_constant(array)) {
        add_levels(array, 0, 0, 1);
        continue;
      }
      for (std::int64_t trajectory = first / each; trajectory * each < first + count; ++trajectory) {
        const std::int64_t begin = std::max<std::int64_t>(0, first - trajectory * each);
        const std::int64_t end = std::min(each, first + count - trajectory * each);
        data_.windows.for_runs(file_, begin, end - begin, [&](std::int64_t level, std::int64_t windows) {
          const TouchedLevels levels = touched(layout, level, windows);
          add_levels(array, trajectory, levels.begin, levels.end);
          add_differences(array, trajectory, levels);
        });
      }
    }
  }

  /// Adds all windows of the file, and all its values to the digest.
  void add_all(Xxh128& digest) {
    const SampleLayout& layout = data_.layout;
    const std::int64_t levels = data_.windows.levels(file_);
    std::vector<TouchedLevels> used;
    data_.windows.for_runs(
        file_, 0, data_.windows.windows_of_trajectory(file_),
        [&](std::int64_t level, std::int64_t windows) { used.push_back(touched(layout, level, windows)); });
    const std::vector<TouchedLevels> of_constant{{0, 1, 0, 0}};
    for (std::size_t array = 0; array < layout.arrays.size(); ++array) {
      const bool constant = layout.is_constant(array);
      const std::int64_t trajectories = constant ? 1 : data_.windows.trajectories(file_);
      for (std::int64_t trajectory = 0; trajectory < trajectories; ++trajectory) {
        const std::int64_t bytes = data_.cache.plan(array).level_bytes();
        const std::vector<TouchedLevels>& parts = constant ? of_constant : used;
        auto next = parts.begin();  // the first that does not end before the slab
        for_slabs(array, trajectory, 0, constant ? 1 : levels,
                  [&](const std::byte* slab, std::int64_t first, std::int64_t count) {
                    digest.update(slab, static_cast<std::size_t>(count * bytes));
                    while (next != parts.end() && next->end <= first) ++next;
                    for (auto part = next; part != parts.end() && part->begin < first + count; ++part) {
                      const std::int64_t begin = std::max(first, part->begin);
                      add_values(array, slab + (begin - first) * bytes,
                                 std::min(first + count, part->end) - begin);
                    }
                  });
        for (const TouchedLevels& part : used)
          if (!constant) add_differences(array, trajectory, part);
      }
    }
  }

 private:
  template <class Use>
  void for_slabs(std::size_t array, std::int64_t trajectory, std::int64_t begin, std::int64_t end,
                 const Use& use) {
    for (std::int64_t level = begin; level < end;) {
      if (pass_ != nullptr) pass_->still_reads();
      const std::int64_t count = std::min(data_.cache.levels_from(array, level), end - level);
      use(data_.cache.level(array, file_, trajectory, level), level, count);
      level += count;
    }
  }

  void add_values(std::size_t array, const std::byte* levels, std::int64_t count) {
    const SlabPlan& plan = data_.cache.plan(array);
    const std::int64_t points = plan.level_elements / data_.layout.extents[array].channels;
    for (std::int64_t i = 0; i < count; ++i, levels += plan.level_bytes()) {
      if (plan.wide) {
        add_known(array, reinterpret_cast<const double*>(levels), points, sums_.values[array]);
      } else {
        add_known(array, reinterpret_cast<const float*>(levels), points, sums_.values[array]);
      }
    }
  }

  void add_levels(std::size_t array, std::int64_t trajectory, std::int64_t begin, std::int64_t end) {
    for_slabs(array, trajectory, begin, end, [&](const std::byte* slab, std::int64_t, std::int64_t count) {
      add_values(array, slab, count);
    });
  }

  void add_differences(std::size_t array, std::int64_t trajectory, const TouchedLevels& levels) {
    if (sums_.differences[array].channels().empty()) return;
    const SlabPlan& plan = data_.cache.plan(array);
    const std::int64_t ahead = data_.layout.rollout.ahead;
    const std::int64_t points = plan.level_elements / data_.layout.extents[array].channels;
    difference_.resize(static_cast<std::size_t>(plan.level_elements));
    for (std::int64_t level = levels.newest; level < levels.newest_end; ++level) {
      if (pass_ != nullptr) pass_->still_reads();
      const std::byte* before = data_.cache.level(array, file_, trajectory, level);
      const std::byte* after = data_.cache.level(array, file_, trajectory, level + ahead);
      const auto subtract = [&](const auto* from, const auto* minus) {
        for (std::size_t i = 0; i < difference_.size(); ++i)
          difference_[i] = static_cast<float>(static_cast<double>(from[i]) - static_cast<double>(minus[i]));
      };
      if (plan.wide) {
        subtract(reinterpret_cast<const double*>(after), reinterpret_cast<const double*>(before));
      } else {
        subtract(reinterpret_cast<const float*>(after), reinterpret_cast<const float*>(before));
      }
      add_known(array, difference_.data(), points, sums_.differences[array]);
    }
  }

  /// Adds those values of a level that the mask of the array lets count and that are not missing.
  template <class T>
  void add_known(std::size_t array, const T* values, std::int64_t points, ChannelSums& sums) {
    const std::vector<std::uint8_t>& mask = data_.cache.masks()[array].counts;
    const auto size = static_cast<std::size_t>(data_.cache.plan(array).level_elements);
    const auto is_missing = [](T value) { return std::isnan(value); };
    if (std::none_of(values, values + size, is_missing)) return sums.add(values, points, mask);
    known_.resize(size);
    for (std::size_t i = 0; i < size; ++i)
      known_[i] = !is_missing(values[i]) && (mask.empty() || mask[i] != 0) ? 1 : 0;
    sums.add(values, points, known_);
  }

  SurveyedData data_;
  std::int64_t file_;
  ArraySums& sums_;
  SharedPass* pass_;
  std::vector<float> difference_;
  std::vector<std::uint8_t> known_;
};

/// Writes the sums as the number of channels and five numbers of each, which are read back exactly.
void write_sums(std::string& text, const ChannelSums& sums) {
  text += fmt::format("{}\n", sums.channels().size());
  for (const ChannelSums::Channel& channel : sums.channels())
    text += fmt::format("{:.17g} {:.17g} {:.17g} {:.17g} {:.17g}\n", channel.count, channel.mean,
                        channel.squares, channel.minimum, channel.maximum);
}

/// Reads what write_sums() wrote; returns false if it is something else.
bool read_sums(std::istream& text, std::size_t channels, ChannelSums& sums) {
  const auto number = [&](double& value) {
    std::string word;
    if (!(text >> word)) return false;
    const char* const end = word.data() + word.size();
    const auto [read, status] = std::from_chars(word.data(), end, value);  // in any locale of the program
    return status == std::errc() && read == end;
  };
  std::size_t stored = 0;
  if (!(text >> stored) || stored != channels) return false;
  std::vector<ChannelSums::Channel> all(channels);
  for (ChannelSums::Channel& channel : all) {
    if (!number(channel.count) || !number(channel.mean) || !number(channel.squares) ||
        !number(channel.minimum) || !number(channel.maximum) || !(channel.count >= 0))
      return false;
  }
  sums = ChannelSums(std::move(all));
  return true;
}

SurveyGroup survey_group(const SurveyedData& data, std::int64_t group, SharedPass& pass) {
  const std::int64_t files = data.windows.files();
  const std::int64_t first = group * files_per_group(files);
  SurveyGroup found{.sums = ArraySums(data.layout)};
  Xxh128 digest;
  for (std::int64_t file = first; file < std::min(files, first + files_per_group(files)); ++file)
    FileSums(data, file, found.sums, &pass).add_all(digest);
  found.digest = digest.digest();
  return found;
}

}  // namespace

ArraySums::ArraySums(const SampleLayout& layout) {
  for (const StoredExtents& extents : layout.extents) values.emplace_back(extents.channels);
  differences.resize(values.size());
  for (const ChannelSource& source : layout.targets)
    if (source.minus) differences[source.array] = ChannelSums(source.count);
}

void ArraySums::add(const ArraySums& other) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].add(other.values[i]);
    differences[i].add(other.differences[i]);
  }
}

std::int64_t files_per_group(std::int64_t files) {
  return (files + Survey::max_groups - 1) / Survey::max_groups;
}

std::int64_t groups_of_files(std::int64_t files) {
  const std::int64_t each = files_per_group(files);
  return (files + each - 1) / each;
}

std::string Survey::digest() const {
  Xxh128 all;
  for (const SurveyGroup& group : groups) all.update(group.digest.data(), group.digest.size());
  return all.digest();
}

std::string text_of(const SurveyGroup& group) {
  std::string text = group.digest + '\n';
  for (const auto* of : {&group.sums.values, &group.sums.differences})
    for (const ChannelSums& channels : *of) write_sums(text, channels);
  return text;
}

std::optional<SurveyGroup> read_group(std::istream& text, const SampleLayout& layout) {
  SurveyGroup group{.sums = ArraySums(layout)};
  if (!(text >> group.digest)) return std::nullopt;
  for (auto* of : {&group.sums.values, &group.sums.differences})
    for (ChannelSums& channels : *of)
      if (!read_sums(text, channels.channels().size(), channels)) return std::nullopt;
  return group;
}

Survey survey_over(const SurveyedData& data, RankGroup& ranks) {
  const std::int64_t groups = groups_of_files(data.windows.files());
  std::string own;
  SharedPass pass(ranks);  // not run_on_each(): an HDF5 library for MPI may make MPI calls
  std::exception_ptr failure;
  try {
    for (std::int64_t group = ranks.rank(); group < groups; group += ranks.size())
      own += text_of(survey_group(data, group, pass));
  } catch (...) {
    failure = std::current_exception();
  }
  pass.wait_for_others();
  run_on_all(ranks, [&] {
    if (failure) std::rethrow_exception(failure);
  });
  std::vector<std::istringstream> texts;  // of the ranks that have groups
  for (int rank = 0; rank < std::min<std::int64_t>(ranks.size(), groups); ++rank)
    texts.emplace_back(broadcast_text(ranks, own, rank));
  Survey survey;
  for (std::int64_t group = 0; group < groups; ++group) {
    auto found = read_group(texts[static_cast<std::size_t>(group % ranks.size())], data.layout);
    if (!found) fail_run(errors::internal, "rank {} sent no sums of group {}", group % ranks.size(), group);
    survey.groups.push_back(std::move(*found));
  }
  return survey;
}

ArraySums sums_of(const SurveyedData& data, const Survey& survey, std::int64_t first, std::int64_t count) {
  const WindowIndex& windows = data.windows;
  const std::int64_t per_group = files_per_group(windows.files());
  const std::int64_t end = first + count;
  ArraySums sums(data.layout);
  for (std::int64_t file = 0; file < windows.files();) {
    const std::int64_t group_end = std::min(windows.files(), file + per_group);
    const bool starts_group = file % per_group == 0;
    if (starts_group && windows.first_window(file) >= first &&
        windows.first_window(group_end - 1) + windows.windows_in(group_end - 1) <= end) {
      sums.add(survey.groups[static_cast<std::size_t>(file / per_group)].sums);
      file = group_end;
      continue;
    }
    const std::int64_t begins = std::max(first, windows.first_window(file));
    const std::int64_t ends = std::min(end, windows.first_window(file) + windows.windows_in(file));
    ArraySums of_file(data.layout);
    if (ends > begins) FileSums(data, file, of_file).add(begins - windows.first_window(file), ends - begins);
    sums.add(of_file);
    ++file;
  }
  return sums;
}

}  // namespace mylos
