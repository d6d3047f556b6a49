#include "mylos/base/version.hpp"

#include <fmt/format.h>

namespace mylos {

std::string code_version() {
  constexpr std::string_view commit = MYLOS_COMMIT;
  return commit.empty() ? MYLOS_VERSION : fmt::format("{} (commit {})", MYLOS_VERSION, commit);
}

}  // namespace mylos
