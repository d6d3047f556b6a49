// Links if src/mylos/api/fmt_functions.cpp has what calls of fmt need.
#include <fmt/format.h>

#include <cstdio>

int main(int count, char** texts) {
  const std::string text = fmt::format("{:>5} {:.3g} {} {:L}", count, 0.5 * count, texts[0], 1000 * count) +
                           fmt::format("{} {}", 0.5f * static_cast<float>(count), '\t');
  return std::puts(text.c_str()) < 0 ? 1 : 0;
}
