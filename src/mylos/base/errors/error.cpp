#include "mylos/base/error.hpp"

#include <new>
#include <system_error>

#include "mylos/base/errors/error_table.hpp"

namespace mylos {
namespace {

const ErrorEntry* find_entry(const auto& is_wanted) {
  for (const ErrorTopic& topic : error_topics()) {
    for (const ErrorEntry& entry : topic.entries) {
      if (is_wanted(entry)) return &entry;
    }
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(ErrorId id) noexcept {
  const ErrorEntry* entry = find_entry([id](const ErrorEntry& one) { return one.id == id; });
  return entry ? entry->name : "internal";
}

Error::Error(ExitCode code, ErrorId id, std::string_view message)
    : std::runtime_error(fmt::format("{} [{}]", message, name_of(id))),
      code_(code),
      id_(id),
      length_(message.size()) {}

Error Error::of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr;
  const bool is_system = dynamic_cast<const std::system_error*>(&exception) != nullptr;
  const ErrorId id = is_memory   ? ErrorId::out_of_memory
                     : is_system ? ErrorId::system_failed
                                 : ErrorId::internal;
  return {ExitCode::failed, id, exception.what()};
}

Error Error::of_text(ExitCode code, std::string_view what) {
  const std::size_t bracket = what.rfind(" [");
  if (bracket != std::string_view::npos && what.ends_with(']')) {
    const std::string_view name = what.substr(bracket + 2, what.size() - bracket - 3);
    const ErrorEntry* entry = find_entry([name](const ErrorEntry& one) { return one.name == name; });
    if (entry) return {code, entry->id, what.substr(0, bracket)};
  }
  return {code, ErrorId::internal, what};
}

}  // namespace mylos
