#include "mylos/device/cuda/engines/cudnn_graph.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/device/cuda/engines/cudnn_library.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // declared by the frontend, which looks up cuDNN's functions in it
}  // namespace cudnn_frontend

namespace mylos::cudnn {
namespace {

std::int32_t current_compute_capability() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
    fail_run(errors::device_failed, "the device's compute capability cannot be read");
  return major * 10 + minor;
}

/// Makes cuDNN's functions available to the frontend. Returns an empty text, or what is missing.
std::string open_for_frontend() {
  const CudnnLibrary library = open_cudnn();
  if (library.handle == nullptr) return library.missing;
  frontend::cudnn_dlhandle = library.handle;
  return {};
}

}  // namespace

void check(frontend::error_t error) {
  if (error.is_bad()) fail_run(errors::library_failed, "{}", error.get_message());
}

void check(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS)
    fail_run(errors::library_failed, "{}", frontend::detail::get_error_string(status));
}

frontend::DataType_t data_type(DType type) {
  switch (type) {
    case DType::fp16:
      return frontend::DataType_t::HALF;
    case DType::bf16:
      return frontend::DataType_t::BFLOAT16;
    case DType::fp32:
      return frontend::DataType_t::FLOAT;
    default:
      fail_run(errors::internal, "cuDNN cannot compute in {}", name_of(type));
  }
}

Plan::Plan(const Target& target, const PlanRequest& request) : operands_(request.operands) {
  try {
    build(target, request);
  } catch (const std::exception& error) {  // from this file and from the frontend
    refusal_ = Error::of(error).message();
  }
}

void Plan::build(const Target& target, const PlanRequest& request) {
  graph_.set_sm_version(target.device.compute_capability)
      .set_io_data_type(data_type(request.type))
      .set_intermediate_data_type(frontend::DataType_t::FLOAT)
      .set_compute_data_type(frontend::DataType_t::FLOAT);
  request.add(graph_);
  check(graph_.validate());
  if (target.handle == nullptr) {
    const std::string& described = target.device.properties;
    auto properties = std::make_shared<frontend::DeviceProperties>();
    check(properties->deserialize({described.begin(), described.end()}));
    graph_.set_device_properties(std::move(properties));
    check(graph_.build_operation_graph());
  } else {
    check(graph_.build_operation_graph(target.handle));
  }
  const auto limit = static_cast<std::int64_t>(request.max_bytes);
  check(graph_.create_execution_plans(request.modes));
  graph_.deselect_numeric_notes(request.refused);
  graph_.deselect_workspace_greater_than(limit);
  check(graph_.check_support());
  check(graph_.build_plans());
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(operands_));
  std::iota(numbers.begin(), numbers.end(), 0);
  if (graph_.get_variant_pack_uids_sorted() != numbers)
    fail_run(errors::internal, "the operands of its plan are not those of the request");
  check(graph_.get_workspace_size(workspace_bytes_));
  if (workspace_bytes_ > limit)
    fail_run(errors::library_failed, "it needs {} bytes of workspace, but {} are planned", workspace_bytes_,
             limit);
}

CudnnPlan Plan::description() const {
  CudnnPlan plan{.name = {}, .workspace_bytes = workspace_bytes_, .refusal = refusal_};
  if (refusal_.empty() && graph_.get_plan_name(plan.name).is_bad()) plan.name.clear();
  return plan;
}

bool Plan::run(cudnnHandle_t handle, CUstream_st* stream, void** addresses, void* workspace) {
  if (!refusal_.empty()) return false;
  try {
    check(frontend::detail::set_stream(handle, stream));
    check(graph_.execute(handle, addresses, operands_, workspace));
  } catch (const std::exception& error) {
    refusal_ = Error::of(error).message();
  }
  return refusal_.empty();
}

CudnnPlan plan_without_device(const CudnnDevice& device, const PlanRequest& request) {
  std::string missing = open_for_frontend();
  if (!missing.empty()) return {.name = {}, .workspace_bytes = 0, .refusal = std::move(missing)};
  return Plan({.handle = nullptr, .device = device}, request).description();
}

Session::~Session() {
  if (target_.handle != nullptr) frontend::detail::destroy_handle(target_.handle);
}

bool Session::start() {
  if (std::exchange(is_started_, true)) return target_.handle != nullptr;
  try {
    const std::string missing = open_for_frontend();
    if (!missing.empty()) fail_run(errors::not_in_build, "{}", missing);
    target_.device.compute_capability = current_compute_capability();
    check(frontend::detail::create_handle(&target_.handle));
  } catch (const std::exception& error) {
    target_.handle = nullptr;
    refuse(fmt::format("{} goes without cuDNN: {}", use_, Error::of(error).message()));
  }
  return target_.handle != nullptr;
}

void Session::refuse(const std::string& line) {
  if (!refusals_.empty()) refusals_ += '\n';
  refusals_ += line;
}

}  // namespace mylos::cudnn
