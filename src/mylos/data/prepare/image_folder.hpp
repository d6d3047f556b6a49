// Folders of images: their files and classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

struct ImageFile {
  std::string path;
  std::int32_t label = 0;
};

struct ImageFolder {
  std::vector<std::string> classes;  // empty if images have no labels
  std::vector<ImageFile> files;      // class by class, in the order of their names
  // Files that are not called .png, .jpg or .jpeg, folders inside a class's folder, folders whose name starts
  // with a dot.
  std::int64_t skipped = 0;
};

/// Lists the images. `labelled`: `path` has one folder per class; if `known` is given, these are the classes,
/// otherwise all folders are, and each must have an image. Not `labelled`: the images lie in `path` itself.
/// Throws Error (bad_input) with the path of a file or folder that cannot be read, is empty, or is not a
/// class.
[[nodiscard]] ImageFolder list_images(const std::string& path, bool labelled,
                                      const std::vector<std::string>& known);

}  // namespace mylos
