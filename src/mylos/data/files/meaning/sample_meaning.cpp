#include "mylos/data/files/meaning/sample_meaning.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

std::string on_grid(const SampleStore& store) {
  return store.grid().empty() ? "" : fmt::format(" ({})", fmt::join(store.grid(), " x "));
}

bool may_lie_on(const SampleMeaning& trained, const std::vector<std::int64_t>& grid) {
  if (grid.empty() || grid == trained.grid || grid == trained.deck_grid) return true;
  return trained.grid.empty() && trained.deck_grid.size() != grid.size();
}

/// Returns the order of the columns `what`, and adds remarks on them to the notes.
ColumnOrder order_of(const std::vector<std::string>& trained, const std::vector<std::string>& given,
                     const char* what, const SampleMeaning& meaning, const std::string& path,
                     std::vector<std::string>& notes) {
  if (trained.empty()) return {};
  if (given.empty()) {
    notes.push_back(fmt::format("{}: does not name its {}; they are read in the order {}", path, what,
                                list_of_names(trained)));
    return {};
  }
  const ColumnOrder order =
      order_by_name(trained, given, fmt::format("{}: its {}", path, what), meaning.data);
  if (!order.empty()) {
    notes.push_back(fmt::format("{}: its {} are {}; they are read by name in the order {}", path, what,
                                list_of_names(given), list_of_names(trained)));
  }
  return order;
}

}  // namespace

PartMemory name_memory(const SampleMeaning& meaning) {
  std::size_t bytes = 0;
  for (const auto* names : {&meaning.class_names, &meaning.input_names, &meaning.target_names})
    for (const std::string& name : *names) bytes += sizeof(std::string) + name.capacity() + 1;
  for (const GridAxis& axis : meaning.axes) bytes += sizeof axis + axis.values.size() * sizeof(double);
  for (const MaskSummary& mask : meaning.masks) bytes += sizeof mask + mask.array.capacity();
  return {{"names of classes and columns, coordinates", 2 * bytes, false}};
}

SampleMeaning meaning_of(const SampleStore& train, const std::vector<std::int64_t>& deck_grid) {
  return {.data = train.path(),
          .grid = train.grid(),
          .deck_grid = deck_grid,
          .axes = train.axes(),
          .level_step = train.level_step(),
          .masks = train.masks(),
          .class_names = train.class_names(),
          .file = train.path(),
          .input_names = train.input_names(),
          .target_names = train.target_names()};
}

void require_same_meaning(const SampleMeaning& trained, const SampleStore& other) {
  if (!may_lie_on(trained, other.grid())) {
    fail_input(errors::data_mismatch,
               "{}: its samples lie on a grid of {}, those of {} on one of {}; expected the same grid, or "
               "for a trained network another with the same number of axes and channels",
               other.path(), fmt::join(other.grid(), " x "), trained.data,
               fmt::join(trained.grid.empty() ? trained.deck_grid : trained.grid, " x "));
  }
  require_same_axes(trained.axes, trained.data, other.axes(), other.path());
  require_same_step(trained.level_step, trained.data, other.level_step(), other.path());
  require_same_masks(trained.masks, trained.data, other.masks(), other.path());
  const std::vector<std::string> names = other.class_names();
  for (std::size_t i = 0; i < std::min(names.size(), trained.class_names.size()); ++i) {
    if (names[i] == trained.class_names[i]) continue;
    fail_input(
        errors::bad_names,
        "{}: class {} (counted from 0) is '{}', and '{}' in {}; labels must mean the same classes: `mylos "
        "prepare images` with --classes-of {} numbers them alike",
        other.path(), i, printable(names[i]), printable(trained.class_names[i]), trained.data, trained.file);
  }
}

std::vector<std::string> match_columns(const SampleMeaning& trained, SampleStore& other) {
  std::vector<std::string> notes;
  const ColumnOrder inputs =
      order_of(trained.input_names, other.input_names(), "inputs", trained, other.path(), notes);
  ColumnOrder targets;
  if (other.task() == Task::regression)
    targets = order_of(trained.target_names, other.target_names(), "targets", trained, other.path(), notes);
  other.reorder(inputs, targets);
  if (std::string note = note_on_unknown_axes(trained.axes, other.axes(), other.path()); !note.empty())
    notes.push_back(std::move(note));
  return notes;
}

void require_same_shape(const SampleStore& train, const SampleStore& other,
                        const std::vector<std::int64_t>& deck_grid) {
  if (train.features() != other.features()) {
    fail_input(errors::data_mismatch, "{}: has {} features per sample{}, {} has {}{}", other.path(),
               other.features(), on_grid(other), train.path(), train.features(), on_grid(train));
  }
  if (train.task() != other.task()) {
    fail_input(errors::data_mismatch, "{}: holds {}, {} holds {}", other.path(), name_of_truth(other.task()),
               train.path(), name_of_truth(train.task()));
  }
  if (train.outputs() != other.outputs()) {
    fail_input(errors::data_mismatch, "{}: has {} {}, {} has {}", other.path(), other.outputs(),
               other.task() == Task::regression ? "targets per sample" : "classes", train.path(),
               train.outputs());
  }
  require_same_meaning(meaning_of(train, deck_grid), other);
}

}  // namespace mylos
