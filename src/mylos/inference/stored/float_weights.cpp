#include "mylos/inference/stored/float_weights.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

std::string buffer_path(const std::string& name) {
  return "/buffers/" + name;
}

}  // namespace

FloatWeights::FloatWeights(const CheckpointReader& checkpoint, const Chain& chain, bool average)
    : checkpoint_(checkpoint), average_(average) {
  if (average && !has_average(checkpoint)) {
    fail_input(errors::no_average, "{}: has no /average, the moving average of the weights",
               checkpoint.path());
  }
  CheckpointState expected;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      const std::string name = chain.stage_name(stage) + "/" + spec.name;
      expected.arrays.push_back({parameter_path(name, average), DType::fp32, stored_dims(spec), {}});
      count_ += spec.size();
      largest_ = std::max(largest_, spec.size());
    }
  }
  for (const auto& block : chain.blocks) {
    for (const BufferSpec& spec : block->buffers()) {
      if (spec.role != BufferRole::state) continue;
      expected.arrays.push_back(
          {buffer_path(block->signature().name + "/" + spec.name), DType::fp32, {spec.size}, {}});
    }
  }
  checkpoint.require_match(expected);
}

std::vector<float> FloatWeights::read(const std::string& path) const {
  std::string source = parameter_path(path, average_);
  if (!checkpoint_.exists(source)) source = buffer_path(path);
  const hdf5::Dataset dataset = checkpoint_.file().dataset(source);
  std::int64_t size = 1;
  for (const std::int64_t extent : dataset.dims()) size *= extent;
  std::vector<float> values(static_cast<std::size_t>(size));
  dataset.read(0, size, values.data());
  require_crc(checkpoint_.file(), source, crc32_of(values.data(), values.size() * sizeof(float)));
  return values;
}

}  // namespace mylos
