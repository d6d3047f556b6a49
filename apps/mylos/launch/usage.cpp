#include "launch/usage.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/base/numbers/number_text.hpp"
#include "mylos/config/schema/key_names.hpp"

namespace mylos::app {
namespace {

/// The recognised commands, outermost first: mylos, prepare, csv.
std::vector<const CLI::App*> understood(const CLI::App& app) {
  std::vector<const CLI::App*> chain{&app};
  while (!chain.back()->get_subcommands().empty()) chain.push_back(chain.back()->get_subcommands().back());
  return chain;
}

std::string name_of(const std::vector<const CLI::App*>& chain) {
  std::string name;
  for (const CLI::App* app : chain) name += (name.empty() ? "" : " ") + app->get_name();
  return name;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The most similar valid word, or all valid words.
std::string advice(const std::string& word, const std::vector<std::string>& right, const char* kind) {
  const auto near = nearest(word, right, 1 + word.size() / 4);
  return near ? fmt::format("did you mean '{}'?", *near)
              : fmt::format("the {} are {}", kind, fmt::join(right, ", "));
}

/// Explains an option that is none. It may be a key of the deck: --epochs, --optimizer.lr, --batch-size=8.
std::string explain_option(const std::string& word, const CLI::App& app) {
  const std::string option = word.substr(0, word.find('='));
  const std::vector<std::string> right = options_of(app);
  const auto start = std::min(option.find_first_not_of('-'), option.size());
  const auto key = key_called(std::string_view(option).substr(start));
  const bool takes_keys = app.get_option_no_throw("overrides") != nullptr;
  if (takes_keys && key && !nearest(option, right, 1))
    return fmt::format("keys of the deck are given without dashes: {}=VALUE", *key);
  return advice(option, right, "options");
}

ErrorId id_of(const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::RequiredError*>(&error)) return errors::missing_argument;
  const bool is_conflict =
      dynamic_cast<const CLI::ExcludesError*>(&error) || dynamic_cast<const CLI::RequiresError*>(&error);
  return is_conflict ? errors::arguments_conflict : errors::bad_argument;
}

/// CLI11's message; of a missing argument also what it is.
std::string explain_value(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) return text;
  for (const CLI::Option* option : app.get_options()) {
    if (text == option->get_name() + " is required" && !option->get_description().empty())
      return fmt::format("{}: {}", text, option->get_description());
  }
  return text;
}

Error explain(const std::vector<const CLI::App*>& chain, const CLI::ParseError& error) {
  // CLI11 reports a missing command before it reports unknown words.
  const CLI::App& last = *chain.back();
  for (const CLI::App* app : chain) {
    const std::vector<std::string> unknown = app->remaining();
    if (unknown.empty()) continue;
    const std::string& word = unknown.front();
    if (word.starts_with('-')) {
      return {ExitCode::bad_input, errors::unknown_option,
              fmt::format("unknown option '{}'; {}", printable(word), explain_option(word, *app))};
    }
    if (app == &last && !commands_of(last).empty()) {
      return {ExitCode::bad_input, errors::unknown_command,
              fmt::format("unknown command '{}'; {}", printable(word),
                          advice(word, commands_of(last), "commands"))};
    }
    return {ExitCode::bad_input, errors::extra_argument,
            fmt::format("'{}' is one argument too many", printable(word))};
  }
  if (!commands_of(last).empty()) {
    return {ExitCode::bad_input, errors::missing_argument,
            fmt::format("a command is missing; the commands are {}", fmt::join(commands_of(last), ", "))};
  }
  return {ExitCode::bad_input, id_of(error), explain_value(last, error)};
}

}  // namespace

CLI::Validator integer_from(std::int64_t least, std::int64_t most) {
  const auto problem = [least, most](std::string& text) {
    const auto value = to_number<std::int64_t>(text);
    const bool has_zeros = value && fmt::format("{}", *value) != text;  // CLI11 would read 010 as octal
    const bool good = value && !has_zeros && *value >= least && *value <= most;
    return good ? std::string()
                : fmt::format("'{}' is not an integer from {} to {}", printable(text), least, most);
  };
  return {problem, fmt::format("from {}", least)};
}

CLI::Validator bytes_from(std::int64_t least, std::int64_t most) {
  const auto problem = [least, most](std::string& text) {
    const auto bytes = parse_bytes(text);
    const bool good = bytes && *bytes >= least && *bytes <= most;
    return good ? std::string()
                : fmt::format("'{}' is not a byte count from {} to {}, such as \"64 KiB\"", printable(text),
                              format_bytes(least), format_bytes(most));
  };
  return {problem, "bytes"};
}

CLI::Validator number_from_0() {
  const auto problem = [](std::string& text) {
    const auto value = to_number<double>(text);
    const bool good = value && *value >= 0 && std::isfinite(*value);
    return good ? std::string() : fmt::format("'{}' is not a number of at least 0", printable(text));
  };
  return {problem, "from 0"};
}

void refuse_empty(const CLI::App& app) {
  for (const CLI::App* part : understood(app)) {
    for (const CLI::Option* option : part->get_options()) {
      for (const std::string& given : option->results()) {
        if (given.empty())
          throw CLI::ValidationError(option->get_name(), "is empty; give a value or leave it out");
      }
    }
  }
}

ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error) {
  const int rank = rank_of_start();
  const bool asked_for = error.get_exit_code() == 0;  // --help, --version
  if (rank == 0 && asked_for) app.exit(error);
  if (rank == 0 && !asked_for) {
    const auto chain = understood(app);
    const std::string name = name_of(chain);
    print_error(fmt::format("{}: {}\n`{} --help` says more.", name, explain(chain, error).what(), name));
  }
  return asked_for ? ExitCode::done : ExitCode::bad_input;
}

}  // namespace mylos::app
