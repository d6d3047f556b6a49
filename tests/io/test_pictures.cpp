// Pictures, whose files are read back by the format's own rules: chunks, CRC-32, deflate, rows without
// filters.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <limits>

#include "mylos/io/pictures/picture.hpp"

namespace mylos {
namespace {

std::uint32_t number_at(const std::string& file, std::size_t offset) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<std::uint8_t>(file.at(offset + i));
  return number;
}

struct Chunk {
  std::string name;
  std::string contents;
};

std::vector<Chunk> chunks_of(const std::string& file) {
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1A\n");
  std::vector<Chunk> chunks;
  for (std::size_t offset = 8; offset < file.size();) {
    const std::uint32_t bytes = number_at(file, offset);
    chunks.push_back({file.substr(offset + 4, 4), file.substr(offset + 8, bytes)});
    const auto* checked = reinterpret_cast<const Bytef*>(file.data() + offset + 4);
    EXPECT_EQ(number_at(file, offset + 8 + bytes), crc32(0, checked, bytes + 4));
    offset += 12 + bytes;
  }
  return chunks;
}

TEST(Pictures, AFileHoldsThePixelsInTheirOrder) {
  Picture picture(3, 2, {1, 2, 3});
  picture.at(0, 1) = {255, 128, 7};
  picture.at(2, 0) = {9, 0, 200};
  const std::vector<Chunk> chunks = chunks_of(png_of(picture));
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0].name, "IHDR");
  EXPECT_EQ(chunks[0].contents, std::string("\0\0\0\2\0\0\0\3\x8\x2\0\0\0", 13));
  EXPECT_EQ(chunks[1].name, "IDAT");
  EXPECT_EQ(chunks[2].name, "IEND");
  std::string rows(3 * 7, '\xEE');
  uLongf bytes = rows.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &bytes,
                       reinterpret_cast<const Bytef*>(chunks[1].contents.data()), chunks[1].contents.size()),
            Z_OK);
  ASSERT_EQ(bytes, 21U);
  EXPECT_EQ(rows, std::string("\0\1\2\3\xFF\x80\7\0\1\2\3\1\2\3\0\x9\0\xC8\1\2\3", 21));
}

TEST(Pictures, Base64HasTheExamplesOfItsStandard) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_of("\xFF\xFE\xFD"), "//79");
}

TEST(Pictures, TheMapRisesInLightnessAndMarksWhatIsNotFinite) {
  EXPECT_EQ(viridis(-3), viridis_colours.front());
  EXPECT_EQ(viridis(0), viridis_colours.front());
  EXPECT_EQ(viridis(0.5), viridis_colours[4]);
  EXPECT_EQ(viridis(1), viridis_colours.back());
  EXPECT_EQ(viridis(7), viridis_colours.back());
  EXPECT_EQ(viridis(std::numeric_limits<double>::quiet_NaN()), not_finite_colour);
  double before = -1;
  for (int level = 0; level <= 100; ++level) {
    const Colour colour = viridis(level / 100.0);
    const double lightness = 0.2126 * std::pow(colour.red / 255.0, 2.2) +
                             0.7152 * std::pow(colour.green / 255.0, 2.2) +
                             0.0722 * std::pow(colour.blue / 255.0, 2.2);
    EXPECT_GT(lightness, before) << level;
    before = lightness;
  }
}

}  // namespace
}  // namespace mylos
