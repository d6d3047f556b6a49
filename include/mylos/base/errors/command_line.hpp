// Error ids of the command line. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// The first word of the command line is no command of `mylos`.
inline constexpr ErrorId unknown_command{"unknown-command"};
/// The command has no such option.
inline constexpr ErrorId unknown_option{"unknown-option"};
/// The command needs an argument or a command that is not given.
inline constexpr ErrorId missing_argument{"missing-argument"};
/// The command line has more arguments than the command takes.
inline constexpr ErrorId extra_argument{"extra-argument"};
/// The value of an argument, option or environment variable is not of the form or in the range that the
/// message states.
inline constexpr ErrorId bad_argument{"bad-argument"};
/// Two arguments exclude each other, or one needs another that is missing.
inline constexpr ErrorId arguments_conflict{"arguments-conflict"};
/// The command runs on one rank, or on several, and was started otherwise.
inline constexpr ErrorId wrong_rank_count{"wrong-rank-count"};
/// The ranks were started with different command lines, decks, programs, folders or data.
inline constexpr ErrorId ranks_disagree{"ranks-disagree"};

}  // namespace mylos::errors
