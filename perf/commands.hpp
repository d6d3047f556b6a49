// The command line of the step programs: its options, and commands that are sent to all ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mylos {

/// Takes `name` and the word behind it out of `words` and returns that word; nothing where `name` is not
/// among them. Throws Error (bad_input) where no word is behind it.
[[nodiscard]] std::optional<std::string> take_option(std::vector<std::string>& words,
                                                     const std::string& name);

/// Takes "--instructions NAME" out of `words`; vector code runs by them. Throws Error (bad_input) for a name
/// of none that there are. Of libraries, ONEDNN_MAX_CPU_ISA and the like decide.
void hold_to_instructions(std::vector<std::string>& words);

/// The next line of the first rank's standard input, on all ranks; nothing at its end. The others sleep while
/// they wait: another program may have its turn.
[[nodiscard]] std::optional<std::string> next_line();

}  // namespace mylos
