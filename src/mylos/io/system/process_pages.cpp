#include "mylos/io/system/process_pages.hpp"

#include <fstream>
#include <string>

namespace mylos {

std::int64_t resident_file_pages() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "RssFile:" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace mylos
