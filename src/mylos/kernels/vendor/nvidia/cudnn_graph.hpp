// What our uses of cuDNN have in common: its start on a device, and a graph of its C++ frontend made into a
// plan. Files of cuDNN alone include this.
#pragma once

#include <cudnn_frontend.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/kernels/vendor/nvidia/cudnn_device.hpp"

namespace mylos::cudnn {

namespace frontend = cudnn_frontend;
using Graph = frontend::graph::Graph;
using Matrix = std::shared_ptr<frontend::graph::Tensor_attributes>;

/// Throw Error in the library's words.
void check(frontend::error_t error);  // whose get_message() is not const
void check(cudnnStatus_t status);

[[nodiscard]] frontend::DataType_t data_type(DType type);

/// Where plans are to run: the device of `handle`, and where there is none, the one that is described.
struct Target {
  cudnnHandle_t handle = nullptr;
  CudnnDevice device;
};

/// A graph, and what its plan has to keep to.
struct PlanRequest {
  DType type = DType::fp32;         ///< of all matrices that do not say another
  std::function<void(Graph&)> add;  ///< adds the operations
  int operands = 0;                 ///< which are numbered (set_uid) from 0 on
  std::size_t max_bytes = 0;        ///< of workspace
  std::vector<frontend::HeurMode_t> modes = {frontend::HeurMode_t::A};  ///< who advises engines
  std::vector<frontend::NumericalNote_t> refused;                       ///< engines with such a note
};

/// A graph as the library will run it, or why it refuses to. The first one of a shape takes seconds where the
/// library compiles kernels for it.
class Plan {
 public:
  Plan(const Target& target, const PlanRequest& request);

  /// Empty unless it refuses.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] CudnnPlan description() const;

  /// Enqueues it; `addresses` has one for each operand, each at a multiple of 16 bytes, in their order. False
  /// where it refuses, from then on for good.
  bool run(cudnnHandle_t handle, CUstream_st* stream, void** addresses, void* workspace);

 private:
  void build(const Target& target, const PlanRequest& request);

  Graph graph_;
  int operands_;
  std::int64_t workspace_bytes_ = 0;
  std::string refusal_;
};

/// What the library would run on a device that is not here.
[[nodiscard]] CudnnPlan plan_without_device(const CudnnDevice& device, const PlanRequest& request);

/// cuDNN on this process's device, started when it is first wanted, and what it refused.
class Session {
 public:
  /// `use`: what goes without cuDNN where it is not here, for people.
  explicit Session(std::string use) : use_(std::move(use)) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Whether cuDNN is here and takes this device; tried once, and told once.
  bool start();
  [[nodiscard]] const Target& target() const { return target_; }

  /// A line for people.
  void refuse(const std::string& line);
  [[nodiscard]] std::string take_refusals() { return std::exchange(refusals_, {}); }

 private:
  std::string use_;
  bool is_started_ = false;
  Target target_;
  std::string refusals_;
};

}  // namespace mylos::cudnn
