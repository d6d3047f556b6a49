// GraphCapture: captures the work that is enqueued on an execution instance as a graph of the device.
#pragma once

#include <memory>
#include <string>

#include "mylos/base/execution_fwd.hpp"

namespace mylos {

/// Captured work. Its kernels read the contents that their memory has when it is launched.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Enqueues the work. Throws Error if the device refuses it.
  virtual void launch(const Execution& exec) = 0;
};

class GraphCapture {
 public:
  virtual ~GraphCapture() = default;
  /// Captures, instead of enqueuing, what this thread enqueues on `exec` until end(), and on instances that
  /// events order after it. Returns why the device cannot; empty if it does.
  [[nodiscard]] virtual std::string begin(const Execution& exec) = 0;
  /// Returns the captured work, or null and writes the reason to `refusal`.
  [[nodiscard]] virtual std::unique_ptr<CapturedWork> end(const Execution& exec, std::string& refusal) = 0;
};

/// Returns the device's capture, or null in a build whose kernels run on the host: launches are cheap there.
[[nodiscard]] std::unique_ptr<GraphCapture> make_graph_capture();

}  // namespace mylos
