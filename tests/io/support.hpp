// Helpers of tests of files: a temporary folder, the message of an error, Python as the independent reader.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "mylos/base/error.hpp"

namespace mylos::testing_support {

/// A new folder that is deleted with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "mylos-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string random_bytes(std::size_t count) {
  std::mt19937 random(3);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline bool python_has(const std::string& module) {
  return std::system(("/usr/bin/python3 -c 'import " + module + "' 2>/dev/null").c_str()) == 0;
}

/// Returns the output of the script. Debian's Python has h5py and numpy; another one first in PATH may not.
inline std::string python(const std::string& script) {
  const TemporaryFolder folder;
  write_file(folder / "script.py", script);
  const std::string command = "/usr/bin/python3 " + (folder / "script.py") + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const std::size_t bytes = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, bytes);
  EXPECT_EQ(pclose(pipe), 0) << output;
  return output;
}

/// Returns the message of the Error that `action` throws, which must have this exit code.
template <class Action>
std::string error_of(Action&& action, ExitCode code = ExitCode::bad_input) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return std::string(error.message());
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

}  // namespace mylos::testing_support
