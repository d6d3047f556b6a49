#include "mylos/checkpoint/write/background_task.hpp"

#include <new>

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
      error_ = Error(ExitCode::failed, ErrorId::out_of_memory, "the system gave no more memory");
    } catch (const std::exception& error) {
      error_ = Error(ExitCode::failed, ErrorId::internal, error.what());
    }
    ended_ = true;
  });
}

}  // namespace mylos
