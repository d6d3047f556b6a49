#include "mylos/data/run/data_paths.hpp"

#include "mylos/base/error.hpp"
#include "mylos/data/arrays/files/file_pattern.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

std::vector<std::string> prepared_files(const DataFiles& files) {
  const bool is_plain =
      files.names.size() == 1 && files.names.front().find_first_of("*?[") == std::string::npos;
  return is_plain ? files.names : files_of(files.names);
}

std::vector<std::string> existing_files(const DataFiles& files) {
  std::vector<std::string> existing;
  for (const std::string& name : files.names) {
    try {
      const std::vector<std::string> found = files_of({name});
      existing.insert(existing.end(), found.begin(), found.end());
    } catch (const Error&) {  // the entry stands for no file
    }
  }
  return existing;
}

void require_other_than_data(const DataOptions& data, const std::string& output) {
  for (const DataFiles* files : {&data.train, &data.test}) {
    for (const std::string& file : existing_files(*files)) require_other_file(file, output);
  }
}

}  // namespace mylos
