// Folders of images: which files they hold, and of which classes.
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
  std::vector<std::string> classes;  // empty where images have no labels
  std::vector<ImageFile> files;      // class by class, in the order of their names
  // Files that are not called .png, .jpg or .jpeg, folders within a class's, folders whose name begins with a
  // dot.
  std::int64_t others = 0;
};

/// `labelled`: one folder per class within `path`, of the classes `known` where there are such, else of all,
/// and none of them without an image. Else the images of `path` itself. Throws Error (bad_input) with the
/// path of what cannot be read, is empty, or no class.
[[nodiscard]] ImageFolder list_images(const std::string& path, bool labelled,
                                      const std::vector<std::string>& known);

}  // namespace mylos
