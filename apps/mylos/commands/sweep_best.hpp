// mylos sweep --best N FOLDER: prints the decks of the best members of a sweep.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/base/error.hpp"

namespace mylos::app {

/// Prints `count` decks, the best first. Each begins with a comment of its value and member, is complete, and
/// has a folder of its own (run.folder). Throws Error (bad_input) if fewer members have a value.
ExitCode print_best_decks(const std::string& folder, std::int64_t count);

}  // namespace mylos::app
