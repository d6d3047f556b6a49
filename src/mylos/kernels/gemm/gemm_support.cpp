#include "mylos/kernels/gemm/gemm_support.hpp"

#include <algorithm>

#include "mylos/base/device/devices.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

// A layer that is large enough to measure on every processor.
constexpr std::int64_t side = 1024;

std::vector<std::string> engines_on_host(DType type) {
  const std::unique_ptr<GemmEngine> gemm = make_gemm_engine({});
  std::vector<std::string> names;
  for (const GemmProblem& problem :
       {linear_output(side, side, side, type), linear_input_gradient(side, side, side, type),
        linear_weight_gradient(side, side, side, type, type)}) {
    const std::string name(gemm->engine_of(problem));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

bool is_native_on_host(DType type, const std::vector<std::string>& names) {
  if (type == DType::fp32) return true;
  if (type == DType::fp16) return false;  // operands are converted to float while they are packed
  return std::any_of(names.begin(), names.end(), [](const std::string& engine) {
    if (engine == "onednn") return onednn::multiplies_bfloat16();
    return engine == "tiles" && instructions_in_use() == Instructions::avx512_bf16;
  });
}

/// The first compute capabilities with tensor cores for the type: CUDA C++ Programming Guide, "Compute
/// Capabilities".
constexpr ComputeCapability first_with_fp16 = {7, 0};
constexpr ComputeCapability first_with_bf16 = {8, 0};

std::optional<bool> is_native_on(const ComputeCapability& device, DType type) {
  if (type == DType::fp32) return true;
  return device >= (type == DType::fp16 ? first_with_fp16 : first_with_bf16);
}

}  // namespace

GemmSupport gemm_support(DType type) {
  GemmSupport support;
  if constexpr (runs_on_host) {
    support.engines = engines_on_host(type);
    support.native = is_native_on_host(type, support.engines);
    return support;
  }
  const std::optional<DeviceSurvey> survey = survey_devices();
  if (survey && survey->devices.empty()) return support;
  support.engines = {gemm_engine_names().front()};
  if (survey) support.native = is_native_on(survey->devices.front().capability, type);
  return support;
}

}  // namespace mylos
