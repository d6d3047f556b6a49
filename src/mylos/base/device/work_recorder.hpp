// WorkRecorder: work that an execution instance is given again and again, given at one stroke from its third
// time on (CUDA graphs: one launch in place of hundreds).
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "mylos/base/execution.hpp"

namespace mylos {

class WorkRecorder {
 public:
  /// All by which the kernels of one call differ from those of another: addresses, extents, flags.
  using Key = std::array<std::int64_t, 8>;

  /// One that does not record gives all work directly; so does every one in a build without CUDA.
  explicit WorkRecorder(bool records);
  ~WorkRecorder();
  WorkRecorder(const WorkRecorder&) = delete;
  WorkRecorder& operator=(const WorkRecorder&) = delete;

  /// Gives `exec` the work of this key, whose kernels read what lies in their memory now. A key's first time
  /// libraries choose their kernels and take memory; its second is recorded; then only the recording is
  /// given, and `work` is not called: it must do nothing else. Keys that are too many are never recorded.
  /// Where the device cannot record the work, it and all after it are given directly.
  template <class Work>
  void give(const Execution& exec, const Key& key, const Work& work) {
    switch (next(exec, key)) {
      case Way::given:
        return;
      case Way::directly:
        return work();
      case Way::recording:
        break;
    }
    try {
      work();
    } catch (const std::exception& error) {
      stop_recording(exec, error.what());
      return work();  // which throws again, if recording was not the reason
    }
    if (!end_recording(exec)) work();
  }

  /// What was recorded is no longer what shall be done.
  void forget();

  /// Why the device could not record, once; empty where it could, or did not try.
  [[nodiscard]] std::string take_refusal();

 private:
  enum class Way { given, directly, recording };

  [[nodiscard]] Way next(const Execution& exec, const Key& key);
  /// Gives what was recorded. False: nothing was, and nothing will be.
  [[nodiscard]] bool end_recording(const Execution& exec);
  void stop_recording(const Execution& exec, const std::string& reason);

  struct Recordings;
  std::unique_ptr<Recordings> recordings_;
};

}  // namespace mylos
