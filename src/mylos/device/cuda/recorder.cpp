#include <cuda_runtime.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mylos/base/device/work_recorder.hpp"
#include "mylos/base/error.hpp"

namespace mylos {
namespace {

// Enough for the keys of a step: two staging buffers, each with and without gradients to add to, and the work
// that follows; with dropout both buffers for each micro-batch. A graph takes some hundred KiB.
constexpr std::size_t max_keys = 64;

struct Destroy {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy>;

struct Recording {
  WorkRecorder::Key key;
  Graph graph = nullptr;  // null: the key was seen once
};

void launch(const Execution& exec, const Graph& graph) {
  const cudaError_t code = cudaGraphLaunch(graph.get(), exec.cuda_stream());
  if (code != cudaSuccess)
    fail_run(ErrorId::device_failed, "a captured step cannot be launched: {}", cudaGetErrorString(code));
}

/// Ends the capture and returns the captured graph. Returns null if the device reports an error in `code`.
CapturedGraph end_capture(const Execution& exec, cudaError_t& code) {
  cudaGraph_t captured = nullptr;
  code = cudaStreamEndCapture(exec.cuda_stream(), &captured);
  if (code == cudaSuccess && captured == nullptr) code = cudaErrorStreamCaptureInvalidated;
  return CapturedGraph(captured);
}

}  // namespace

struct WorkRecorder::Recordings {
  bool is_on;
  std::vector<Recording> all = {};
  Recording* in_capture = nullptr;
  std::string refusal = {};  // not yet reported

  void stop(const std::string& reason) {
    is_on = false;
    refusal = reason;
  }
  void stop(cudaError_t code) {
    static_cast<void>(cudaGetLastError());  // clears the error, which does not concern later calls
    stop(cudaGetErrorString(code));
  }
};

WorkRecorder::WorkRecorder(bool records) : recordings_(new Recordings{records}) {
  recordings_->all.reserve(max_keys);
}
WorkRecorder::~WorkRecorder() = default;

void WorkRecorder::forget() {
  recordings_->all.clear();
}

WorkRecorder::Way WorkRecorder::next(const Execution& exec, const Key& key) {
  Recordings& state = *recordings_;
  if (!state.is_on) return Way::directly;
  const auto found = std::find_if(state.all.begin(), state.all.end(),
                                  [&](const Recording& other) { return other.key == key; });
  if (found == state.all.end()) {
    if (state.all.size() < max_keys) state.all.push_back({key});
    return Way::directly;
  }
  if (found->graph != nullptr) {
    launch(exec, found->graph);
    return Way::launched;
  }
  // Other threads keep working during the capture: the reader waits for copies, a checkpoint is written.
  const cudaError_t code = cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeThreadLocal);
  if (code != cudaSuccess) {
    state.stop(code);
    return Way::directly;
  }
  state.in_capture = &*found;
  return Way::recording;
}

bool WorkRecorder::end_recording(const Execution& exec) {
  Recordings& state = *recordings_;
  cudaError_t code = cudaSuccess;
  const CapturedGraph captured = end_capture(exec, code);
  cudaGraphExec_t made = nullptr;
  if (code == cudaSuccess) code = cudaGraphInstantiate(&made, captured.get(), 0);
  if (code != cudaSuccess) {
    state.stop(code);
    return false;
  }
  state.in_capture->graph.reset(made);
  launch(exec, state.in_capture->graph);
  return true;
}

void WorkRecorder::stop_recording(const Execution& exec, const std::string& reason) {
  cudaError_t code = cudaSuccess;
  static_cast<void>(end_capture(exec, code));
  static_cast<void>(cudaGetLastError());
  recordings_->stop(reason);
}

std::string WorkRecorder::take_refusal() {
  return std::exchange(recordings_->refusal, {});
}

}  // namespace mylos
