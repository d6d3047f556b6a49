#include "mylos/interchange/weight_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "mylos/base/error.hpp"
#include "mylos/base/units.hpp"
#include "mylos/io/safetensors.hpp"
#include "mylos/io/system_memory.hpp"

namespace mylos {
namespace {

/// "hidden1/weight" -> "hidden1.weight".
std::string name_in_tensors(const std::string& name) {
  std::string result = name;
  if (const auto slash = result.rfind('/'); slash != std::string::npos) result[slash] = '.';
  return result;
}

void require_memory_for_one(const WeightFile& file) {
  std::int64_t largest = 0;
  for (const WeightEntry& entry : file.entries()) largest = std::max(largest, entry.size());
  const std::int64_t bytes = largest * static_cast<std::int64_t>(sizeof(float));
  if (bytes <= available_host_memory()) return;
  throw Error(ExitCode::does_not_fit,
              fmt::format("{}: its largest tensor takes {}, {} are available", file.path(),
                          format_bytes(bytes), format_bytes(available_host_memory())));
}

/// Of each tensor all numbers, one after the other.
void for_each_tensor(WeightFile& file, const std::function<void(const std::vector<float>&)>& use) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;  // elements
  require_memory_for_one(file);
  for (const WeightEntry& entry : file.entries()) {
    file.require_readable(entry);
    std::vector<float> values(static_cast<std::size_t>(entry.size()));
    for (std::int64_t first = 0; first < entry.size(); first += piece) {
      const auto count = static_cast<std::size_t>(std::min(piece, entry.size() - first));
      file.read(entry, first, std::span(values).subspan(static_cast<std::size_t>(first), count));
    }
    use(values);
  }
}

}  // namespace

ConversionSafety weights_safety(WeightFile& file) {
  ConversionSafety sum;
  for_each_tensor(file, [&](const std::vector<float>& values) {
    sum += conversion_safety(std::span<const float>(values));
  });
  return sum;
}

void write_weights(WeightFile& file, const std::string& path, DType type) {
  std::vector<safetensors::NamedShape> shapes;
  for (const WeightEntry& entry : file.entries()) shapes.push_back({name_in_tensors(entry.name), entry.dims});
  safetensors::Writer writer(path, type, std::move(shapes), {{"format", "pt"}});
  for_each_tensor(file, [&](const std::vector<float>& values) { writer.write(values); });
  writer.close();
}

}  // namespace mylos
