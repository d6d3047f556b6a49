#include "mylos/base/errors/units.hpp"

#include <gtest/gtest.h>

namespace mylos::units_test {

TEST(Units, BytesAreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_bytes("12 GiB"), 12LL << 30);
  EXPECT_EQ(parse_bytes("25MiB"), 25LL << 20);
  EXPECT_EQ(parse_bytes("1.5 kB"), 1500);
  EXPECT_EQ(parse_bytes("4096"), 4096);
}

TEST(Units, WhatIsNoByteCountIsRefused) {
  for (const char* text : {"", "GiB", "-1 GiB", "12 gibs", "1e30 TiB", "nan", "1 2 B"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
  }
}

TEST(Units, BytesArePrintedInTheLargestUnitBelowThem) {
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(13421772800), "12.5 GiB");
}

TEST(Units, WalltimeIsHoursMinutesSeconds) {
  EXPECT_EQ(parse_walltime("01:02:05"), 3725);
  EXPECT_EQ(parse_walltime("100:00:00"), 360000);
  for (const char* text : {"", "1:2", "1:60:00", "1:00:60", "-1:00:00", "1:00:00x", "-00:30:00", "00:-0:30",
                           "00:30:-0", "+1:00:00"}) {
    EXPECT_EQ(parse_walltime(text), std::nullopt) << text;
  }
}

TEST(Units, DurationsArePrintedShort) {
  EXPECT_EQ(format_duration(65.2), "1:05");
  EXPECT_EQ(format_duration(3725), "1:02:05");
}

}  // namespace mylos::units_test
