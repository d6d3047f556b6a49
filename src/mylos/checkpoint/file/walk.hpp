// A recursive visit of a checkpoint's groups.
#pragma once

#include <functional>
#include <string>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Calls visit(path, kind) for every object that is not a group in `group` ("" for the file) and in the
/// groups below it, sorted by name in each group. Skips groups for which enters(path) is false. Throws Error
/// (bad_input) if groups are nested deeper than in any checkpoint: a malicious file may have as many levels
/// as fit into it.
void walk(const hdf5::File& file, const std::string& group,
          const std::function<void(const std::string& path, hdf5::ObjectKind kind)>& visit,
          const std::function<bool(const std::string& path)>& enters = nullptr);

}  // namespace mylos
