#include <cuda_runtime.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mylos/base/device/work_recorder.hpp"
#include "mylos/base/error.hpp"

namespace mylos {
namespace {

// Two places of staged batches, each with and without gradients before it, and what follows them; under
// dropout both places for each of a step's micro-batches. A recording takes some hundred KiB.
constexpr std::size_t max_keys = 64;

struct Destroy {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy>;

struct Recording {
  WorkRecorder::Key key;
  Graph graph = nullptr;  // none: seen once
};

void launch(const Execution& exec, const Graph& graph) {
  const cudaError_t code = cudaGraphLaunch(graph.get(), exec.cuda_stream());
  if (code != cudaSuccess) fail_run("a recorded step cannot be launched: {}", cudaGetErrorString(code));
}

/// What was captured since it began; null where the device says `code`.
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
  Recording* under_way = nullptr;
  std::string refusal = {};  // that nobody has taken yet

  void give_up(const std::string& reason) {
    is_on = false;
    refusal = reason;
  }
  void give_up(cudaError_t code) {
    static_cast<void>(cudaGetLastError());  // it was no failure of what follows
    give_up(cudaGetErrorString(code));
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
  Recordings& own = *recordings_;
  if (!own.is_on) return Way::directly;
  const auto found =
      std::find_if(own.all.begin(), own.all.end(), [&](const Recording& other) { return other.key == key; });
  if (found == own.all.end()) {
    if (own.all.size() < max_keys) own.all.push_back({key});
    return Way::directly;
  }
  if (found->graph != nullptr) {
    launch(exec, found->graph);
    return Way::given;
  }
  // Other threads go on meanwhile: the reader waits for copies, a checkpoint is written.
  const cudaError_t code = cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeThreadLocal);
  if (code != cudaSuccess) {
    own.give_up(code);
    return Way::directly;
  }
  own.under_way = &*found;
  return Way::recording;
}

bool WorkRecorder::end_recording(const Execution& exec) {
  Recordings& own = *recordings_;
  cudaError_t code = cudaSuccess;
  const CapturedGraph captured = end_capture(exec, code);
  cudaGraphExec_t made = nullptr;
  if (code == cudaSuccess) code = cudaGraphInstantiate(&made, captured.get(), 0);
  if (code != cudaSuccess) {
    own.give_up(code);
    return false;
  }
  own.under_way->graph.reset(made);
  launch(exec, own.under_way->graph);
  return true;
}

void WorkRecorder::stop_recording(const Execution& exec, const std::string& reason) {
  cudaError_t code = cudaSuccess;
  static_cast<void>(end_capture(exec, code));
  static_cast<void>(cudaGetLastError());
  recordings_->give_up(reason);
}

std::string WorkRecorder::take_refusal() {
  return std::exchange(recordings_->refusal, {});
}

}  // namespace mylos
