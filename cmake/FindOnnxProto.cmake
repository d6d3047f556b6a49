# OnnxProto::onnx_proto, the classes that protobuf makes of ONNX's definitions: headers onnx/onnx-ml.pb.h, library onnx_proto.
# They are of use with the protobuf of their build alone, so that a small program is tried.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)
include(FindPackageHandleStandardArgs)
find_package(Protobuf QUIET)
find_path(OnnxProto_INCLUDE_DIR onnx/onnx-ml.pb.h)
find_library(OnnxProto_LIBRARY onnx_proto)
if(OnnxProto_INCLUDE_DIR AND OnnxProto_LIBRARY AND TARGET protobuf::libprotobuf)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_INCLUDES "${OnnxProto_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_DEFINITIONS -DONNX_ML=1 -DONNX_NAMESPACE=onnx)
  set(CMAKE_REQUIRED_LIBRARIES "${OnnxProto_LIBRARY}" protobuf::libprotobuf)
  check_cxx_source_compiles("#include <onnx/onnx_pb.h>
    int main() { onnx::ModelProto model; return static_cast<int>(model.ByteSizeLong()); }" OnnxProto_COMPILES)
  cmake_pop_check_state()
endif()
find_package_handle_standard_args(OnnxProto REQUIRED_VARS OnnxProto_LIBRARY OnnxProto_INCLUDE_DIR OnnxProto_COMPILES)
if(OnnxProto_FOUND AND NOT TARGET OnnxProto::onnx_proto)
  add_library(OnnxProto::onnx_proto UNKNOWN IMPORTED)
  set_target_properties(OnnxProto::onnx_proto PROPERTIES
    IMPORTED_LOCATION "${OnnxProto_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${OnnxProto_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "ONNX_ML=1;ONNX_NAMESPACE=onnx" INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)
endif()
mark_as_advanced(OnnxProto_INCLUDE_DIR OnnxProto_LIBRARY)
