#include "mylos/data/arrays/statistics_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

constexpr const char* statistics_heading = "mylos-array-statistics 1";
constexpr std::uintmax_t max_statistics_bytes = std::uintmax_t{256} << 20;
constexpr std::size_t max_entries = 8;  // the oldest are dropped

struct StatisticsEntry {
  std::string key;
  std::string text;
};

/// Writes the sums as "count channels" and four numbers per channel, which are read back exactly.
void write_sums(std::string& text, const ChannelSums& sums) {
  text += fmt::format("{:.17g} {}\n", sums.count(), sums.channels().size());
  for (const ChannelSums::Channel& channel : sums.channels())
    text += fmt::format("{:.17g} {:.17g} {:.17g} {:.17g}\n", channel.mean, channel.squares, channel.minimum,
                        channel.maximum);
}

/// Reads what write_sums() wrote; returns false if it is something else.
bool read_sums(std::istream& text, std::size_t channels, ChannelSums& sums) {
  const auto number = [&](double& value) {
    std::string word;
    if (!(text >> word)) return false;
    char* end = nullptr;
    value = std::strtod(word.c_str(), &end);
    return end == word.c_str() + word.size();
  };
  double count = 0;
  std::size_t stored = 0;
  if (!number(count) || !(text >> stored) || stored != channels || !(count >= 0)) return false;
  std::vector<ChannelSums::Channel> all(channels);
  for (ChannelSums::Channel& channel : all) {
    if (!number(channel.mean) || !number(channel.squares) || !number(channel.minimum) ||
        !number(channel.maximum))
      return false;
  }
  sums = ChannelSums(count, std::move(all));
  return true;
}

[[noreturn]] void fail_statistics(const std::string& path) {
  fail_input(ErrorId::damaged, "{}: is no file of data.statistics, or is damaged; remove it or name another",
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
  if (!std::getline(file, line) || line != statistics_heading) fail_statistics(path);
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
    if (!file.read(entry.text.data(), static_cast<std::streamsize>(bytes))) fail_statistics(path);
    actual.update(entry.text.data(), bytes);
    if (actual.digest() != digest) fail_statistics(path);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::optional<Survey> stored_survey(const std::string& path, const std::string& key,
                                    const SampleLayout& layout, std::int64_t groups) {
  const std::vector<StatisticsEntry> entries = read_entries(path);
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const StatisticsEntry& each) { return each.key == key; });
  if (entry == entries.end()) return std::nullopt;
  std::istringstream text(entry->text);
  Survey survey;
  std::int64_t count = 0;
  if (!(text >> survey.digest >> count) || count != groups) fail_statistics(path);
  for (std::int64_t i = 0; i < groups; ++i) {
    ArraySums& sums = survey.groups.emplace_back(layout);
    for (auto* of : {&sums.values, &sums.differences}) {
      for (ChannelSums& channels : *of)
        if (!read_sums(text, channels.channels().size(), channels)) fail_statistics(path);
    }
  }
  return survey;
}

void store_survey(const std::string& path, const std::string& key, const Survey& survey) {
  std::vector<StatisticsEntry> entries = read_entries(path);
  std::erase_if(entries, [&](const StatisticsEntry& each) { return each.key == key; });
  if (entries.size() >= max_entries) entries.erase(entries.begin());
  StatisticsEntry added{key, fmt::format("{} {}\n", survey.digest, survey.groups.size())};
  for (const ArraySums& sums : survey.groups) {
    for (const auto* of : {&sums.values, &sums.differences})
      for (const ChannelSums& channels : *of) write_sums(added.text, channels);
  }
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
    fail_run(ErrorId::cannot_write, "{}: cannot be written", path);
  }
}

}  // namespace mylos
