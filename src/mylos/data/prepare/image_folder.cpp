#include "mylos/data/prepare/image_folder.hpp"

#include <algorithm>
#include <filesystem>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/utf8.hpp"

namespace mylos {
namespace {

namespace fs = std::filesystem;

/// Returns whether the name ends in .png, .jpg or .jpeg, in lower or upper case.
bool is_called_image(const std::string& name) {
  std::string extension = fs::path(name).extension().string();
  for (char& c : extension) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

struct Names {
  std::vector<std::string> folders;
  std::vector<std::string> images;
  std::int64_t skipped = 0;
};

Names names_in(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) {
    const bool is_missing = status.type() == fs::file_type::not_found;
    fail_input(is_missing ? errors::no_such_folder : errors::cannot_read, "{}: cannot be opened: {}{}", path,
               failed ? failed.message() : "No such file or directory", current_folder_note(path));
  }
  if (!fs::is_directory(status)) fail_input(errors::not_a_folder, "{}: is not a folder", path);
  Names names;
  fs::directory_iterator entry(path, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      if (name.starts_with('.')) {  // of an editor or a file manager, .ipynb_checkpoints
        ++names.skipped;
      } else {
        names.folders.push_back(name);
      }
    } else if (is_called_image(name)) {
      names.images.push_back(name);
    } else {
      ++names.skipped;
    }
  }
  if (failed) fail_input(errors::cannot_read, "{}: cannot be read: {}", path, failed.message());
  std::sort(names.folders.begin(), names.folders.end());
  std::sort(names.images.begin(), names.images.end());
  return names;
}

void add_images(ImageFolder& folder, const std::string& path, const Names& names, std::int32_t label) {
  for (const std::string& name : names.images)
    folder.files.push_back({(fs::path(path) / name).string(), label});
  folder.skipped += names.skipped;
}

std::int32_t label_of_folder(const std::string& path, const std::vector<std::string>& classes) {
  const std::string name = fs::path(path).filename().string();
  const auto found = std::find(classes.begin(), classes.end(), name);
  if (found == classes.end()) {
    fail_input(errors::bad_names, "{}: '{}' is not one of the {} known classes", path, printable(name),
               classes.size());
  }
  return static_cast<std::int32_t>(found - classes.begin());
}

}  // namespace

ImageFolder list_images(const std::string& path, bool labelled, const std::vector<std::string>& known) {
  ImageFolder folder;
  const Names top = names_in(path);
  if (!labelled) {
    add_images(folder, path, top, 0);
    folder.skipped += static_cast<std::int64_t>(top.folders.size());
    if (folder.files.empty())
      fail_input(errors::too_little_data, "{}: has no image (a file that ends in .png, .jpg or .jpeg)", path);
    return folder;
  }
  if (top.folders.empty()) {
    fail_input(errors::wrong_format, "{}: has no folders, expected one per class{}", path,
               top.images.empty()
                   ? ""
                   : fmt::format("; --unlabelled reads its {} images as inputs alone", top.images.size()));
  }
  folder.classes = known.empty() ? top.folders : known;
  folder.skipped = top.skipped + static_cast<std::int64_t>(top.images.size());
  for (const std::string& name : top.folders) {
    if (name.find('\n') != std::string::npos)
      fail_input(errors::bad_names, "{}: the name of its folder '{}' has a line break", path,
                 printable(name));
    if (!is_utf8(name)) {
      fail_input(
          errors::bad_encoding,
          "{}: the name of its folder '{}' is not UTF-8, the encoding of class names in data files; rename "
          "it",
          path, printable(name));
    }
    const std::string of_class = (fs::path(path) / name).string();
    const Names names = names_in(of_class);
    if (names.images.empty() && known.empty()) {
      fail_input(errors::too_little_data,
                 "{}: has no image (a file that ends in .png, .jpg or .jpeg); remove the folder, or name the "
                 "file that "
                 "has these classes with --classes-of",
                 of_class);
    }
    add_images(folder, of_class, names, label_of_folder(of_class, folder.classes));
    folder.skipped += static_cast<std::int64_t>(names.folders.size());
  }
  if (folder.files.empty()) {
    fail_input(errors::too_little_data,
               "{}: its {} folders have no image (a file that ends in .png, .jpg or .jpeg)", path,
               top.folders.size());
  }
  return folder;
}

}  // namespace mylos
