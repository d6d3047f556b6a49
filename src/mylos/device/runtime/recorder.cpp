#include "mylos/base/device/graph_capture.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/device/runtime/runtime.hpp"

namespace mylos {
namespace {

struct Destroy {
  void operator()(runtime::LaunchableGraph graph) const { static_cast<void>(runtime::destroy(graph)); }
  void operator()(runtime::Graph graph) const { static_cast<void>(runtime::destroy(graph)); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<runtime::LaunchableGraph>, Destroy>;
using CapturedGraph = std::unique_ptr<std::remove_pointer_t<runtime::Graph>, Destroy>;

class RecordedGraph final : public CapturedWork {
 public:
  explicit RecordedGraph(Graph graph) : graph_(std::move(graph)) {}
  void launch(const Execution& exec) override {
    const runtime::Error code = runtime::launch(graph_.get(), runtime::stream_of(exec));
    if (code != runtime::success)
      fail_run(errors::device_failed, "a captured step cannot be launched: {}", runtime::text_of(code));
  }

 private:
  Graph graph_;
};

/// Returns the text of an error, and clears it: it does not concern later calls.
std::string text_of(runtime::Error code) {
  static_cast<void>(runtime::forget_error());
  return runtime::text_of(code);
}

class RuntimeCapture final : public GraphCapture {
 public:
  std::string begin(const Execution& exec) override {
    // Other threads keep working during the capture: the reader waits for copies, a checkpoint is written.
    const runtime::Error code = runtime::begin_capture(runtime::stream_of(exec));
    return code == runtime::success ? std::string() : text_of(code);
  }

  std::unique_ptr<CapturedWork> end(const Execution& exec, std::string& refusal) override {
    runtime::Graph graph = nullptr;
    runtime::Error code = runtime::end_capture(runtime::stream_of(exec), &graph);
    const CapturedGraph captured(graph);
    if (code == runtime::success && graph == nullptr) code = runtime::capture_invalidated;
    runtime::LaunchableGraph made = nullptr;
    if (code == runtime::success) code = runtime::instantiate(&made, graph);
    if (code == runtime::success) return std::make_unique<RecordedGraph>(Graph(made));
    refusal = text_of(code);
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<GraphCapture> make_graph_capture() {
  return std::make_unique<RuntimeCapture>();
}

}  // namespace mylos
