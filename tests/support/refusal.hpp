// Assertions on what a refusal says, apart from its wording.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "mylos/base/error.hpp"

namespace mylos::test {

/// Succeeds if `function` throws an Error with this id whose message has every part: a key, a position
/// FILE:LINE, a name, a number.
template <class Function>
[[nodiscard]] ::testing::AssertionResult refuses(ErrorId id, std::initializer_list<std::string_view> parts,
                                                 Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    if (error.id() != id)
      return ::testing::AssertionFailure() << "expected " << name_of(id) << ": " << error.what();
    for (const std::string_view part : parts) {
      if (error.message().find(part) == std::string_view::npos)
        return ::testing::AssertionFailure() << "expected \"" << part << "\": " << error.what();
    }
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "nothing was thrown; expected " << name_of(id);
}

/// The same, of an Error with this exit code.
template <class Function>
[[nodiscard]] ::testing::AssertionResult refuses(ExitCode code, ErrorId id,
                                                 std::initializer_list<std::string_view> parts,
                                                 Function&& function) {
  ExitCode found = code;
  const ::testing::AssertionResult result = refuses(id, parts, [&] {
    try {
      function();
    } catch (const Error& error) {
      found = error.code();
      throw;
    }
  });
  if (result && found != code)
    return ::testing::AssertionFailure()
           << "exit code " << static_cast<int>(found) << ", not " << static_cast<int>(code);
  return result;
}

}  // namespace mylos::test
