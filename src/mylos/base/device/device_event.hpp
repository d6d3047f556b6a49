// DeviceEvent: a point in the work of an execution instance, which other instances and the host can wait for.
//
// Kokkos knows only fences, which stop the host until an instance has nothing left to do.
#pragma once

#include <memory>

#include "mylos/base/execution.hpp"

namespace mylos {

/// In a build whose kernels run on the host all work is over when it was given: there is nothing to wait for.
class DeviceEvent {
 public:
  DeviceEvent();
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// The point behind all that `exec` was given so far. One that was never recorded is over.
  void record(const Execution& exec);
  /// What `exec` is given from now on starts after the point. The host goes on.
  void hold_back(const Execution& exec) const;
  /// The calling thread waits for the point; it may be one that has not used the device yet.
  void wait() const;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

/// An instance whose work goes on beside that of the others, such as copies: on a device a stream of its own.
[[nodiscard]] Execution make_instance();

}  // namespace mylos
