#include <cuda_runtime.h>

#include "mylos/base/device/graph_capture.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"

namespace mylos {
namespace {

struct Destroy {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy>;
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy>;

class CudaWork final : public CapturedWork {
 public:
  explicit CudaWork(Graph graph) : graph_(std::move(graph)) {}
  void launch(const Execution& exec) override {
    const cudaError_t code = cudaGraphLaunch(graph_.get(), exec.cuda_stream());
    if (code != cudaSuccess)
      fail_run(errors::device_failed, "a captured step cannot be launched: {}", cudaGetErrorString(code));
  }

 private:
  Graph graph_;
};

/// Returns the text of an error, and clears it: it does not concern later calls.
std::string text_of(cudaError_t code) {
  static_cast<void>(cudaGetLastError());
  return cudaGetErrorString(code);
}

class CudaCapture final : public GraphCapture {
 public:
  std::string begin(const Execution& exec) override {
    // Other threads keep working during the capture: the reader waits for copies, a checkpoint is written.
    const cudaError_t code = cudaStreamBeginCapture(exec.cuda_stream(), cudaStreamCaptureModeThreadLocal);
    return code == cudaSuccess ? std::string() : text_of(code);
  }

  std::unique_ptr<CapturedWork> end(const Execution& exec, std::string& refusal) override {
    cudaGraph_t graph = nullptr;
    cudaError_t code = cudaStreamEndCapture(exec.cuda_stream(), &graph);
    const CapturedGraph captured(graph);
    if (code == cudaSuccess && graph == nullptr) code = cudaErrorStreamCaptureInvalidated;
    cudaGraphExec_t made = nullptr;
    if (code == cudaSuccess) code = cudaGraphInstantiate(&made, graph, 0);
    if (code == cudaSuccess) return std::make_unique<CudaWork>(Graph(made));
    refusal = text_of(code);
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<GraphCapture> make_graph_capture() {
  return std::make_unique<CudaCapture>();
}

}  // namespace mylos
