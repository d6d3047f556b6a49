#include "options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/mylos.hpp"

namespace reacting {

namespace {

struct Option {
  std::string_view name, meaning;
  std::function<bool(Options&, std::string_view)> set;  // false: not such a value
  std::string_view values;                              // that are right
};

/// An option that is a number of [low, high].
template <class Number>
Option number(std::string_view name, std::string_view meaning, Number& (*member)(Options&), Number low,
              Number high, std::string_view values) {
  const auto set = [=](Options& options, std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high)) {
      return false;
    }
    member(options) = value;
    return true;
  };
  return {name, meaning, set, values};
}

bool set_mode(Options& options, std::string_view text) {
  if (text == "compare") options.mode = Mode::compare;
  if (text == "alone") options.mode = Mode::alone;
  if (text == "surrogate") options.mode = Mode::surrogate;
  return text == "compare" || text == "alone" || text == "surrogate";
}

bool set_restart(Options& options, std::string_view text) {
  options.restart = text == "true";
  return text == "true" || text == "false";
}

bool set_folder(Options& options, std::string_view text) {
  options.folder = text;
  return !text.empty();
}

std::vector<Option> known_options() {
  constexpr int many = std::numeric_limits<int>::max();
  constexpr auto counts = "an integer from 1";
  constexpr auto counts_or_0 = "an integer from 0";
  constexpr auto positive = "a number above 0";
  constexpr auto shares = "a number from 0 to 1";
  constexpr double tiny = std::numeric_limits<double>::min();
  constexpr double huge = std::numeric_limits<double>::max();
  return {
      {"mode", "compare: without and with surrogate, interleaved", set_mode, "compare, alone or surrogate"},
      number<int>(
          "cells", "Cells per side of the square", [](Options& o) -> int& { return o.cells; }, 2, 16384,
          "an integer from 2 to 16384"),
      number<int>(
          "steps", "Time steps of the run", [](Options& o) -> int& { return o.steps; }, 1, many, counts),
      number<double>(
          "dt", "Length of a time step, s", [](Options& o) -> double& { return o.dt; }, tiny, huge, positive),
      number<double>(
          "speed", "Speed of the flow, sides per s", [](Options& o) -> double& { return o.speed; }, 0.0, huge,
          "a number from 0"),
      number<double>(
          "diffusivity", "Sides^2 per s", [](Options& o) -> double& { return o.diffusivity; }, tiny, huge,
          positive),
      number<double>(
          "tolerance", "Relative tolerance of the Rosenbrock method",
          [](Options& o) -> double& { return o.tolerance; }, 1e-12, 0.1, "a number from 1e-12 to 0.1"),
      number<double>(
          "error_bound", "Bound of the surrogate's measured error",
          [](Options& o) -> double& { return o.surrogate.error_bound; }, tiny, huge, positive),
      number<double>(
          "check_share", "Share of the network's cells that is integrated as a check",
          [](Options& o) -> double& { return o.surrogate.check_share; }, 0.0, 1.0, shares),
      number<double>(
          "explore_share", "Share of the other cells that is sampled",
          [](Options& o) -> double& { return o.surrogate.explore_share; }, 0.0, 1.0, shares),
      number<int>(
          "window", "Samples per rank from which batches are drawn",
          [](Options& o) -> int& { return o.surrogate.window; }, 1, many, counts),
      number<int>(
          "batch", "Samples per rank in a training step; at most data.micro_batch of the deck",
          [](Options& o) -> int& { return o.surrogate.batch; }, 1, many, counts),
      number<int>(
          "learning_steps", "Training steps per time step while the network computes few cells",
          [](Options& o) -> int& { return o.surrogate.learning_steps; }, 1, 1023,
          "an integer from 1 to 1023"),
      number<int>(
          "idle_steps", "Time steps per training step afterwards",
          [](Options& o) -> int& { return o.surrogate.idle_steps; }, 1, many, counts),
      {"folder", "Folder of everything that is written", set_folder, "a path"},
      number<int>(
          "save_every", "Time steps from one restart file to the next; 0: none before the end",
          [](Options& o) -> int& { return o.save_every; }, 0, many, counts_or_0),
      {"restart", "Continue from the restart files in the folder", set_restart, "true or false"},
      number<int>(
          "stop_after", "Write restart files and stop after this time step; 0: run to the end",
          [](Options& o) -> int& { return o.stop_after; }, 0, many, counts_or_0),
  };
}

void set_option(Options& options, std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  std::string names;
  for (const Option& option : known_options()) {
    if (option.name == name) {
      const std::string_view value = equals == argument.npos ? "" : argument.substr(equals + 1);
      if (equals == argument.npos || !option.set(options, value)) {
        mylos::fail_input(mylos::errors::bad_argument, "{}: write {}=VALUE, where VALUE is {}", argument,
                          name, option.values);
      }
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string(option.name);
  }
  mylos::fail_input(mylos::errors::unknown_option, "'{}' is not an option; options are {}", argument, names);
}

}  // namespace

Options read_options(int count, const char* const* arguments) {
  Options options;
  if (count < 2) {
    mylos::fail_input(mylos::errors::missing_argument,
                      "the deck of the network is missing: reacting surrogate.toml");
  }
  options.surrogate.deck = arguments[1];
  for (int i = 2; i < count; ++i) set_option(options, arguments[i]);
  if (options.mode == Mode::compare &&
      (options.restart || options.save_every > 0 || options.stop_after > 0)) {
    mylos::fail_input(
        mylos::errors::arguments_conflict,
        "restart, save_every and stop_after are for mode=alone and mode=surrogate, but mode is compare");
  }
  return options;
}

std::string help_text() {
  std::string text =
      "usage: mpirun -n RANKS reacting DECK [name=value ...]\n"
      "A reacting flow that learns a surrogate of its chemistry while it computes. DECK describes the "
      "network.\n";
  for (const Option& option : known_options()) {
    text += fmt::format("  {:<15} {} ({})\n", option.name, option.meaning, option.values);
  }
  return text;
}

}  // namespace reacting
