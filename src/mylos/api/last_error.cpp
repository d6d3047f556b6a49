#include "mylos/api/last_error.hpp"

#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/mylos.h"

static_assert(static_cast<int>(mylos::ExitCode::done) == MYLOS_OK);
static_assert(static_cast<int>(mylos::ExitCode::failed) == MYLOS_FAILED);
static_assert(static_cast<int>(mylos::ExitCode::bad_input) == MYLOS_BAD_INPUT);
static_assert(static_cast<int>(mylos::ExitCode::does_not_fit) == MYLOS_DOES_NOT_FIT);
static_assert(static_cast<int>(mylos::ExitCode::diverged) == MYLOS_DIVERGED);

namespace mylos::api {
namespace {

struct LastError {
  std::string text;
  const char* message = "";
  const char* cause = "";
};

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

std::int32_t keep(std::string_view message, ExitCode code, ErrorId id) noexcept {
  LastError& last = last_error();
  last.cause = id.name();
  try {
    last.text = message;
    last.message = last.text.c_str();
  } catch (...) {
    last.message = "there is no memory for the message";
  }
  return static_cast<std::int32_t>(code);
}

}  // namespace

std::int32_t record(const std::exception& failure) noexcept {
  try {
    const Error error = Error::of(failure);
    return keep(error.message(), error.code(), error.id());
  } catch (...) {
    return keep(failure.what(), ExitCode::failed, errors::internal);
  }
}

std::int32_t record_unknown() noexcept {
  return keep("an exception of an unknown type was thrown", ExitCode::failed, errors::internal);
}

const char* last_message() noexcept {
  return last_error().message;
}

const char* last_cause() noexcept {
  return last_error().cause;
}

}  // namespace mylos::api
