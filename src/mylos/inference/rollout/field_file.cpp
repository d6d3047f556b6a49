#include "mylos/inference/rollout/field_file.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/inference/rollout/field_times.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/io/hdf5/hdf5_axes.hpp"
#include "mylos/io/hdf5/hdf5_boxes.hpp"

namespace mylos {
namespace {

/// How the data pack or fill numbers, which the outputs do not.
constexpr std::string_view packing[] = {"scale_factor", "add_offset",  "_FillValue",  "missing_value",
                                        "valid_min",    "valid_max",   "valid_range", "_Unsigned",
                                        "dtype",        "actual_range"};

/// NetCDF's NC_FILL_FLOAT: of points that a mask leaves out.
constexpr float no_value = 9.9692099683868690e+36f;

bool is_grid_axis(const std::string& axis) {
  return axis != sample_axis && axis != time_axis && axis != channel_axis;
}

DType type_of_output(hdf5::NumberType type) {
  return type == hdf5::NumberType::fp64 ? DType::fp64 : DType::fp32;
}

/// Integers stay what they are if all values are whole.
DType type_of_coordinates(hdf5::NumberType type, std::span<const double> values) {
  if (type == hdf5::NumberType::fp32) return DType::fp32;
  const bool is_integer =
      type != hdf5::NumberType::fp64 && type != hdf5::NumberType::fp16 && type != hdf5::NumberType::bf16;
  const bool whole = std::all_of(values.begin(), values.end(), [](double value) {
    return value == std::floor(value) && std::abs(value) < 1e15;
  });
  return is_integer && whole ? DType::int64 : DType::fp64;
}

}  // namespace

struct FieldFile::State {
  State(const std::string& path, const ArrayStore& like, const FieldFileShape& shape)
      : shape_(shape), pending_(path), like_(like), source_(hdf5::File::open(like.files().front())) {
    std::vector<ArrayCoordinates> arrays;
    for (const std::string& name : shape.arrays) {
      arrays.push_back(like.coordinates(0, name));
      for (const AxisCoordinates& axis : arrays.back().axes)
        if (axis.axis == channel_axis) outputs_ += axis.extent - 1;
      ++outputs_;
    }
    set_grid(like.coordinates(0, like.options().inputs.front()));
    file_.emplace(hdf5::File::create(pending_.temporary()));
    hdf5::copy_attributes(source_, "/", *file_, "/");
    file_->write_attribute("/", "checkpoint", shape.checkpoint);
    std::int64_t channel = 0;
    for (const ArrayCoordinates& array : arrays) channel = add(array, channel, {});
    for (const FieldPart& part : shape.parts) {
      channel = 0;
      for (const ArrayCoordinates& array : arrays) channel = add(array, channel, part);
    }
    file_->reserve();
  }

  void write(std::int64_t member, std::int64_t level, std::span<const float> field, std::size_t part,
             std::int64_t forecast, const GridPart& box) {
    move_to(box);
    const std::size_t arrays = shape_.arrays.size();
    for (Target& target : std::span(targets_).subspan(part * arrays, arrays)) {
      if (target.has_forecasts) target.box.front().begin = forecast;
      if (target.member_axis) target.box[*target.member_axis].begin = member;
      if (target.time_axis) target.box[*target.time_axis].begin = level;
      gather(target, field);
      hdf5::write_box(*target.dataset, target.box, target.values.data());
    }
  }

  void close() { file_->close(); }
  void publish() { pending_.publish(); }

 private:
  /// An array of the file.
  struct Target {
    std::int64_t first_channel = 0;  // of the network's outputs
    std::optional<hdf5::Dataset> dataset;
    std::vector<hdf5::AxisRange> box;        // of one field, or of a box of it
    std::vector<std::int64_t> strides;       // of its axes in a field [points, outputs]; 0 for others
    std::vector<std::int64_t> whole = {};    // the same in a whole field
    std::vector<std::int64_t> extents = {};  // of the axes of a whole field
    std::vector<std::optional<std::size_t>> grid_axes = {};  // which axes of the grid they are
    std::optional<std::size_t> member_axis;                  // of the dataset
    std::optional<std::size_t> time_axis;
    std::vector<float> values;  // of a field, in the order of the dataset
    std::int64_t channels = 1;
    std::vector<std::uint8_t> mask = {};  // [points, channels] 0 of numbers without a value; empty: none
    bool has_forecasts = false;           // its first axis
    bool has_missing = false;             // the level that a rollout begins with may have NaN
  };

  [[nodiscard]] std::int64_t members() const { return static_cast<std::int64_t>(shape_.members.size()); }
  [[nodiscard]] std::int64_t levels() const { return static_cast<std::int64_t>(shape_.levels.size()); }

