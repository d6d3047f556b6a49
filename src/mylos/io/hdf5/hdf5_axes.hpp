// Axes and attributes of arrays that this program writes, as the dimension scales of HDF5 and NetCDF-4 have
// them: an array names the 1-D dataset with the coordinates of each of its axes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::hdf5 {

/// Makes a 1-D dataset of a file that this program creates a dimension scale called `name`.
void make_scale(File& file, const std::string& dataset, const std::string& name);
/// Writes a 1-D dataset of texts, UTF-8 of variable length.
void write_labels(File& file, const std::string& path, std::span<const std::string> labels);
/// Names the dimension scale of each axis of an array in a file that this program creates; "" for an axis
/// without one. To be called once for an array, with scales of make_scale().
void attach_scales(File& file, const std::string& array, std::span<const std::string> scales);

/// Copies the attributes of a group or dataset, apart from those that refer to other objects or describe
/// dimension scales, and those named in `except`. Attributes of more than 64 KiB, or of types other than
/// numbers and texts, are left out.
void copy_attributes(const File& from, const std::string& path, File& to, const std::string& to_path,
                     std::span<const std::string_view> except = {});

/// Writes a real number as a new attribute of a group or dataset, of type fp32 or fp64.
void write_number_attribute(File& file, const std::string& path, const char* name, double value,
                            DType type = DType::fp64);

}  // namespace mylos::hdf5
