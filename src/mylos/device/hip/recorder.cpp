#include <hip/hip_runtime_api.h>

#include "mylos/base/device/graph_capture.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

struct Destroy {
  void operator()(hipGraphExec_t graph) const { static_cast<void>(hipGraphExecDestroy(graph)); }
  void operator()(hipGraph_t graph) const { static_cast<void>(hipGraphDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<hipGraphExec_t>, Destroy>;
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<hipGraph_t>, Destroy>;

class HipWork final : public CapturedWork {
 public:
  explicit HipWork(Graph graph) : graph_(std::move(graph)) {}
  void launch(const Execution& exec) override {
    const hipError_t code = hipGraphLaunch(graph_.get(), exec.hip_stream());
    if (code != hipSuccess)
      fail_run(errors::device_failed, "a captured step cannot be launched: {}", hipGetErrorString(code));
  }

 private:
  Graph graph_;
};

/// Returns the text of an error, and clears it: it does not concern later calls.
std::string text_of(hipError_t code) {
  static_cast<void>(hipGetLastError());
  return hipGetErrorString(code);
}

class HipCapture final : public GraphCapture {
 public:
  std::string begin(const Execution& exec) override {
    // Other threads keep working during the capture: the reader waits for copies, a checkpoint is written.
    const hipError_t code = hipStreamBeginCapture(exec.hip_stream(), hipStreamCaptureModeThreadLocal);
    return code == hipSuccess ? std::string() : text_of(code);
  }

  std::unique_ptr<CapturedWork> end(const Execution& exec, std::string& refusal) override {
    hipGraph_t graph = nullptr;
    hipError_t code = hipStreamEndCapture(exec.hip_stream(), &graph);
    const CapturedGraph captured(graph);
    if (code == hipSuccess && graph == nullptr) code = hipErrorStreamCaptureInvalidated;
    hipGraphExec_t made = nullptr;
    if (code == hipSuccess) code = hipGraphInstantiateWithFlags(&made, graph, 0);
    if (code == hipSuccess) return std::make_unique<HipWork>(Graph(made));
    refusal = text_of(code);
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<GraphCapture> make_graph_capture() {
  return std::make_unique<HipCapture>();
}

}  // namespace mylos
