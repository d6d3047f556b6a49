// Stamping of an edited data file: recomputes the metadata that `mylos prepare` writes.
#pragma once

#include <string>

namespace mylos {

/// Checks every value of a dataset or token file and writes its statistics, digests of blocks and identity,
/// as `mylos prepare` does; everything else in the file stays. A file from another program then counts as
/// prepared. The changes are made on a copy, which then replaces the file: a run that reads the file
/// continues with the version that it opened, and a failure changes nothing. Throws Error (bad_input) for a
/// value that prepare would refuse.
void stamp(const std::string& path);

}  // namespace mylos