  struct Axis {
    std::string name;
    std::int64_t extent;
    std::int64_t stride;  // in a field
  };

  /// The grid's axes in the order of the network, and their strides in a field.
  void set_grid(const ArrayCoordinates& first) {
    for (const AxisCoordinates& axis : first.axes)
      if (is_grid_axis(axis.axis)) grid_.push_back({axis.axis, axis.extent, 0});
    std::int64_t stride = outputs_;
    for (auto axis = grid_.rbegin(); axis != grid_.rend(); ++axis) {
      axis->stride = stride;
      stride *= axis->extent;
    }
  }

  /// Returns which axis of the grid it is.
  [[nodiscard]] std::optional<std::size_t> grid_axis(const std::string& name) const {
    const auto found = std::ranges::find(grid_, name, &Axis::name);
    if (found == grid_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - grid_.begin());
  }

  /// Lets all targets write this part of fields.
  void move_to(const GridPart& part) {
    if (part == part_) return;
    part_ = part;
    std::vector<std::int64_t> strides(grid_.size());  // in a field of the box
    std::int64_t stride = outputs_;
    for (std::size_t axis = grid_.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= box_of_axis(part, axis, grid_.size(), grid_[axis].extent).count;
    }
    for (Target& target : targets_) {
      std::int64_t numbers = 1;
      for (std::size_t axis = 0; axis < target.box.size(); ++axis) {
        if (const auto of_grid = target.grid_axes[axis]) {
          const AxisBox along = box_of_axis(part, *of_grid, grid_.size(), target.extents[axis]);
          target.box[axis] = {along.first, along.count};
          target.strides[axis] = strides[*of_grid];
        }
        numbers *= target.box[axis].count;
      }
      target.values.resize(static_cast<std::size_t>(numbers));
    }
  }

  /// Creates an array, or a part of it, and its coordinates. Returns the first channel of the next one.
  std::int64_t add(const ArrayCoordinates& array, std::int64_t channel, const FieldPart& part) {
    const std::string path = array.path + part.suffix;
    if (file_->exists(path)) {
      fail_input(errors::bad_names, "{}: predictions have an array {} beside {}, but there is one already",
                 source_.path(), path, array.path);
    }
    Target target;
    target.first_channel = channel;
    target.mask = like_.mask_of(array.path);
    target.has_missing = like_.options().may_be_missing(array.path);
    std::vector<std::int64_t> dims;
    std::vector<std::string> scales;
    const auto add_axis = [&](std::int64_t extent, std::int64_t of_field, std::int64_t stride,
                              std::optional<std::size_t> of_grid = {}) {
      dims.push_back(extent);
      target.box.push_back({0, of_field});
      target.strides.push_back(stride);
      target.extents.push_back(of_field);
      target.grid_axes.push_back(of_grid);
    };
    const bool has_samples = std::any_of(array.axes.begin(), array.axes.end(),
                                         [](const auto& axis) { return axis.axis == sample_axis; });
    target.has_forecasts = shape_.forecasts > 1 && !part.is_of_mean;
    if (target.has_forecasts) {
      add_axis(shape_.forecasts, 1, 0);
      scales.push_back(add_forecasts());
    }
    if (!has_samples && members() > 1) {
      target.member_axis = dims.size();
      add_axis(members(), 1, 0);
      scales.emplace_back();
    }
    std::int64_t channels = 1;
    for (const AxisCoordinates& axis : array.axes) {
      if (axis.axis == sample_axis) {
        target.member_axis = dims.size();
        add_axis(members(), 1, 0);
      } else if (axis.axis == mylos::time_axis) {
        target.time_axis = dims.size();
        add_axis(levels(), 1, 0);
      } else {
        const auto of_grid = grid_axis(axis.axis);
        const std::int64_t stride = of_grid ? grid_[*of_grid].stride : axis.axis == channel_axis ? 1 : 0;
        add_axis(axis.extent, axis.extent, stride, of_grid);
        if (axis.axis == channel_axis) channels = axis.extent;
      }
      scales.push_back(add_scale(axis));
    }
    std::int64_t numbers = 1;
    for (const hdf5::AxisRange& range : target.box) numbers *= range.count;
    target.values.resize(static_cast<std::size_t>(numbers));
    target.channels = channels;
    target.whole = target.strides;
    const DType type = type_of_output(array.facts.type);
    target.dataset = file_->create_dataset(path, type, dims);
    hdf5::copy_attributes(source_, array.path, *file_, path, packing);
    if (!target.mask.empty() || target.has_missing)
      hdf5::write_number_attribute(*file_, path, "_FillValue", no_value, type);
    if (part.coverage) hdf5::write_number_attribute(*file_, path, "coverage", *part.coverage);
    if (part.quantile) hdf5::write_number_attribute(*file_, path, "quantile", *part.quantile);
    hdf5::attach_scales(*file_, path, scales);
    targets_.push_back(std::move(target));
    return channel + channels;
  }

