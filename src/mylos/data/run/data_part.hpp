// DataPart: a part of the data of a run.
#pragma once

namespace mylos {

enum class DataPart { train, validation, test };

/// The parts that evaluations during a run use, if present, in this order.
inline constexpr DataPart held_out_parts[] = {DataPart::validation, DataPart::test};

/// Returns "train", "validation" or "test".
[[nodiscard]] constexpr const char* name_of(DataPart part) {
  if (part == DataPart::train) return "train";
  return part == DataPart::validation ? "validation" : "test";
}

}  // namespace mylos
