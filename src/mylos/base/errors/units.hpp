// Byte counts and durations as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mylos {

/// "12 GiB", "25MiB", "1e9 B", "4096" -> bytes. Units: B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB,
/// TiB. Empty when the text is no byte count or does not fit 63 bits.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);

/// 13421772800 -> "12.5 GiB".
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

/// "HH:MM:SS" (hours may exceed 99; MM and SS below 60) -> seconds. Empty when the text is not of that form.
[[nodiscard]] std::optional<std::int64_t> parse_walltime(std::string_view text);

/// 3725 -> "1:02:05", 65 -> "1:05".
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace mylos
