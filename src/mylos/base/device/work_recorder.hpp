// WorkRecorder: captures work that is enqueued repeatedly as a CUDA graph and launches it as one graph from
// its third time on, instead of as hundreds of kernels.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {

class WorkRecorder {
 public:
  /// Everything that distinguishes the kernels of one call from those of another: addresses, extents, flags.
  using Key = std::array<std::int64_t, 8>;

  /// If `records` is false, or in a build without CUDA, all work is enqueued directly.
  explicit WorkRecorder(bool records);
  ~WorkRecorder();
  WorkRecorder(const WorkRecorder&) = delete;
  WorkRecorder& operator=(const WorkRecorder&) = delete;

  /// Enqueues the work of this key on `exec`. Its kernels read the current contents of their memory. The
  /// first time, libraries choose their kernels and allocate memory. The second time, the work is captured.
  /// From then on only the graph is launched and `work` is not called, so `work` must have no other effect.
  /// Keys beyond a maximum number are never captured. If the device cannot capture the work, this and all
  /// later work is enqueued directly.
  template <class Work>
  void give(const Execution& exec, const Key& key, const Work& work) {
    switch (next(exec, key)) {
      case Way::launched:
        return;
      case Way::directly:
        return work();
      case Way::recording:
        break;
    }
    try {
      work();
    } catch (const std::exception& error) {
      stop_recording(exec, std::string(Error::of(error).message()));
      return work();  // throws again if the capture was not the reason
    }
    if (!end_recording(exec)) work();
  }

  /// Discards all graphs, for example because the work of their keys has changed.
  void forget();

  /// Returns once why the device could not capture work; empty if it could or was not asked to.
  [[nodiscard]] std::string take_refusal();

 private:
  enum class Way { launched, directly, recording };

  [[nodiscard]] Way next(const Execution& exec, const Key& key);
  /// Launches what was captured. Returns false if nothing was captured; then nothing will be.
  [[nodiscard]] bool end_recording(const Execution& exec);
  void stop_recording(const Execution& exec, const std::string& reason);

  struct Recordings;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace mylos