  /// Writes the numbers of the forecasts, once. Returns their path; "" if the data have something else there.
  std::string add_forecasts() {
    const std::string path = "/member";
    if (has_forecasts_) return path;
    if (file_->exists(path) || source_.exists(path)) return "";
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(shape_.forecasts));
    std::iota(numbers.begin(), numbers.end(), 0);
    file_->create_dataset(path, DType::int64, {shape_.forecasts}).write(0, shape_.forecasts, numbers.data());
    file_->write_attribute(path, "standard_name", "realization");
    hdf5::make_scale(*file_, path, "member");
    has_forecasts_ = true;
    return path;
  }

  /// Writes the coordinates of an axis, once. Returns their path; "" if the data have none.
  std::string add_scale(const AxisCoordinates& axis) {
    if (axis.scale.empty() || axis.values.empty()) return "";
    if (axis.axis == mylos::time_axis && !shape_.is_one_start) return "";
    if (file_->exists(axis.scale)) return axis.scale;
    std::vector<double> values = axis.values;
    if (axis.axis == mylos::time_axis) {
      auto times = times_of(axis, like_, shape_.levels, shape_.level_step);
      if (!times) return "";
      values = std::move(*times);
    } else if (axis.axis == sample_axis) {
      values.clear();
      for (const std::int64_t index : shape_.members) values.push_back(coordinate_at(axis.values, index, 1));
    }
    const hdf5::NumberType type = hdf5::Array(source_, axis.scale).facts().type;
    const auto count = static_cast<std::int64_t>(values.size());
    hdf5::Dataset dataset = file_->create_dataset(axis.scale, type_of_coordinates(type, values), {count});
    const hdf5::AxisRange box{0, count};
    hdf5::write_box(dataset, {&box, 1}, values.data());
    hdf5::copy_attributes(source_, axis.scale, *file_, axis.scale, packing);
    hdf5::make_scale(*file_, axis.scale, axis.scale.substr(axis.scale.rfind('/') + 1));
    return axis.scale;
  }

  /// Puts the array's part of a field into the order of the dataset.
  void gather(Target& target, std::span<const float> field) const {
    std::vector<std::int64_t> index(target.box.size());
    std::int64_t from = target.first_channel;
    std::int64_t from_whole = from;  // the same number of a whole field
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      from_whole += target.whole[axis] * target.box[axis].begin;
    const auto has_value = [&](std::int64_t number) {
      if (target.mask.empty()) return true;
      const std::int64_t channel = number % outputs_ - target.first_channel;
      return target.mask[static_cast<std::size_t>(number / outputs_ * target.channels + channel)] != 0;
    };
    for (float& value : target.values) {
      value = has_value(from_whole) ? field[static_cast<std::size_t>(from)] : no_value;
      if (target.has_missing && std::isnan(value)) value = no_value;
      for (std::size_t axis = target.box.size(); axis-- > 0;) {
        from += target.strides[axis];
        from_whole += target.whole[axis];
        if (++index[axis] < target.box[axis].count) break;
        from -= target.strides[axis] * target.box[axis].count;
        from_whole -= target.whole[axis] * target.box[axis].count;
        index[axis] = 0;
      }
    }
  }

  FieldFileShape shape_;
  PendingFile pending_;
  const ArrayStore& like_;
  hdf5::File source_;
  std::optional<hdf5::File> file_;
  std::int64_t outputs_ = 0;  // of a point
  std::vector<Axis> grid_ = {};
  GridPart part_;  // of fields, that is written
  std::vector<Target> targets_;
  bool has_forecasts_ = false;  // their numbers are in the file
};

FieldFile::FieldFile(const std::string& path, const ArrayStore& like, const FieldFileShape& shape)
    : state_(std::make_unique<State>(path, like, shape)) {}

FieldFile::~FieldFile() = default;

void FieldFile::write(std::int64_t member, std::int64_t level, std::span<const float> field, std::size_t part,
                      std::int64_t forecast) {
  state_->write(member, level, field, part, forecast, GridPart{});
}

void FieldFile::write_box(const GridPart& box, std::int64_t member, std::int64_t level,
                          std::span<const float> field, std::size_t part, std::int64_t forecast) {
  state_->write(member, level, field, part, forecast, box);
}

void FieldFile::close() {
  state_->close();
}

void FieldFile::publish() {
  state_->publish();
}

}  // namespace mylos
