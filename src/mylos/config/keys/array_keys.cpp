// [data.arrays]: arrays as they lie in files.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "mylos/base/numbers/number_text.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_axes = 8;
constexpr std::size_t max_arrays = 1000;
constexpr const char* axes_text = "names of axes in the file's order, separated by spaces (\"time y x\")";

bool is_axis(const std::string& name) {
  const auto may_follow = [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 100 && !('0' <= name[0] && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), may_follow);
}

/// Returns the names in "time y x"; nothing if they are not 1 to `max_axes` different names.
std::optional<std::vector<std::string>> axes_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> axes;
  for (std::string word; words >> word;) {
    const bool is_known = std::find(axes.begin(), axes.end(), word) != axes.end();
    if (!is_axis(word) || is_known || axes.size() == max_axes) return std::nullopt;
    axes.push_back(word);
  }
  if (axes.empty()) return std::nullopt;
  return axes;
}

std::string text_of_axes(const std::vector<std::string>& axes) {
  std::string text;
  for (const std::string& axis : axes) text += (text.empty() ? "" : " ") + axis;
  return text;
}

/// The axes of all arrays, or an entry for each: { "/u" = "time y x", "/mask" = "y x" }.
void fill_axes(Key& key) {
  key.has_entries = true;
  key.default_text = "none";
  key.read = [](Options& options, const Value& value) -> Found {
    ArrayOptions& arrays = options.data.arrays;
    if (const auto* text = std::get_if<std::string>(&value.held)) {
      auto axes = axes_in(*text);
      if (!axes) return describe(value);
      arrays.axes = *std::move(axes);
      return std::nullopt;
    }
    const auto* table = std::get_if<Value::Table>(&value.held);
    if (table == nullptr) return describe(value);
    for (const NamedValue& entry : *table) {
      const auto* text = std::get_if<std::string>(&entry.value.held);
      auto axes = text == nullptr ? std::nullopt : axes_in(*text);
      if (!axes || !is_path(entry.name))
        return fmt::format("{} for '{}'", describe(entry.value), printable(entry.name));
      std::erase_if(arrays.axes_of, [&](const ArrayAxes& other) { return other.array == entry.name; });
      if (arrays.axes_of.size() == max_arrays) return fmt::format("a table of more than {}", max_arrays);
      arrays.axes_of.push_back({entry.name, *std::move(axes)});
    }
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    const ArrayOptions& arrays = options.data.arrays;
    if (arrays.axes_of.empty() && arrays.axes.empty()) return std::nullopt;
    if (arrays.axes_of.empty()) return Value{text_of_axes(arrays.axes)};
    Value::Table table;
    for (const ArrayAxes& each : arrays.axes_of) table.push_back({each.array, {text_of_axes(each.axes)}});
    for (const auto* group : {&arrays.inputs, &arrays.targets, &arrays.constants}) {
      for (const std::string& array : *group) {
        const bool is_written = std::any_of(table.begin(), table.end(),
                                            [&](const NamedValue& entry) { return entry.name == array; });
        if (!is_written && !arrays.axes.empty())
          table.push_back({array, {text_of_axes(arrays.axes_for(array))}});
      }
    }
    return Value{std::move(table)};
  };
  key.clear = [](Options& options) {
    options.data.arrays.axes.clear();
    options.data.arrays.axes_of.clear();
  };
}

