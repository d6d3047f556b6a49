#include "commands/replaced_file.hpp"

#include <filesystem>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/tokens/token_format.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::app {
namespace {

struct Found {
  std::optional<OutputKind> kind;
  std::string name;
};

/// A file is what its format says. Predictions have none, but name the checkpoint that they are from.
Found kind_of_hdf5(const std::string& path) {
  const hdf5::File file = hdf5::File::open(path);
  if (file.has_attribute("/", "format")) {
    const std::string format = file.text_attribute("/", "format");
    if (format == dataset_format || format == token_format)
      return {OutputKind::data, "has data of `mylos prepare`"};
  }
  if (file.has_attribute("/", "checkpoint")) return {OutputKind::predictions, "has predictions"};
  return {std::nullopt, "is an HDF5 file that Mylos has not written"};
}

Found kind_of(const std::string& path) {
  if (const auto kind = kind_of_file(path)) {
    if (*kind == FileKind::model) return {OutputKind::model, "is a model file"};
    return {std::nullopt, "is a checkpoint"};
  }
  try {
    return kind_of_hdf5(path);
  } catch (const Error& error) {
    if (error.id() == errors::wrong_format) return {OutputKind::other, "is not an HDF5 file"};
    return {std::nullopt, "is an HDF5 file that cannot be read"};
  }
}

}  // namespace

void require_replaceable(const std::string& output, OutputKind kind) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(output, failure) || std::filesystem::file_size(output, failure) == 0)
    return;
  const Found found = kind_of(output);
  if (found.kind == kind) return;
  fail_input(errors::already_exists, "{}: {}, which this command does not replace; name another file",
             printable(output), found.name);
}

void make_folder(const std::string& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    fail_run(errors::cannot_write, "{}: cannot be made: {}", printable(folder, 300), failure.message());
}

}  // namespace mylos::app
