#include "commands/output_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  return text;
}

std::string extension_of(const std::string& path) {
  return lower_case(fs::path(path).extension().string());
}

std::string file_name_of(const std::string& path) {
  return lower_case(fs::path(path).filename().string());
}

}  // namespace

bool is_table(const std::string& path) {
  return extension_of(path) == ".csv";
}

void require_hdf5_name(const std::string& path, const char* or_else) {
  constexpr std::string_view of_hdf5[] = {"", ".h5", ".hdf5", ".hdf", ".he5"};
  if (std::find(std::begin(of_hdf5), std::end(of_hdf5), extension_of(path)) != std::end(of_hdf5)) return;
  fail_input(errors::bad_argument, "{}: the output is an HDF5 file, whose name ends in .h5; name it {}{}",
             printable(path), printable(fs::path(path).replace_extension(".h5").string()), or_else);
}

void require_array_name(const std::string& path) {
  if (extension_of(path) != ".nc") require_hdf5_name(path);
}

bool has_onnx_name(const std::string& path) {
  return file_name_of(path).ends_with(".onnx");
}

bool has_ending_after_onnx(const std::string& path) {
  return file_name_of(path).find(".onnx.") != std::string::npos;
}

std::optional<SourceLanguage> source_language(const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension == ".hpp") return SourceLanguage::cpp;
  if (fs::path(path).extension() == ".c") return SourceLanguage::c;  // .C is C++ to compilers
  if (extension == ".f90") return SourceLanguage::fortran;
  return std::nullopt;
}

void require_file_output(const std::string& path, const char* whose, const char* example) {
  std::error_code failure;
  const fs::file_status there = fs::status(path, failure);
  if (failure && there.type() != fs::file_type::not_found) {
    fail_input(errors::cannot_write, "{}: cannot be written: {}; name another file", printable(path),
               failure.message());
  }
  if (fs::is_directory(there))
    fail_input(errors::not_a_file, "{}: is a folder; give the {} file, {}/{}", path, whose, path, example);
}

}  // namespace mylos::app
