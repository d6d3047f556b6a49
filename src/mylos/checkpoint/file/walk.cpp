#include "mylos/checkpoint/file/walk.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

// Deeper than the groups of any checkpoint: /optimizer/layer/parameter/moment.
constexpr std::ptrdiff_t max_depth = 16;

}  // namespace

void walk(const hdf5::File& file, const std::string& group,
          const std::function<void(const std::string& path, hdf5::ObjectKind kind)>& visit,
          const std::function<bool(const std::string& path)>& enters) {
  if (std::count(group.begin(), group.end(), '/') > max_depth)
    fail_input(errors::too_large, "{}: {} lies deeper than {} groups", file.path(), printable(group),
               max_depth);
  for (const hdf5::Child& child : file.children(group.empty() ? "/" : group)) {
    const std::string path = group + "/" + child.name;
    if (child.kind != hdf5::ObjectKind::group) {
      visit(path, child.kind);
    } else if (!enters || enters(path)) {
      walk(file, path, visit, enters);
    }
  }
}

}  // namespace mylos
