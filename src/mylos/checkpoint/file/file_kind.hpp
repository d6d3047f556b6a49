// The two kinds of file that hold the state of a network: the checkpoint of a run, and the model file, which
// has its weights without the state of an optimizer. Both have the same structure.
#pragma once

#include <cstdint>

namespace mylos {

enum class FileKind : std::uint8_t { checkpoint, model };

/// The kinds that a reader accepts. A model file has what inference reads, and nothing of a run.
enum class ReadableKinds : std::uint8_t { checkpoints, all };

inline constexpr const char* checkpoint_format = "mylos-checkpoint";
inline constexpr std::int64_t checkpoint_version = 3;  // the only version that is read
inline constexpr const char* model_format = "mylos-model";
inline constexpr std::int64_t model_version = 1;  // likewise

/// The format that a file of this kind states: in its first line, and in the attributes of "/".
struct FileFormat {
  const char* name;
  std::int64_t version;
};
[[nodiscard]] constexpr FileFormat format_of(FileKind kind) {
  if (kind == FileKind::model) return {model_format, model_version};
  return {checkpoint_format, checkpoint_version};
}

}  // namespace mylos
