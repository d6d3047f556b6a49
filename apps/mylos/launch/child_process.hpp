// A stranger's file is opened in a process of its own, with limits, so that whatever HDF5 does with it ends
// there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mylos::app {

/// What such processes do: say whether a checkpoint is valid; print the history that it keeps, as CSV.
inline constexpr const char* verify_child_argument = "--verify-as-child";
inline constexpr const char* history_child_argument = "--history-as-child";

/// Starts this program as `mylos MODE FILE` and gives `take` what it prints, in pieces. Throws Error where
/// that process does, with its message, or (bad_input) where the file has ended it.
void read_in_child(const std::string& mode, const std::string& file,
                   const std::function<void(std::string_view)>& take);

/// Of such a process, which needs no MPI: does its work and returns its exit code. Empty where the arguments
/// are not those of one.
[[nodiscard]] std::optional<int> work_as_child(int argument_count, char** arguments);

}  // namespace mylos::app
