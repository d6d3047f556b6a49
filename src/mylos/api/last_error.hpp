// What crosses the C interface instead of exceptions: a status, and the thread's last message and cause.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

namespace mylos::api {

/// Records a failure of the calling thread and returns its status.
[[nodiscard]] std::int32_t record(const std::exception& failure) noexcept;
/// Records something thrown that is no exception of the standard library.
[[nodiscard]] std::int32_t record_unknown() noexcept;

/// The message and the name of the cause that the thread recorded last; "" if none.
[[nodiscard]] const char* last_message() noexcept;
[[nodiscard]] const char* last_cause() noexcept;

/// Returns MYLOS_OK if `call` returns, else the status of what it threw.
template <class Call>
[[nodiscard]] std::int32_t status_of(Call&& call) noexcept {
  try {
    std::forward<Call>(call)();
    return 0;
  } catch (const std::exception& failure) {
    return record(failure);
  } catch (...) {
    return record_unknown();
  }
}

}  // namespace mylos::api
