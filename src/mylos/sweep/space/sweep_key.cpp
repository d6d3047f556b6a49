#include "mylos/sweep/space/sweep_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/number_text.hpp"
#include "mylos/config/schema/schema.hpp"
#include "mylos/io/tables/csv_rows.hpp"

namespace mylos {
namespace {

/// Keys that are the same for all members, and what sets them.
struct OwnKey {
  const char* key;
  const char* reason;
};
constexpr OwnKey own_keys[] = {
    {"run.folder", "every member has a separate folder; --out names that of the sweep"},
    {"run.threads", "all members run on the same threads; give one value"},
    {"run.walltime", "all members have the time of the job; give one value"},
    {"run.name", "every member's name is that of the deck with its number; give one value"},
};

/// Splits at separators that are not within quotes, brackets or braces.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  char quote = 0;
  int depth = 0;
  for (const char letter : text) {
    if (quote != 0) {
      if (letter == quote) quote = 0;
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
    } else if (letter == '[' || letter == '{') {
      ++depth;
    } else if (letter == ']' || letter == '}') {
      --depth;
    } else if (letter == separator && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += letter;
  }
  return parts;
}

bool is_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  });
}

void require_range(const SweepKey& range, const std::string& word) {
  const auto refuse = [&](const std::string& problem) {
    fail_input(errors::bad_value, "command line: '{}': {}", printable(word), problem);
  };
  if (!std::isfinite(range.low) || !std::isfinite(range.high))
    refuse("the ends of a range are finite numbers");
  if (range.is_logarithmic && (range.low <= 0 || range.high <= 0))
    refuse("a logarithmic range has two ends above 0; `linear` ranges and lists may have 0");
  if (range.low >= range.high)
    refuse("the first end of a range is below the second; give a single value without a colon");
  if (range.is_integer && (range.low != std::floor(range.low) || range.high != std::floor(range.high)))
    refuse(fmt::format("{} takes integers: so are the ends of its range", range.key));
}

/// Returns the range key=low:high[:log|linear]; nothing if the values are something else.
std::optional<SweepKey> range_of(const std::string& key, const std::string& text, const std::string& word) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const std::optional<double> low = to_number<double>(parts[0]);
  const std::optional<double> high = to_number<double>(parts[1]);
  if (!low || !high) return std::nullopt;
  const std::string scale = parts.size() == 3 ? parts[2] : "linear";
  if (parts.size() == 3 && !is_word(scale)) return std::nullopt;  // a time, 01:30:00
  if (scale != "log" && scale != "linear")
    fail_input(errors::bad_argument, "command line: '{}': the scale of a range is log or linear, not {}",
               printable(word), printable(scale));
  SweepKey range{.key = key, .low = *low, .high = *high, .is_logarithmic = scale == "log"};
  if (const Key* found = schema().find_key(key)) {
    range.is_integer = found->type.starts_with("integer");
    if (!range.is_integer && !found->type.starts_with("number"))
      fail_input(errors::bad_value,
                 "command line: '{}': only numbers have ranges, and {} takes {}{}; give a list, {}=a,b",
                 printable(word), key, found->article, found->type, key);
  } else {
    fail_input(errors::unknown_key, "command line: {}", explain_unknown_key(key));
  }
  require_range(range, word);
  return range;
}

SweepKey list_of(const std::string& key, std::vector<std::string> values, const std::string& word) {
  std::set<std::string> known;
  for (std::string& value : values) {
    value = std::string(trimmed(value));
    if (value.empty())
      fail_input(errors::bad_value,
                 "command line: '{}': {} has an empty value; give a list, {}=a,b, or a range, {}=low:high",
                 printable(word), printable(key), printable(key), printable(key));
    if (!known.insert(value).second)
      fail_input(errors::bad_value, "command line: '{}': the value {} is given twice", printable(word),
                 printable(value));
  }
  return {.key = key, .values = std::move(values)};
}

void refuse_own(const SweepKey& key) {
  for (const OwnKey& own : own_keys) {
    if (key.key == own.key)
      fail_input(errors::bad_argument, "command line: a sweep cannot vary {}: {}", own.key, own.reason);
  }
}

}  // namespace

SweepWords read_sweep_words(const std::vector<std::string>& words) {
  SweepWords read;
  std::set<std::string> known;
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos || sign == 0)
      fail_input(errors::bad_argument,
                 "command line: '{}' is not key=values, such as optimizer.lr=1e-3,1e-2 or "
                 "optimizer.lr=1e-4:1e-1:log",
                 printable(word));
    const std::string key = word.substr(0, sign);
    const std::string text = word.substr(sign + 1);
    if (!known.insert(key).second)
      fail_input(errors::duplicate_key, "command line: '{}' is given twice", printable(key));
    std::optional<SweepKey> varied = range_of(key, text, word);
    if (!varied) varied = list_of(key, split(text, ','), word);
    if (varied->values.size() == 1) {
      if (key == "run.folder") refuse_own(*varied);
      read.overrides.push_back(word);
    } else {
      refuse_own(*varied);
      read.keys.push_back(*std::move(varied));
    }
  }
  if (read.keys.empty())
    fail_input(errors::missing_argument,
               "no key varies: a sweep has one key or more with several values, such as "
               "optimizer.lr=1e-3,1e-2, or with "
               "a range, optimizer.lr=1e-4:1e-1:log; `mylos train` trains a single deck");
  return read;
}

}  // namespace mylos
