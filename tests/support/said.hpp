// Assertions on the text of an Error that was caught, apart from its wording.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/error.hpp"

namespace mylos::test {

/// Succeeds if the text has every part: a key, a position FILE:LINE, a name, a number.
[[nodiscard]] ::testing::AssertionResult has_parts(std::string_view text, const auto& parts) {
  for (const std::string_view part : parts) {
    if (text.find(part) == std::string_view::npos)
      return ::testing::AssertionFailure() << "expected \"" << part << "\": " << text;
  }
  return ::testing::AssertionSuccess();
}

/// Succeeds if `what`, of an Error, ends with the id's name and its message has every part.
[[nodiscard]] ::testing::AssertionResult says_all(std::string_view what, ErrorId id, const auto& parts) {
  const std::string end = " [" + std::string(name_of(id)) + "]";
  if (!what.ends_with(end)) return ::testing::AssertionFailure() << "expected" << end << ": " << what;
  return has_parts(what.substr(0, what.size() - end.size()), parts);
}

[[nodiscard]] inline ::testing::AssertionResult says(std::string_view what, ErrorId id,
                                                     std::initializer_list<std::string_view> parts) {
  return says_all(what, id, parts);
}
[[nodiscard]] inline ::testing::AssertionResult says(std::string_view what, ErrorId id,
                                                     const std::vector<std::string>& parts) {
  return says_all(what, id, parts);
}
/// The same of the parts alone.
[[nodiscard]] inline ::testing::AssertionResult says(std::string_view what,
                                                     std::initializer_list<std::string_view> parts) {
  return has_parts(what, parts);
}

/// Returns what() of the Error that `action` throws, which must have this exit code.
template <class Action>
std::string refusal_of(Action&& action, ExitCode code = ExitCode::bad_input) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

/// Returns the name of the cause of the Error that `action` throws; "" if it throws none.
template <class Action>
std::string cause_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(name_of(error.id()));
  }
  return {};
}

}  // namespace mylos::test
