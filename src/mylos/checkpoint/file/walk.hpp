// What lies in a checkpoint's groups, one after the other.
#pragma once

#include <functional>
#include <string>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Calls visit(path, kind) for all that the group ("" for the file) and those below it hold and is no group,
/// sorted by name in each. Groups for which enters(path) is false are passed over. Throws Error (bad_input)
/// where groups lie deeper than any of ours: a stranger's may have as many levels as his file has room for.
void walk(const hdf5::File& file, const std::string& group,
          const std::function<void(const std::string& path, hdf5::ObjectKind kind)>& visit,
          const std::function<bool(const std::string& path)>& enters = nullptr);

}  // namespace mylos
