#include "mylos/checkpoint/write/background_task.hpp"

#include <new>

#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/memory.hpp"

namespace mylos {

void BackgroundTask::start(std::function<void()> function) {
  ended_ = false;
  error_.reset();
  thread_ = std::thread([this, function = std::move(function)] {
    try {
      function();
    } catch (const Error& error) {
      error_ = error;
    } catch (const std::bad_alloc&) {
      error_ = Error(ExitCode::failed, errors::out_of_memory, "the system gave no more memory");
    } catch (const std::exception& error) {
      error_ = Error(ExitCode::failed, errors::internal, error.what());
    }
    ended_ = true;
  });
}

}  // namespace mylos
