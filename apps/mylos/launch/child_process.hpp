// Opens an untrusted file in a separate process with limits, so that a crash of HDF5 does not end the
// command.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mylos::app {

/// The work of such a process: check a checkpoint; print its history as CSV.
inline constexpr const char* verify_child_argument = "--verify-as-child";
inline constexpr const char* history_child_argument = "--history-as-child";

/// Starts this program as `mylos MODE FILE` and passes its output to `take` in pieces. Throws Error with the
/// message of that process if it fails, or (bad_input) if the file crashed it.
void read_in_child(const std::string& mode, const std::string& file,
                   const std::function<void(std::string_view)>& take);

/// Runs in such a process, without MPI: does its work and returns its exit code. Returns nothing if the
/// arguments are not those of such a process.
[[nodiscard]] std::optional<int> work_as_child(int argument_count, char** arguments);

}  // namespace mylos::app
