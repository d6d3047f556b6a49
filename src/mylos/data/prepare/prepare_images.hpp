// `mylos prepare images FOLDER --out FILE`: a folder of PNG and JPEG images to a dataset file, [H, W, C]
// bytes.
//
// FOLDER holds one folder per class; the folders' names, sorted, are the classes 0, 1, 2 ..., and are kept in
// the file (/class_names). Folders whose name begins with a dot are left alone, one without an image is
// refused unless the classes are those of another file. Images are written in an order that a fixed key
// shuffles, so that the file's end, which data.validation holds back, has all classes. Without labels the
// images lie in FOLDER itself and are written in the order of their names, inputs alone, for predictions.
//
// Grey images have one channel, others three; a palette's colours are three. An alpha channel is left out,
// and 16 bits become 8: round(v * 255 / 65535). Colours become grey by their luma (ITU-R BT.601), grey
// becomes three equal channels. A JPEG's orientation tag is not looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

enum class OnCorrupt { fail, skip };

struct PrepareImages {
  std::string folder = "";
  std::string out = "";         // the dataset file to make
  bool labelled = true;         // a folder per class; else images alone
  std::string classes_of = "";  // a dataset file whose classes these are ("": as the folders say)
  int channels = 0;             // 1 or 3; 0: as the first image has, and others are refused
  std::int64_t height = 0;      // what images are resized to; 0: all have one size
  std::int64_t width = 0;
  OnCorrupt on_corrupt = OnCorrupt::fail;
};

/// Throws Error: bad_input with the path of what is wrong (no images, a damaged one, one of another size);
/// failed when `out` cannot be written. Holds one image at a time, of 2^26 pixels at most, and the statistics
/// of one sample's numbers, of which there may be 2^24. Returns what the user should know, a line each: files
/// left out, channels that were made or dropped. OnCorrupt::skip decodes each image twice.
std::vector<std::string> prepare(const PrepareImages& job);

/// 224x224 -> {224, 224}: height, width. Throws Error (bad_input).
struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};
[[nodiscard]] ImageSize parse_image_size(const std::string& text);

}  // namespace mylos
