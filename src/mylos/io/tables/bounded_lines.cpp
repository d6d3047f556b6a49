#include "mylos/io/tables/bounded_lines.hpp"

namespace mylos {

void BoundedLines::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (line_.size() + part.size() > max_bytes_) {
      line_.clear();
      skipping_ = true;
    }
    if (end == std::string_view::npos) {
      if (!skipping_) line_ += part;
      return;
    }
    piece.remove_prefix(end + 1);
    if (skipping_) {
      ++too_long_;
    } else if (line_.empty()) {
      take_(part);
    } else {
      line_ += part;
      take_(line_);
    }
    line_.clear();
    skipping_ = false;
  }
}

}  // namespace mylos
