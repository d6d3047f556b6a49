// What a file contains around a path that is missing, for messages.
#include <fmt/ranges.h>

#include "mylos/base/errors/text.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"

namespace mylos::hdf5 {
namespace {

/// The path without its last part; "/" of what lies there.
std::string group_of(const std::string& path) {
  const std::size_t end = path.rfind('/');
  return end == 0 || end == std::string::npos ? "/" : path.substr(0, end);
}

}  // namespace

std::string contents_around(const File& file, const std::string& missing) {
  std::string group = group_of(missing);
  while (group != "/" && !file.exists(group)) group = group_of(group);
  if (group != "/") {
    const std::string name = group.substr(group.rfind('/') + 1);
    for (const Child& child : file.children(group_of(group)))
      if (child.name == name && child.kind != ObjectKind::group) return group + " is not a group";
  }
  constexpr std::size_t most = 12;
  std::vector<std::string> names;
  for (const Child& child : file.children(group)) names.push_back(printable(child.name));
  if (names.empty()) return group + " has nothing";
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  names.resize(names.size() - more);
  return fmt::format("{} has {}{}", group, fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace mylos::hdf5
