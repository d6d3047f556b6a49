// What our uses of cuDNN share: its start on a device, and the conversion of a graph of its C++ frontend into
// a plan. Only files of cuDNN include this.
#pragma once

#include <cudnn_frontend.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/device/cuda/engines/cudnn_device.hpp"

namespace mylos::cudnn {

namespace frontend = cudnn_frontend;
using Graph = frontend::graph::Graph;
using Matrix = std::shared_ptr<frontend::graph::Tensor_attributes>;

/// Throw Error with the library's message.
void check(frontend::error_t error);  // whose get_message() is not const
void check(cudnnStatus_t status);

[[nodiscard]] frontend::DataType_t data_type(DType type);

/// The device that plans are for: that of `handle`, or the described one if `handle` is null.
struct Target {
  cudnnHandle_t handle = nullptr;
  CudnnDevice device;
};

/// A graph, and the constraints on its plan.
struct PlanRequest {
  DType type = DType::fp32;         ///< of all matrices without an explicit type
  std::function<void(Graph&)> add;  ///< adds the operations
  int operands = 0;                 ///< the number of operands, numbered from 0 (set_uid)
  std::size_t max_bytes = 0;        ///< of workspace
  std::vector<frontend::HeurMode_t> modes = {frontend::HeurMode_t::A};  ///< heuristics
  std::vector<frontend::NumericalNote_t> refused;                       ///< notes that exclude an engine
};

/// A graph as the library runs it, or the reason why it refuses. The first plan of a shape takes seconds if
/// the library compiles kernels for it.
class Plan {
 public:
  Plan(const Target& target, const PlanRequest& request);

  /// Empty unless the library refuses.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] CudnnPlan description() const;

  /// Enqueues the plan. `addresses` contains the operands in their order, each at a multiple of 16 bytes.
  /// Returns false if the library refuses, now and in all later calls.
  bool run(cudnnHandle_t handle, CUstream_st* stream, void** addresses, void* workspace);

 private:
  void build(const Target& target, const PlanRequest& request);

  Graph graph_;
  int operands_;
  std::int64_t workspace_bytes_ = 0;
  std::string refusal_;
};

/// Returns what the library would run on a device that is not present.
[[nodiscard]] CudnnPlan plan_without_device(const CudnnDevice& device, const PlanRequest& request);

/// cuDNN on this process's device, which is started at first use, and its refusals.
class Session {
 public:
  /// `use`: what runs without cuDNN if it is missing, for messages.
  explicit Session(std::string use) : use_(std::move(use)) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Returns true if cuDNN is available and supports this device. Tries and reports only once.
  bool start();
  [[nodiscard]] const Target& target() const { return target_; }

  /// Adds a line for users.
  void refuse(const std::string& line);
  [[nodiscard]] std::string take_refusals() { return std::exchange(refusals_, {}); }

 private:
  std::string use_;
  bool is_started_ = false;
  Target target_;
  std::string refusals_;
};

}  // namespace mylos::cudnn