/// The mask of all inputs and targets, or an entry for each: { "/sst" = "/sea" }.
void fill_mask(Key& key) {
  key.has_entries = true;
  key.takes_any_text = true;
  key.default_text = "none";
  key.read = [](Options& options, const Value& value) -> Found {
    ArrayOptions& arrays = options.data.arrays;
    if (const auto* text = std::get_if<std::string>(&value.held)) {
      if (!is_path(*text)) return describe(value);
      arrays.mask = *text;
      return std::nullopt;
    }
    const auto* table = std::get_if<Value::Table>(&value.held);
    if (table == nullptr) return describe(value);
    for (const NamedValue& entry : *table) {
      const auto* text = std::get_if<std::string>(&entry.value.held);
      if (text == nullptr || !is_path(*text) || !is_path(entry.name))
        return fmt::format("{} for '{}'", describe(entry.value), printable(entry.name));
      std::erase_if(arrays.masks, [&](const NamedMask& other) { return other.array == entry.name; });
      if (arrays.masks.size() == max_arrays) return fmt::format("a table of more than {}", max_arrays);
      arrays.masks.push_back({entry.name, *text});
    }
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    const ArrayOptions& arrays = options.data.arrays;
    if (!arrays.mask.empty()) return Value{arrays.mask};
    Value::Table table;
    for (const NamedMask& each : arrays.masks) table.push_back({each.array, {each.mask}});
    if (table.empty()) return std::nullopt;
    return Value{std::move(table)};
  };
  key.clear = [](Options& options) {
    options.data.arrays.mask.clear();
    options.data.arrays.masks.clear();
  };
}

/// Reads the integer that is all of the text; an empty text is no number. Returns false for another text.
bool read_bound(std::string_view text, std::optional<std::int64_t>& bound) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  bound.reset();
  if (!text.empty()) bound = to_number<std::int64_t>(text);
  return text.empty() || bound;
}

/// Returns the slice in "begin:end:step"; each part may be missing, and the step is at least 1.
std::optional<AxisSlice> slice_in(const std::string& axis, const std::string& text) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) return std::nullopt;
  const std::size_t second = std::min(text.find(':', first + 1), text.size());
  AxisSlice slice{.axis = axis};
  std::optional<std::int64_t> step;
  const std::string_view whole(text);
  const std::string_view steps = second < text.size() ? whole.substr(second + 1) : std::string_view();
  if (!read_bound(whole.substr(0, first), slice.begin) ||
      !read_bound(whole.substr(first + 1, second - first - 1), slice.end) || !read_bound(steps, step))
    return std::nullopt;
  slice.step = step.value_or(1);
  if (slice.step < 1) return std::nullopt;
  return slice;
}

std::string text_of_slice(const AxisSlice& slice) {
  const auto bound = [](const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : std::string();
  };
  std::string text = bound(slice.begin) + ':' + bound(slice.end);
  if (slice.step != 1) text += ':' + std::to_string(slice.step);
  return text;
}

void fill_slice(Key& key) {
  key.has_entries = true;
  key.default_text = "none";
  key.read = [](Options& options, const Value& value) -> Found {
    const auto* table = std::get_if<Value::Table>(&value.held);
    if (table == nullptr) return describe(value);
    auto& slices = options.data.arrays.slice;
    for (const NamedValue& entry : *table) {
      const auto* text = std::get_if<std::string>(&entry.value.held);
      const auto slice = text == nullptr ? std::nullopt : slice_in(entry.name, *text);
      if (!slice || !is_axis(entry.name)) {
        return fmt::format("{} for '{}' (\"3:4\" is the part with index 3 alone)", describe(entry.value),
                           printable(entry.name));
      }
      std::erase_if(slices, [&](const AxisSlice& other) { return other.axis == entry.name; });
      if (slices.size() == max_axes * max_arrays)
        return fmt::format("a table of more than {}", slices.size());
      slices.push_back(*slice);
    }
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    Value::Table table;
    for (const AxisSlice& slice : options.data.arrays.slice)
      table.push_back({slice.axis, {text_of_slice(slice)}});
    if (table.empty()) return std::nullopt;
    return Value{std::move(table)};
  };
  key.clear = [](Options& options) { options.data.arrays.slice.clear(); };
}

/// Returns whether an axis that `is_meant` accepts is among those of the arrays.
template <class IsMeant>
bool has_axis(const ArrayOptions& arrays, IsMeant is_meant) {
  if (std::any_of(arrays.axes.begin(), arrays.axes.end(), is_meant)) return true;
  return std::any_of(arrays.axes_of.begin(), arrays.axes_of.end(), [&](const ArrayAxes& each) {
    return std::any_of(each.axes.begin(), each.axes.end(), is_meant);
  });
}

Condition with_time() {
  return {"an axis \"time\"", {"data.arrays.axes"}, [](const Options& options) {
            return has_axis(options.data.arrays, [](const std::string& axis) { return axis == time_axis; });
          }};
}

