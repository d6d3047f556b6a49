// ErrorId: the cause of an Error, by which programs distinguish errors.
//
// The ids are constants in the namespace errors, in a header per topic: errors::no_such_file in
// mylos/base/errors/files.hpp. error_ids.hpp includes all of them. docs/reference/errors.md lists each with
// its cause and its cure.
#pragma once

#include <string_view>

namespace mylos {

/// The cause of an Error: a name that, once released, keeps its meaning.
class ErrorId {
 public:
  /// `name`: a literal, as messages show it: "unknown-key".
  constexpr explicit ErrorId(const char* name) : name_(name) {}
  /// Returns the name.
  [[nodiscard]] constexpr const char* name() const noexcept { return name_; }
  /// Returns whether both are the same cause.
  friend constexpr bool operator==(ErrorId a, ErrorId b) {
    return std::string_view(a.name_) == std::string_view(b.name_);
  }

 private:
  const char* name_;
};

/// The ids, by topic.
namespace errors {}

/// Returns the name as messages show it: "unknown-key".
[[nodiscard]] constexpr std::string_view name_of(ErrorId id) noexcept {
  return id.name();
}

}  // namespace mylos
