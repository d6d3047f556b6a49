// The names of what can go wrong. docs/reference/errors.md lists each with its cause and its cure.
#pragma once

#include <string_view>

namespace mylos {

/// The cause of an Error. A name that was once released keeps its meaning; the numbers of the enumerators are
/// not stable.
enum class ErrorId : int {
  // The command line.
  unknown_command,
  unknown_option,
  missing_argument,
  extra_argument,
  bad_argument,
  arguments_conflict,
  wrong_rank_count,
  ranks_disagree,

  // The deck.
  deck_syntax,
  deck_size,
  unknown_key,
  unknown_section,
  duplicate_key,
  missing_key,
  bad_value,
  keys_conflict,
  key_without_effect,
  unknown_name,
  bad_layer,

  // Files and folders.
  no_such_file,
  no_such_folder,
  not_a_file,
  not_a_folder,
  cannot_read,
  cannot_write,
  already_exists,
  wrong_format,
  unknown_version,
  damaged,
  truncated,
  file_changed,
  missing_dataset,
  bad_dataset,
  unsupported_feature,
  too_large,

  // Data.
  bad_row,
  bad_label,
  bad_image,
  bad_encoding,
  bad_names,
  not_finite,
  unknown_column,
  unknown_token,
  data_mismatch,
  too_little_data,

  // Checkpoints, runs and their folders.
  no_checkpoint,
  folder_has_checkpoints,
  folder_in_use,
  weights_only,
  no_average,
  restart_mismatch,
  model_mismatch,
  plan_mismatch,
  not_measured,
  not_reproducible,
  replicas_differ,
  diverged,
  stopped,

  // Memory.
  does_not_fit,
  out_of_memory,

  // The machine and the build.
  no_device,
  device_too_old,
  device_shared,
  device_failed,
  not_in_build,
  no_instructions,
  library_failed,
  communication_failed,
  system_failed,

  // Programs that use Mylos as a library, and Mylos itself.
  bad_call,
  internal,
};

/// Returns the name as messages show it: "unknown-key".
[[nodiscard]] std::string_view name_of(ErrorId id) noexcept;

}  // namespace mylos
