#include "commands/checkpoint_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

std::string lower_case_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  std::transform(name.begin(), name.end(), name.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  return name;
}

void require_replaceable_file(const std::string& path) {
  const std::optional<FileKind> kind = kind_of_file(path);
  if (!kind) {
    fail_input(ErrorId::already_exists, "{}: exists, and Mylos has not written it; name another file",
               printable(path));
  }
  if (*kind != FileKind::checkpoint) return;
  verify_user_block(path);
  const std::int64_t step = hdf5::File::open(path).integer_attribute("/", "step");
  if (step == 0) return;
  fail_input(ErrorId::already_exists,
             "{}: is a checkpoint of step {}, which one of step 0 does not replace; name another file",
             printable(path), step);
}

}  // namespace

bool has_onnx_name(const std::string& path) {
  return lower_case_name(path).ends_with(".onnx");
}

bool has_ending_after_onnx(const std::string& path) {
  return lower_case_name(path).find(".onnx.") != std::string::npos;
}

void require_checkpoint_output(const std::string& path, const char* example) {
  if (has_onnx_name(path) || has_ending_after_onnx(path)) {
    fail_input(ErrorId::bad_argument,
               "{}: the output is a checkpoint; name it FILE.h5, and let `mylos export` make ONNX of it",
               printable(path));
  }
  std::error_code failure;
  const fs::file_status there = fs::status(path, failure);
  if (failure && there.type() != fs::file_type::not_found) {
    fail_input(ErrorId::cannot_write, "{}: cannot be written: {}; name another file", printable(path),
               failure.message());
  }
  if (fs::is_directory(there))
    fail_input(ErrorId::not_a_file, "{}: is a folder; give the checkpoint's file, {}/{}", path, path,
               example);
  if (fs::is_regular_file(there) && fs::file_size(path, failure) > 0 && !failure)
    require_replaceable_file(path);
}

}  // namespace mylos::app
