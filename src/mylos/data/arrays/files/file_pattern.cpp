#include "mylos/data/arrays/files/file_pattern.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

/// The names that match a pattern.
class Matches {
 public:
  explicit Matches(const std::string& pattern) {
    const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found_);
    if (status == 0 || status == GLOB_NOMATCH) return;
    fail_run(status == GLOB_NOSPACE ? errors::out_of_memory : errors::cannot_read,
             "'{}': the files that match cannot be listed: {}", printable(pattern), std::strerror(errno));
  }
  ~Matches() { ::globfree(&found_); }
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;

  [[nodiscard]] std::vector<std::string> names() const {
    return {found_.gl_pathv, found_.gl_pathv + found_.gl_pathc};
  }

 private:
  glob_t found_{};
};

bool names_something(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

/// Returns the name without '.', '..' and a doubled '/': of two spellings one.
std::string one_spelling(const std::string& name) {
  return std::filesystem::absolute(name).lexically_normal().string();
}

}  // namespace

std::vector<std::string> files_of(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    if (names_something(name)) {
      files.push_back(name);
      continue;
    }
    const bool is_pattern = name.find_first_of("*?[") != std::string::npos;
    if (!is_pattern)
      fail_input(errors::no_such_file, "{}: no such file{}", printable(name), current_folder_note(name));
    std::vector<std::string> matches = Matches(name).names();
    if (matches.empty())
      fail_input(errors::no_such_file, "'{}' matches no file{}", printable(name), current_folder_note(name));
    files.insert(files.end(), std::make_move_iterator(matches.begin()),
                 std::make_move_iterator(matches.end()));
  }
  std::sort(files.begin(), files.end());
  const auto twice = std::adjacent_find(files.begin(), files.end());
  if (twice != files.end())
    fail_input(errors::duplicate_key, "{}: is named by two of the entries, expected one", *twice);
  std::map<std::string, std::string> spellings;
  for (const std::string& file : files) {
    const auto [known, is_new] = spellings.emplace(one_spelling(file), file);
    std::error_code unknown;  // beyond a link, '..' may lead elsewhere
    if (!is_new && std::filesystem::equivalent(known->second, file, unknown)) {
      fail_input(errors::duplicate_key, "{} and {} are the same file, expected one of them",
                 printable(known->second), printable(file));
    }
  }
  return files;
}

}  // namespace mylos
