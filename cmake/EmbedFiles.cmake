# cmake -DOUTPUT=FILE.cpp -DHEADER=x.hpp -DNAMES="a;b" "-DFILES_a=x;y" -DFILES_b=z -P EmbedFiles.cmake: files as the constants
# a, b of namespace mylos::app; several put one behind the other.
set(source "// Made by cmake/EmbedFiles.cmake.\n#include \"${HEADER}\"\n\nnamespace mylos::app {\n\n")
foreach(name IN LISTS NAMES)
  string(APPEND source "const std::string_view ${name} =")
  foreach(file IN LISTS FILES_${name})
    file(READ "${file}" text)
    string(APPEND source "\n    R\"mylos(${text})mylos\"")
  endforeach()
  string(APPEND source ";\n\n")
endforeach()
string(APPEND source "}  // namespace mylos::app\n")
file(WRITE "${OUTPUT}" "${source}")
