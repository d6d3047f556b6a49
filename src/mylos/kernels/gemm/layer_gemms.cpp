#include "mylos/kernels/gemm/layer_gemms.hpp"

#include <fmt/format.h>

#include "mylos/base/memory_is_host.hpp"

namespace mylos {
namespace {

// MLPs 784-2048-2048-10 and 784-1024-1024-10, GPTs 384 and 128 wide over 65 characters.
constexpr LayerShape layers[] = {{512, 784, 2048},  {512, 2048, 2048}, {512, 2048, 10},   {1024, 384, 384},
                                 {1024, 384, 1152}, {1024, 384, 1536}, {1024, 1536, 384}, {1024, 384, 65},
                                 {256, 784, 1024},  {256, 1024, 1024}, {256, 1024, 10},   {768, 128, 384},
                                 {768, 128, 512},   {768, 512, 128}};
constexpr LayerShape large_layers[] = {{16384, 768, 2304}, {16384, 768, 3072}, {16384, 3072, 768}};

}  // namespace

std::vector<NamedGemm> gemms_of_layer(const LayerShape& layer, DType type) {
  const auto& [samples, inputs, outputs] = layer;
  std::vector<NamedGemm> gemms;
  for (const GemmProblem& problem :
       {linear_output(samples, inputs, outputs, type), linear_input_gradient(samples, inputs, outputs, type),
        linear_weight_gradient(samples, inputs, outputs, type, type)}) {
    gemms.push_back(
        {fmt::format("{}/{}x{}x{}", name_of(form_of(problem)), samples, inputs, outputs), problem});
  }
  return gemms;
}

std::vector<LayerShape> typical_layers() {
  std::vector<LayerShape> all(std::begin(layers), std::end(layers));
  if (!memory_is_host) all.insert(all.end(), std::begin(large_layers), std::end(large_layers));
  return all;
}

std::vector<NamedGemm> gemms_to_measure(DType type) {
  std::vector<NamedGemm> gemms;
  for (const LayerShape& layer : typical_layers()) {
    for (NamedGemm& gemm : gemms_of_layer(layer, type)) gemms.push_back(std::move(gemm));
  }
  return gemms;
}

}  // namespace mylos
