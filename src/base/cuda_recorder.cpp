#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/work_recorder.hpp"

namespace mylos {
namespace {

// Two places of staged batches, each with and without gradients before it, and what follows them; under
// dropout both places for each of a step's micro-batches. A recording takes some hundred KiB.
constexpr std::size_t most_keys = 64;

struct Destroy {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;

struct Recording {
  WorkRecorder::Key key;
  Graph graph = nullptr;  // none: seen once
};

void launch(const Execution& exec, const Graph& graph) {
  const cudaError_t code = cudaGraphLaunch(graph.get(), exec.cuda_stream());
  if (code != cudaSuccess) fail_run("a recorded step cannot be launched: {}", cudaGetErrorString(code));
}

/// What was captured since it began; null where the device could not.
Graph end_capture(const Execution& exec) {
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t made = nullptr;
  bool is_made = cudaStreamEndCapture(exec.cuda_stream(), &captured) == cudaSuccess && captured != nullptr;
  is_made = is_made && cudaGraphInstantiate(&made, captured, 0) == cudaSuccess;
  if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
  if (!is_made) static_cast<void>(cudaGetLastError());  // it was no failure of what follows
  return Graph(is_made ? made : nullptr);
}

}  // namespace

struct WorkRecorder::Recordings {
  bool is_on;
  std::vector<Recording> all = {};
  Recording* under_way = nullptr;
};

WorkRecorder::WorkRecorder(bool records) : recordings_(new Recordings{records}) {
  recordings_->all.reserve(most_keys);
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
    if (own.all.size() < most_keys) own.all.push_back({key});
    return Way::directly;
  }
  if (found->graph != nullptr) {
    launch(exec, found->graph);
    return Way::given;
  }
  // Other threads go on meanwhile: the reader waits for copies, a checkpoint is written.
  if (cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    own.is_on = false;
    return Way::directly;
  }
  own.under_way = &*found;
  return Way::recording;
}

bool WorkRecorder::end_recording(const Execution& exec) {
  Recordings& own = *recordings_;
  own.under_way->graph = end_capture(exec);
  if (own.under_way->graph == nullptr) {
    own.is_on = false;
    return false;
  }
  launch(exec, own.under_way->graph);
  return true;
}

void WorkRecorder::stop_recording(const Execution& exec) {
  static_cast<void>(end_capture(exec));
  recordings_->is_on = false;
}

}  // namespace mylos
