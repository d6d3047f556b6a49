#include "mylos/base/error.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>
#include <system_error>

#include "mylos/base/errors/error_table.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/memory.hpp"

namespace mylos {

Error::Error(ExitCode code, ErrorId id, std::string_view message)
    : std::runtime_error(fmt::format("{} [{}]", message, name_of(id))),
      code_(code),
      id_(id),
      length_(message.size()) {}

Error Error::of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
  const bool is_system = dynamic_cast<const std::system_error*>(&exception) != nullptr;
  const ErrorId id = is_memory ? errors::out_of_memory : is_system ? errors::system_failed : errors::internal;
  return {ExitCode::failed, id, exception.what()};
}

Error Error::of_text(ExitCode code, std::string_view what) {
  const std::size_t bracket = what.rfind(" [");
  if (bracket != std::string_view::npos && what.ends_with(']')) {
    const std::string_view name = what.substr(bracket + 2, what.size() - bracket - 3);
    if (const std::optional<ErrorId> id = error_named(name)) return {code, *id, what.substr(0, bracket)};
  }
  return {code, errors::internal, what};
}

void detail::fail(ExitCode code, ErrorId id, fmt::string_view format, fmt::format_args arguments) {
  throw Error(code, id, fmt::vformat(format, arguments));
}

}  // namespace mylos
