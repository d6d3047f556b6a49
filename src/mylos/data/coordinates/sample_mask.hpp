// Masks: which numbers of samples stand for something (data.arrays.mask). A store reads the others as 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// 1, or 0 for numbers that stand for nothing. Empty: all count.
struct SampleMask {
  std::vector<std::uint8_t> inputs = {};   // of each input of a sample
  std::vector<std::uint8_t> targets = {};  // of each target
};

/// Whether numbers of samples may be missing, others in each sample: they are NaN (data.arrays.missing).
struct MissingNumbers {
  bool inputs = false;
  bool targets = false;
};

/// What is kept of the mask of an array, to compare it with that of other data.
struct MaskSummary {
  std::string array;          // its path in the files
  std::int64_t counting = 0;  // numbers of a level that count
  std::int64_t numbers = 0;   // of a level
  std::string digest;         // XXH3-128
  bool operator==(const MaskSummary&) const = default;
};
[[nodiscard]] MaskSummary summary_of(const std::string& array, const std::vector<std::uint8_t>& mask);

/// Throws Error (data_mismatch), beginning with `path`, unless an array that has a mask in `other` has the
/// same in `expected`. `source`: whose masks these are.
void require_same_masks(const std::vector<MaskSummary>& expected, const std::string& source,
                        const std::vector<MaskSummary>& other, const std::string& path);

/// Converts to text and back. Throws Error (damaged) with `where` for other texts.
[[nodiscard]] std::string text_of_masks(const std::vector<MaskSummary>& masks);
[[nodiscard]] std::vector<MaskSummary> masks_of_text(std::string_view text, const std::string& where);

}  // namespace mylos
