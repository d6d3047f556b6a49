#include "mylos/data/arrays/survey/statistics_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

constexpr const char* statistics_heading = "mylos-array-statistics 3";
constexpr std::array earlier_headings = {"mylos-array-statistics 1", "mylos-array-statistics 2"};
constexpr std::uintmax_t max_statistics_bytes = std::uintmax_t{256} << 20;
constexpr std::size_t max_entries = 8;  // the oldest are dropped

struct StatisticsEntry {
  std::string key;
  std::string text;
};

[[noreturn]] void fail_statistics(const std::string& path) {
  fail_input(errors::damaged, "{}: is no file of data.statistics, or is damaged; remove it or name another",
             path);
}

/// Reads the entries, each "entry KEY BYTES" and this number of bytes.
std::vector<StatisticsEntry> read_entries(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  require_regular_file(path);
  if (std::filesystem::file_size(path, ignored) > max_statistics_bytes) fail_statistics(path);
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line)) {
    require_read(file, path);
    fail_statistics(path);
  }
  if (std::ranges::find(earlier_headings, line) != earlier_headings.end()) return {};  // are found anew
  if (line != statistics_heading) fail_statistics(path);
  std::vector<StatisticsEntry> entries;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::string digest;
    std::size_t bytes = 0;
    StatisticsEntry entry;
    if (!(words >> word >> entry.key >> digest >> bytes) || word != "entry" || bytes > max_statistics_bytes)
      fail_statistics(path);
    entry.text.resize(bytes);
    Xxh128 actual;
    file.read(entry.text.data(), static_cast<std::streamsize>(bytes));
    require_read(file, path);
    actual.update(entry.text.data(), bytes);
    if (!file || actual.digest() != digest) fail_statistics(path);
    entries.push_back(std::move(entry));
  }
  require_read(file, path);
  return entries;
}

/// Returns the entry of this key; nothing if there is no such file or entry.
std::optional<Survey> stored_survey(const std::string& path, const std::string& key,
                                    const SampleLayout& layout, std::int64_t groups) {
  const std::vector<StatisticsEntry> entries = read_entries(path);
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const StatisticsEntry& each) { return each.key == key; });
  if (entry == entries.end()) return std::nullopt;
  std::istringstream text(entry->text);
  Survey survey;
  std::int64_t count = 0;
  if (!(text >> count) || count != groups) fail_statistics(path);
  for (std::int64_t i = 0; i < groups; ++i) {
    auto group = read_group(text, layout);
    if (!group) fail_statistics(path);
    survey.groups.push_back(std::move(*group));
  }
  return survey;
}

/// Adds the entry, or replaces the one of this key. Processes may do so at the same time: the last one's file
/// stays.
void store_survey(const std::string& path, const std::string& key, const Survey& survey) {
  std::vector<StatisticsEntry> entries = read_entries(path);
  std::erase_if(entries, [&](const StatisticsEntry& each) { return each.key == key; });
  if (entries.size() >= max_entries) entries.erase(entries.begin());
  StatisticsEntry added{key, fmt::format("{}\n", survey.groups.size())};
  for (const SurveyGroup& group : survey.groups) added.text += text_of(group);
  entries.push_back(std::move(added));
  std::string text = std::string(statistics_heading) + "\n";
  for (const StatisticsEntry& entry : entries) {
    Xxh128 digest;
    digest.update(entry.text.data(), entry.text.size());
    text += fmt::format("entry {} {} {}\n{}", entry.key, digest.digest(), entry.text.size(), entry.text);
  }
  // Each process writes a file of its own, and gives it the name.
  const std::string own = fmt::format("{}.{}", path, ::getpid());
  publish_text(own, text);
  if (std::rename(own.c_str(), path.c_str()) != 0) {
    std::remove(own.c_str());
    fail_run(errors::cannot_write, "{}: cannot be written", path);
  }
}

}  // namespace

Survey kept_survey(const std::string& path, const std::string& key, const SurveyedData& data,
                   RankGroup& ranks) {
  if (path.empty()) return survey_over(data, ranks);
  std::optional<Survey> stored;
  run_on_all(ranks, [&] {
    const auto groups = groups_of_files(data.windows.files());
    stored = stored_survey(path, key, data.layout, groups);
  });
  std::int64_t found = stored ? 1 : 0;
  ranks.add_up({&found, 1});
  if (found == ranks.size()) return *stored;
  const Survey survey = survey_over(data, ranks);
  run_on_all(ranks, [&] {
    if (ranks.rank() == 0) store_survey(path, key, survey);
  });
  return survey;
}

}  // namespace mylos
