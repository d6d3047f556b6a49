#include "mylos/data/coordinates/sample_mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {

MaskSummary summary_of(const std::string& array, const std::vector<std::uint8_t>& mask) {
  Xxh128 digest;
  digest.update(mask.data(), mask.size());
  return {array, std::ranges::count(mask, std::uint8_t{1}), static_cast<std::int64_t>(mask.size()),
          digest.digest()};
}

void require_same_masks(const std::vector<MaskSummary>& expected, const std::string& source,
                        const std::vector<MaskSummary>& other, const std::string& path) {
  for (const MaskSummary& mask : other) {
    const auto trained = std::ranges::find(expected, mask.array, &MaskSummary::array);
    if (trained == expected.end()) {
      fail_input(errors::data_mismatch, "{}: array {} has a mask (data.arrays.mask), and none in {}", path,
                 printable(mask.array), source);
    }
    if (*trained == mask) continue;
    fail_input(
        errors::data_mismatch,
        "{}: the mask of array {} differs from that in {}: {} of {} numbers of a level count, there {} "
        "of {}; a network is for the mask that it was trained with",
        path, printable(mask.array), source, mask.counting, mask.numbers, trained->counting,
        trained->numbers);
  }
}

std::string text_of_masks(const std::vector<MaskSummary>& masks) {
  std::string text;
  for (const MaskSummary& mask : masks)
    text += fmt::format("{} {} {} {}\n", mask.counting, mask.numbers, mask.digest, mask.array);
  return text;
}

std::vector<MaskSummary> masks_of_text(std::string_view text, const std::string& where) {
  std::vector<MaskSummary> masks;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    MaskSummary mask;
    const bool is_mask =
        words >> mask.counting >> mask.numbers >> mask.digest && std::getline(words >> std::ws, mask.array);
    if (!is_mask) {
      fail_input(errors::damaged, "{} has the line \"{}\", expected two counts, a digest and an array", where,
                 printable(line));
    }
    masks.push_back(std::move(mask));
  }
  return masks;
}

}  // namespace mylos