Condition with_axes_of_a_grid() {
  return {"axes of a grid (other axes than \"sample\", \"time\" and \"channel\")",
          {"data.arrays.axes"},
          [](const Options& options) {
            return has_axis(options.data.arrays, [](const std::string& axis) { return is_grid_axis(axis); });
          }};
}

ValueType<std::vector<std::string>> arrays_type() {
  return or_none(list_type(
      text_type(is_path, "path of an array"),
      {.text = "list of paths of arrays in the files", .min = 1, .max = max_arrays, .distinct = true}));
}

ValueType<std::vector<Encoding>> encodings_type() {
  Words<Encoding> words;
  for (const Encoding one : {Encoding::day_of_year, Encoding::hour, Encoding::latitude, Encoding::longitude})
    words.emplace_back(name_of(one), one);
  const std::string text = fmt::format("list of {}", word_type(words).text);
  return or_none(list_type(word_type(std::move(words)), {.text = text, .min = 1, .distinct = true}));
}

}  // namespace

const std::vector<std::string>& array_keys_of(ModelType type) {
  static const std::vector<std::string> all{
      "inputs",      "targets", "axes",  "constants",   "encodings",   "history",
      "ahead",       "every",   "slice", "targets_are", "differences", "points_are_samples",
      "coordinates", "gaps",    "mask",  "missing",     "known_inputs"};
  static const std::vector<std::string> none;
  return type == ModelType::gpt ? none : all;
}

