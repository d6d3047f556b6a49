#include "mylos/io/safetensors/safetensors_header.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos::safetensors {
namespace {

struct ElementWord {
  std::string_view word;
  std::int64_t bytes;
};
constexpr std::array<ElementWord, 16> element_words{{{"BOOL", 1},
                                                     {"U8", 1},
                                                     {"I8", 1},
                                                     {"F8_E4M3", 1},
                                                     {"F8_E5M2", 1},
                                                     {"U16", 2},
                                                     {"I16", 2},
                                                     {"F16", 2},
                                                     {"BF16", 2},
                                                     {"U32", 4},
                                                     {"I32", 4},
                                                     {"F32", 4},
                                                     {"U64", 8},
                                                     {"I64", 8},
                                                     {"F64", 8},
                                                     {"C64", 8}}};

bool is_empty(const std::vector<std::int64_t>& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

std::string shape_text(const Entry& entry) {
  return fmt::format("[{}]", fmt::join(entry.shape, ", "));
}

/// Checks type, shape and offsets of one tensor against each other and against the file.
void check(const Entry& entry, std::int64_t data_bytes, const std::string& path) {
  const std::string name = printable(entry.name);
  const auto* word = std::find_if(element_words.begin(), element_words.end(),
                                  [&](const ElementWord& known) { return known.word == entry.type; });
  if (word == element_words.end()) {
    fail_input(errors::unsupported_feature,
               "{}: tensor '{}' has the dtype '{}', which the format does not have", path, name,
               printable(entry.type));
  }
  std::int64_t bytes = word->bytes;
  if (is_empty(entry.shape)) bytes = 0;
  for (const std::int64_t extent : entry.shape) {
    if (bytes > 0 && extent > largest / bytes) {
      fail_input(errors::too_large, "{}: tensor '{}' has the shape {}, more bytes than 63 bits can count",
                 path, name, shape_text(entry));
    }
    bytes *= bytes > 0 ? extent : 1;
  }
  if (entry.begin > entry.end || entry.end > data_bytes) {
    fail_input(entry.end > data_bytes ? errors::truncated : errors::damaged,
               "{}: tensor '{}' has data_offsets [{}, {}], but {} bytes follow the header", path, name,
               entry.begin, entry.end, data_bytes);
  }
  if (entry.end - entry.begin != bytes) {
    fail_input(errors::damaged,
               "{}: tensor '{}' is {} {} and takes {} bytes, but its data_offsets [{}, {}] hold {}", path,
               name, entry.type, shape_text(entry), bytes, entry.begin, entry.end, entry.end - entry.begin);
  }
}

}  // namespace

void check_and_sort(std::vector<Entry>& entries, std::int64_t data_bytes, const std::string& path) {
  for (const Entry& entry : entries) check(entry, data_bytes, path);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::int64_t covered = 0;
  const Entry* last = nullptr;
  for (const Entry& entry : entries) {
    if (entry.begin < covered) {
      fail_input(errors::damaged, "{}: tensors '{}' and '{}' overlap: data_offsets [{}, {}] and [{}, {}]",
                 path, printable(last->name), printable(entry.name), last->begin, last->end, entry.begin,
                 entry.end);
    }
    if (entry.begin > covered) {
      fail_input(errors::damaged, "{}: {} bytes before tensor '{}' belong to no tensor", path,
                 entry.begin - covered, printable(entry.name));
    }
    covered = entry.end;
    last = &entry;
  }
  if (covered < data_bytes) {
    fail_input(errors::damaged, "{}: {} bytes at its end belong to no tensor", path, data_bytes - covered);
  }
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  if (is_empty(shape)) return 0;  // regardless of the other extents
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

}  // namespace mylos::safetensors
