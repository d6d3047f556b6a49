#include "mylos/data/arrays/files/metadata_digest.hpp"

#include <fmt/ranges.h>

namespace mylos {

std::string text_of_options(const ArrayOptions& options) {
  std::string text = fmt::format(
      "inputs {} targets {} constants {} history {} ahead {} every {} {} {} fill {:.17g}",
      fmt::join(options.inputs, " "), fmt::join(options.targets, " "), fmt::join(options.constants, " "),
      options.history, options.ahead, options.every,
      options.targets_are == TargetsAre::difference ? "difference" : "state",
      options.points_are_samples ? "points" : "grids", options.fill.value_or(NumberConversion::none));
  if (!options.differences.empty()) text += fmt::format(" of {}", fmt::join(options.differences, " "));
  for (const std::string& array : options.inputs)
    text += fmt::format(" {}", fmt::join(options.axes_for(array), " "));
  for (const AxisSlice& slice : options.slice) {
    const auto bound = [](const std::optional<std::int64_t>& index) {
      return index ? std::to_string(*index) : "";
    };
    text += fmt::format(" {} {}:{}:{}", slice.axis, bound(slice.begin), bound(slice.end), slice.step);
  }
  if (options.gaps == TimeGaps::split) text += " gaps break";
  for (const Encoding encoding : options.encodings) text += fmt::format(" encodes {}", name_of(encoding));
  for (const std::string& array : options.missing) text += fmt::format(" missing {}", array);
  if (options.known_inputs) text += " known inputs";
  for (const auto* group : {&options.inputs, &options.targets, &options.constants})
    for (const std::string& array : *group)
      if (const std::string mask = options.mask_of(array); !mask.empty())
        text += fmt::format(" mask {} {}", array, mask);
  return text;
}

void add_metadata(Xxh128& digest, const std::string& path, const std::vector<OpenArray>& arrays) {
  const auto slash = path.rfind('/');
  std::string text = slash == std::string::npos ? path : path.substr(slash + 1);
  for (const OpenArray& array : arrays) {
    const hdf5::ArrayFacts& facts = array.array().facts();
    text +=
        fmt::format("\n{} {} [{}]", array.array().path(), name_of(facts.type), fmt::join(facts.dims, ", "));
    for (const hdf5::Attribute& attribute : array.attributes())
      if (attribute.is_read())
        text += fmt::format("\n {} '{}' [{:.17g}]", attribute.name, attribute.text,
                            fmt::join(attribute.numbers, ", "));
  }
  text += '\n';
  digest.update(text.data(), text.size());
}

std::string statistics_key_of(const std::string& metadata, const ArrayOptions& options,
                              const SampleLayout& layout) {
  // Sums depend on the windows, and thus on the steps; the digest has the axes of the inputs alone.
  std::string key = fmt::format("{} {}", metadata, layout.rollout.steps);
  for (std::size_t i = options.inputs.size(); i < layout.arrays.size(); ++i)
    key += fmt::format(" {}", fmt::join(options.axes_for(layout.arrays[i]), " "));
  Xxh128 digest;
  digest.update(key.data(), key.size());
  return digest.digest();
}

}  // namespace mylos
