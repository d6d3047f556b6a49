#include "commands/checkpoint_output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "commands/output_name.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

void require_replaceable_file(const std::string& path) {
  const std::optional<FileKind> kind = kind_of_file(path);
  if (!kind) {
    fail_input(errors::already_exists, "{}: exists, and Mylos has not written it; name another file",
               printable(path));
  }
  if (*kind != FileKind::checkpoint) return;
  verify_user_block(path);
  const std::int64_t step = hdf5::File::open(path).integer_attribute("/", "step");
  if (step == 0) return;
  fail_input(errors::already_exists,
             "{}: is a checkpoint of step {}, which one of step 0 does not replace; name another file",
             printable(path), step);
}

}  // namespace

void require_checkpoint_output(const std::string& path, const char* example) {
  if (has_onnx_name(path) || has_ending_after_onnx(path)) {
    fail_input(errors::bad_argument,
               "{}: the output is a checkpoint; name it FILE.h5, and let `mylos export` make ONNX of it",
               printable(path));
  }
  require_file_output(path, "checkpoint's", example);
  require_hdf5_name(path);
  std::error_code failure;
  if (fs::is_regular_file(path, failure) && fs::file_size(path, failure) > 0 && !failure)
    require_replaceable_file(path);
}

}  // namespace mylos::app
