#include "launch/same_start.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/comm/ranks/same_code.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"

namespace mylos::app {
namespace {

using Words = std::vector<std::string>;

constexpr char end_of_word = '\0';  // which no word of a command line contains

std::string joined(int argument_count, char** arguments) {
  std::string text;
  for (int i = 1; i < argument_count; ++i) text += std::string(arguments[i]) + end_of_word;
  return text;
}

Words words_of(const std::string& text) {
  Words words;
  for (std::size_t first = 0; first < text.size(); first = text.find(end_of_word, first) + 1)
    words.push_back(text.substr(first, text.find(end_of_word, first) - first));
  return words;
}

/// The index of the first word that differs between them.
std::size_t first_difference(const std::vector<Words>& lines) {
  const auto differs = [&](std::size_t position) {
    return std::any_of(lines.begin(), lines.end(), [&](const Words& words) {
      return position >= words.size() || position >= lines.front().size() ||
             words[position] != lines.front()[position];
    });
  };
  std::size_t position = 0;
  while (!differs(position)) ++position;
  return position;
}

}  // namespace

void require_same_start(int argument_count, char** arguments) {
  RankGroup& ranks = ranks_of_start();
  require_same_code(ranks);
  std::vector<ValueOfRanks> given = values_of_ranks(ranks, joined(argument_count, arguments));
  if (given.size() == 1) return;
  std::vector<Words> lines;
  for (const ValueOfRanks& line : given) lines.push_back(words_of(line.value));
  const std::size_t position = first_difference(lines);
  for (std::size_t i = 0; i < given.size(); ++i)
    given[i].value =
        position < lines[i].size() ? fmt::format("'{}'", printable(lines[i][position])) : "nothing";
  std::string before = "mylos";
  for (std::size_t i = 0; i < position; ++i) before += ' ' + lines.front()[i];
  fail_input(
      errors::ranks_disagree,
      "the ranks were given different command lines: after `{}` there is {}; give all of them the same",
      printable(before, 200), describe(given));
}

}  // namespace mylos::app
