#include "mylos/interchange/source/source_weights.hpp"

#include <bit>
#include <cstring>

#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

template <class Number>
void append_number(std::string& bytes, Number number) {
  static_assert(std::endian::native == std::endian::little);
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  bytes.append(raw, sizeof number);
}

}  // namespace

std::string move_weights_to_file(SourceFile& file) {
  std::string numbers;
  for (SourceConstant& constant : file.plan.constants) {
    if (constant.is_double) continue;
    constant.file_offset = file.file_weights;
    for (const double value : constant.values) {
      if (file.is_double) {
        append_number(numbers, value);
      } else {
        append_number(numbers, static_cast<float>(value));
      }
    }
    file.file_weights += static_cast<std::int64_t>(constant.values.size());
  }
  file.weights_crc = crc32_of(numbers.data(), numbers.size());
  std::string bytes = "MYLOSNET";
  append_number(bytes, std::uint32_t{0x01020304});
  append_number(bytes, static_cast<std::uint32_t>(file.is_double ? sizeof(double) : sizeof(float)));
  append_number(bytes, static_cast<std::uint64_t>(file.file_weights));
  append_number(bytes, file.weights_crc);
  append_number(bytes, std::uint32_t{0});
  return bytes + numbers;
}

}  // namespace mylos
