// `mylos prepare images FOLDER --out FILE`: converts a folder of PNG and JPEG images to a dataset file, [H,
// W, C] bytes.
//
// FOLDER holds one folder per class. The folders' names, sorted, are the classes 0, 1, 2 ... and are stored
// in the file (/class_names). Folders whose name starts with a dot are ignored; a folder without an image is
// refused unless the classes are those of another file. Images are written in an order that a fixed key
// shuffles, so that all classes occur at the end of the file, which data.validation holds out. Without labels
// the images lie in FOLDER itself and are written in the order of their names, as inputs alone, for
// predictions.
//
// Grey images have one channel, others three, also those with a palette. An alpha channel is dropped, and 16
// bits become 8: round(v * 255 / 65535). Colours become grey by their luma (ITU-R BT.601), grey becomes three
// equal channels. A JPEG's orientation tag is ignored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

enum class OnCorrupt { fail, skip };

struct PrepareImages {
  std::string folder = "";
  std::string out = "";         // the dataset file to make
  bool labelled = true;         // a folder per class; otherwise images alone
  std::string classes_of = "";  // a dataset file with the classes ("": from the folders)
  int channels = 0;             // 1 or 3; 0: as the first image; others are refused
  std::int64_t height = 0;      // size after resizing; 0: all images must have one size
  std::int64_t width = 0;
  OnCorrupt on_corrupt = OnCorrupt::fail;
};

/// Throws Error: bad_input with the path of the problem (no images, a damaged one, one of another size);
/// failed if `out` cannot be written. Holds one image at a time, of at most 2^26 pixels, and the statistics
/// of one sample's at most 2^24 numbers. Returns notes for the user, one per line: skipped files, channels
/// that were added or dropped. OnCorrupt::skip decodes each image twice.
std::vector<std::string> prepare(const PrepareImages& job);

/// Parses 224x224 to {224, 224}: height, width. Throws Error (bad_input).
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
[[nodiscard]] ImageSize parse_image_size(const std::string& text);

}  // namespace mylos
