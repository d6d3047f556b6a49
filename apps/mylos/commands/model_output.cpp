#include "commands/model_output.hpp"

#include "commands/output_name.hpp"
#include "commands/replaced_file.hpp"
#include "mylos/data/run/data_paths.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {

void require_model_output(const std::string& checkpoint, const DataOptions& data, const std::string& output) {
  if (!has_onnx_name(output)) require_hdf5_name(output);
  require_file_output(output, "model's", "model.h5");
  require_other_file(checkpoint, output);
  require_replaceable(output, has_onnx_name(output) ? OutputKind::other : OutputKind::model);
  require_other_than_data(data, output);
}

void require_source_output(const std::string& checkpoint, const DataOptions& data,
                           const std::string& output) {
  require_file_output(output, "source", "net.hpp");
  require_other_file(checkpoint, output);
  require_replaceable(output, OutputKind::other);
  require_other_than_data(data, output);
}

}  // namespace mylos::app
