// WorkRecorder: captures work that is enqueued repeatedly as a graph of the device and launches it as one
// graph from its third time on, instead of as hundreds of kernels.
//
// Work that exchanges data with other ranks must be captured by all ranks together, and all must launch
// graphs of the same capture (NCCL's condition for collectives in CUDA graphs). If all ranks make the same
// calls with the same keys, they reach every capture together. They agree before it that all can begin it,
// and after it that all have succeeded.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mylos/base/device/graph_capture.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution_fwd.hpp"

namespace mylos {

class WorkRecorder {
 public:
  /// Everything that distinguishes the kernels of one call from those of another: addresses, extents, flags.
  using Key = std::array<std::int64_t, 8>;

  /// How work was enqueued.
  enum class Submission : std::uint8_t {
    directly,  // by a call of it
    captured,  // by a call of it during a capture, and a launch of the graph
    launched   // by a launch of the graph alone
  };

  /// What work with collectives requires. Without functions there is one rank.
  struct Ranks {
    /// All ranks, before and after a capture: returns whether the argument is true on every rank.
    std::function<bool(bool)> all;
    /// Called if a capture has failed on any rank, before the same work is called again: takes back what the
    /// call has changed on the host.
    std::function<void()> undo;
  };

  /// If `records` is false, or without `capture`, all work is enqueued directly.
  explicit WorkRecorder(bool records, Ranks ranks = {},
                        std::unique_ptr<GraphCapture> capture = make_graph_capture());
  WorkRecorder(const WorkRecorder&) = delete;
  WorkRecorder& operator=(const WorkRecorder&) = delete;

  /// Enqueues the work of this key on `exec`. Its kernels read the current contents of their memory. The
  /// first time, libraries choose their kernels and allocate memory. The second time, the work is captured.
  /// From then on only the graph is launched and `work` is not called; the caller does what else `work` would
  /// have done. Keys beyond a maximum number are never captured. If the device cannot capture the work, this
  /// and all later work is enqueued directly.
  template <class Work>
  Submission submit(const Execution& exec, const Key& key, const Work& work) {
    const Submission submission = begin(exec, key);
    if (submission == Submission::launched) return submission;
    if (submission == Submission::captured) {
      std::string refusal;
      try {
        work();
      } catch (const std::exception& error) {
        refusal = Error::of(error).message();
      }
      if (end(exec, std::move(refusal))) return submission;
    }
    work();  // after a failed capture it throws again if the capture was not the reason
    return Submission::directly;
  }

  /// Returns whether work can be captured.
  [[nodiscard]] bool is_on() const { return capture_ != nullptr; }
  /// Returns whether submit() would capture the work of this key, or launch it.
  [[nodiscard]] bool captures(const Key& key) const;
  /// Called instead of submit() on a rank that cannot call the work, while the others call submit(). If they
  /// would capture it, all enqueue their work directly, now and later. There must be no graph of this key.
  void decline(const Key& key);

  /// Discards all graphs, for example because the work of their keys has changed.
  void forget() { recordings_.clear(); }

  /// Returns once why the device could not capture work; empty if it could or was not asked to.
  [[nodiscard]] std::string take_refusal();

 private:
  struct Recording {
    Key key;
    std::unique_ptr<CapturedWork> work = nullptr;  // null: the key was seen once
  };

  /// Returns Submission::captured if a capture has begun.
  [[nodiscard]] Submission begin(const Execution& exec, const Key& key);
  /// Ends the capture and launches the graph. Returns false if work is not captured, now and later.
  [[nodiscard]] bool end(const Execution& exec, std::string refusal);
  /// Returns true if no rank has a refusal; otherwise nothing is captured any more.
  [[nodiscard]] bool agree(const std::string& refusal);
  [[nodiscard]] const Recording* find(const Key& key) const;
  void note(const Key& key);

  Ranks ranks_;
  std::unique_ptr<GraphCapture> capture_;  // null: all work is enqueued directly
  std::vector<Recording> recordings_;
  std::size_t in_capture_ = 0;  // index
  std::string refusal_;         // not yet reported
};

}  // namespace mylos
