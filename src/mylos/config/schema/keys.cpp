#include "mylos/config/schema/keys.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos {

void fail_limit(const std::string& section, std::string_view name) {
  fail_run(errors::internal, "[{}] has no key '{}' that could be limited", section, name);
}

}  // namespace mylos
