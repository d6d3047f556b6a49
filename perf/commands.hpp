// The command line of the step programs: its options, and commands that are sent to all ranks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// Removes `name` and the word after it from `words` and returns that word; nothing if `name` is not among
/// them. Throws Error (bad_input) if no word follows.
[[nodiscard]] std::optional<std::string> take_option(std::vector<std::string>& words,
                                                     const std::string& name);

/// Calls `program` between the start and the end of MPI and Kokkos, with the words of the command line.
/// "--instructions NAME" is removed from them and sets the instructions of vector code; ONEDNN_MAX_CPU_ISA
/// and the like set those of libraries. Returns the program's exit code, or 2 after it has printed an Error.
int run_program(int argument_count, char** arguments, const std::string& name,
                const std::function<int(std::vector<std::string>& words)>& program);

/// The next line of the first rank's standard input, on all ranks; nothing at its end. The others sleep while
/// they wait, because another program may be measured.
[[nodiscard]] std::optional<std::string> next_line();

}  // namespace mylos
