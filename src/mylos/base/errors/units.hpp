// Byte counts and durations in human-readable form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mylos {

/// Parses "12 GiB", "25MiB", "1e9 B" or "4096" and returns bytes. Units: B, kB, MB, GB, TB (powers of 1000),
/// KiB, MiB, GiB, TiB. Returns nothing if the text is not a byte count or does not fit 63 bits.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);

/// Formats 13421772800 as "12.5 GiB".
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

/// Parses "HH:MM:SS" (hours may exceed 99; MM and SS below 60) and returns seconds. Returns nothing for
/// another form.
[[nodiscard]] std::optional<std::int64_t> parse_walltime(std::string_view text);

/// Formats 3725 as "1:02:05" and 65 as "1:05".
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace mylos
