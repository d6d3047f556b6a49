#include "mylos/inference/float64/float64_program.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"

namespace mylos::float64 {
namespace {

std::string shared_name(std::string name) {
  if (name == "gx" || name == "gy" || name == "gtape") name.front() = 'd';
  return name;
}

}  // namespace

std::size_t Buffers::add(const std::string& name, std::int64_t width) {
  const auto [found, is_new] = indices_.try_emplace(shared_name(name), widths_.size());
  if (is_new) widths_.push_back(0);
  widths_[found->second] = std::max(widths_[found->second], width);
  return found->second;
}

std::size_t Buffers::index(const std::string& name) const {
  return indices_.at(shared_name(name));
}

std::int64_t Buffers::width() const {
  std::int64_t width = 0;
  for (const std::int64_t each : widths_) width += each;
  return width;
}

std::vector<Columns> Buffers::placed(double* memory, std::int64_t columns) const {
  std::vector<Columns> all;
  for (const std::int64_t width : widths_) {
    all.push_back({memory, width});
    memory += width * columns;
  }
  return all;
}

Program::Program(const SourcePass& pass, const std::map<std::string, const double*>& constants,
                 Buffers& buffers) {
  for (const SourceBuffer& buffer : pass.buffers) buffers.add(buffer.name, buffer.width);
  for (const SourceCall& source : pass.calls) {
    Call call{find_routine(source.routine), {}, {}};
    if (call.routine == nullptr)
      fail_run(errors::internal, "the routine '{}' has no form in double", source.routine);
    std::size_t sizes = 0;
    std::size_t uses = 0;
    for (const SourceArgument& argument : source.arguments) {
      if (const auto* size = std::get_if<std::int64_t>(&argument)) call.arguments.sizes.at(sizes++) = *size;
      if (const auto* number = std::get_if<SourceNumber>(&argument)) call.arguments.number = number->value;
      if (const auto* constant = std::get_if<SourceConstantUse>(&argument)) {
        const bool transposes = source.routine == transposing_routine;
        call.arguments.constants.at(uses++) =
            constants.at(transposes ? transposed_name(constant->name) : constant->name);
      }
      if (const auto* address = std::get_if<SourceAddress>(&argument))
        call.places.push_back({buffers.index(address->buffer), address->offset});
    }
    calls_.push_back(std::move(call));
  }
}

void Program::run(std::int64_t columns, Units units, const std::vector<Columns>& buffers) const {
  for (const Call& call : calls_) {
    Arguments arguments = call.arguments;
    arguments.columns = columns;
    arguments.units = units;
    for (std::size_t i = 0; i < call.places.size(); ++i) {
      const Columns& buffer = buffers[call.places[i].buffer];
      arguments.rows[i] = {buffer.data + call.places[i].offset, buffer.stride};
    }
    call.routine(arguments);
  }
}

}  // namespace mylos::float64
