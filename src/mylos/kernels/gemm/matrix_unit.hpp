// Whether the processor and its operating system have a matrix unit for bfloat16 (AMX). Asked of the
// processor itself, because oneDNN's limit stands once oneDNN has been asked.
#pragma once

namespace mylos {

[[nodiscard]] bool processor_has_matrix_unit();

}  // namespace mylos
