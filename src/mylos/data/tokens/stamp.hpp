// Stamping a data file that was edited: what `mylos prepare` would say of its contents, made anew.
#pragma once

#include <string>

namespace mylos {

/// Checks every value of a dataset or token file and writes its statistics, digests of blocks and identity,
/// as `mylos prepare` does; all else that it holds stays. A file that was made elsewhere becomes one that was
/// prepared. A copy is changed and then takes the file's place, so that a run that reads the file goes on
/// with what it opened, and a failure changes nothing. Throws Error (bad_input) for a value that prepare
/// would refuse.
void stamp(const std::string& path);

}  // namespace mylos
