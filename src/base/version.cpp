#include "mylos/base/version.hpp"

namespace mylos {

std::string code_version() {
  const std::string commit = MYLOS_COMMIT;
  return commit.empty() ? MYLOS_VERSION : MYLOS_VERSION " (commit " + commit + ")";
}

}  // namespace mylos
