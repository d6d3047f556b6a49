// Errors of a file that this program writes.
#pragma once

#include <utility>

#include "mylos/base/error.hpp"

namespace mylos {

/// Returns work(), which writes a file of this program and reads it again. Errors that readers report as bad
/// input are not the user's fault here (the folder may have been deleted): they are rethrown as
/// ExitCode::failed.
template <class Work>
decltype(auto) on_own_file(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error& error) {
    throw Error(ExitCode::failed, error.id(), error.message());
  }
}

}  // namespace mylos