void add_array_keys(Schema& schema) {
  Keys keys(
      schema, "data.arrays",
      "How N-dimensional arrays in HDF5 or NetCDF-4 files become samples, without a conversion "
      "(`docs/how-to/data.md`). data.train and data.test name such files, usually by patterns. A "
      "sample is a window in time: `history` levels of all `inputs`, joined as channels, and as targets the "
      "`targets` that are `ahead` levels later. Windows do not cross files, nor indices of the axis "
      "\"sample\".",
      [](auto& options) -> auto& { return options.data.arrays; });
  keys.add("inputs", &ArrayOptions::inputs, arrays_type(),
           "The arrays that the network reads, as paths in the files: [\"/u\", \"/v\"]. Their channels are "
           "joined in this order.");
  keys.add("targets", &ArrayOptions::targets, arrays_type(), "The arrays that the network predicts.");
  fill_axes(
      keys.add("axes", fmt::format("{}, or a table of them by array", axes_text), "",
               "The axes of the arrays. \"sample\", \"time\" and \"channel\" have a meaning; all others "
               "are axes of the grid, at most three, in the order of the samples' grid. A name for all "
               "arrays, \"time y x\", or one for each: { \"/u\" = \"time y x\", \"/mask\" = \"y x\" }. "
               "With one for all, `constants` lack \"sample\" and \"time\"."));
  keys.add("constants", &ArrayOptions::constants, arrays_type(),
           "Arrays without the axes \"sample\" and \"time\", such as masks and coordinates, whose channels "
           "are joined to every sample, after the inputs.");
  keys.add(
      "encodings", &ArrayOptions::encodings, encodings_type(),
      "Inputs that are computed from the coordinates in the files (CF conventions). \"day_of_year\": sine "
      "and cosine of the fraction of the year that has passed, and \"hour\": of the day (UTC), at each "
      "level of the inputs, in rollouts of every step; \"latitude\": its sine, and \"longitude\": sine "
      "and cosine, of each point, after the constants. Statistics take them as numbers of mean 0 and "
      "deviation 1, which "
      "data.normalize leaves as they are. Files "
      "without such coordinates are refused.");
  keys.integer("history", &ArrayOptions::history, {1, max_history}, "levels",
               "Levels in time that the inputs have, the newest last.");
  keys.integer("ahead", &ArrayOptions::ahead, {0, max_count}, "levels",
               "Levels from the newest one of the inputs to that of the targets. 0: the same level.");
  keys.integer("every", &ArrayOptions::every, {1, max_count}, "levels",
               "Levels from the beginning of a window to that of the next.");
  fill_slice(keys.add("slice", "table of Python's slices by axis", "a ",
                      "The parts of axes that are used, as Python's slices \"begin:end:step\" with a step of "
                      "at least 1: { time = \"100:\", y = \"::2\" }. Levels are those of the slice."));
  keys.choice("targets_are", &ArrayOptions::targets_are,
              Words<TargetsAre>{{"state", TargetsAre::state}, {"difference", TargetsAre::difference}},
              "state: the targets' values; difference: their change since the newest level of the inputs, "
              "among which they then must be. `differences` chooses by array.");
  keys.add("differences", &ArrayOptions::differences, arrays_type(),
           "The targets that are differences, while the others are states: [\"/sst\"].");
  keys.boolean("points_are_samples", &ArrayOptions::points_are_samples,
               "Makes each point of the grid a sample, with its channels as columns: closures per cell.");
  keys.choice("coordinates", &ArrayOptions::coordinates,
              Words<FileCoordinates>{{"same", FileCoordinates::same}, {"ignore", FileCoordinates::ignore}},
              "What the files state of the axes of grid and channels (NetCDF's coordinate variables, HDF5's "
              "dimension "
              "scales). same: it is kept with the network, and other files with other coordinates, units or "
              "directions are refused: for training, tests, predictions, rollouts and initial weights. "
              "ignore: it is neither kept nor compared.");
  keys.choice(
      "gaps", &ArrayOptions::gaps,
      Words<TimeGaps>{{"error", TimeGaps::error}, {"break", TimeGaps::split}, {"ignore", TimeGaps::ignore}},
      "What the files state of the times of levels (the coordinates of the axis \"time\"). error: a "
      "level that is missing, repeated or out of order is refused: windows count levels. break: no window "
      "contains such a step. Both refuse files whose levels are further apart than those of the "
      "training, or nearer. ignore: times are not compared, and read by data.arrays.encodings alone.");
  fill_mask(keys.add(
      "mask", "path of an array, or \"fill\", or a table of them by array", "",
      "The points of inputs and targets that have a value: the sea of an ocean. An array of the files, 0 or "
      "missing at the other points, with the axes of the grid, or those and \"channel\", in the order of the "
      "masked array or of its own entry in `axes`; or \"fill\": the points whose values are missing (NaN, "
      "_FillValue, missing_value) in the first level, and must be in all others. One for all inputs and "
      "targets, or one for each: { \"/sst\" = \"/sea\", \"/ice\" = \"fill\" }. What the files have at other "
      "points is not used: they count in no statistics, loss, metric or calibration, the network reads 0 "
      "there after data.normalize, in rollouts too, and files of predictions have _FillValue there. "
      "`constants` may have the mask, for a network that is to read it."));
  keys.add("missing", &ArrayOptions::missing, arrays_type(),
           "Inputs and targets whose values may be missing (NaN, _FillValue, missing_value), at other points "
           "of each level: under clouds, between stations. A target that is missing counts in no statistics, "
           "loss, metric or calibration; the network reads 0 after data.normalize for an input that is. "
           "Missing values of other arrays are refused. For points that never have a value see `mask`, which "
           "an array may have too.");
  keys.boolean(
      "known_inputs", &ArrayOptions::known_inputs,
      "Adds to each level of the inputs a channel for each one of the inputs in `missing`: 1 where it has a "
      "value, 0 where that is missing or masked. data.normalize leaves it as it is. In rollouts states are "
      "known after the first step.");
  keys.limit_to_types(array_keys_of);
  keys.only_with(with_given("data.train"));
  const std::vector<std::string>& all = array_keys_of(ModelType::chain);
  std::vector<std::string_view> others(all.begin(), all.end());
  std::erase(others, "inputs");
  keys.only_with(others, with_given("data.arrays.inputs"));
  keys.only_with({"history", "ahead", "every", "targets_are", "differences", "gaps"}, with_time());
  keys.only_with({"targets_are", "differences"}, with_given("data.arrays.targets"));
  keys.only_with({"differences"}, with("data.arrays.targets_are", {"state"}));
  keys.only_with({"points_are_samples", "coordinates", "mask"}, with_axes_of_a_grid());
}

}  // namespace mylos
