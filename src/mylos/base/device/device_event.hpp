// DeviceEvent: a point in the work of an execution instance that other instances and the host can wait for.
//
// Kokkos offers only fences, which block the host until all work of an instance has completed.
#pragma once

#include <memory>

#include "mylos/base/execution_fwd.hpp"

namespace mylos {

/// An event of a device. If kernels run on the host, all work has completed when its launch returns, and
/// there is nothing to wait for.
class DeviceEvent {
 public:
  DeviceEvent();
  ~DeviceEvent();
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;

  /// Records the point after all work enqueued on `exec` so far. An event that was never recorded counts as
  /// completed.
  void record(const Execution& exec);
  /// Makes work that is enqueued on `exec` from now on wait for the event. Does not block the host.
  void make_wait(const Execution& exec) const;
  /// Blocks the calling thread until the event has completed. The thread need not have used the device
  /// before.
  void wait() const;

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

/// Returns an instance whose work runs concurrently with that of other instances, such as copies. On a device
/// it has a separate stream.
[[nodiscard]] Execution make_instance();

}  // namespace mylos
