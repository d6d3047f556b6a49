// The command line of the step programs: its options, and commands that are sent to all ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// Removes `name` and the word after it from `words` and returns that word; nothing if `name` is not among
/// them. Throws Error (bad_input) if no word follows.
[[nodiscard]] std::optional<std::string> take_option(std::vector<std::string>& words,
                                                     const std::string& name);

/// Removes "--instructions NAME" from `words` and sets the instructions of vector code. Throws Error
/// (bad_input) for an unknown name. ONEDNN_MAX_CPU_ISA and the like set those of libraries.
void hold_to_instructions(std::vector<std::string>& words);

/// The next line of the first rank's standard input, on all ranks; nothing at its end. The others sleep while
/// they wait, because another program may be measured.
[[nodiscard]] std::optional<std::string> next_line();

}  // namespace mylos
