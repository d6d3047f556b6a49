// The layers of a host program.
#include "mylos/model/custom_layer.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/chain/growing_chain.hpp"

namespace mylos {
namespace {

const CustomLayer& layer_of_program(const GrowingChain& network, const std::string& name) {
  if (name.empty())
    network.refuse(errors::missing_key, "needs 'layer', the name of a custom layer of the program");
  std::vector<std::string> names;
  const CustomLayer* found = nullptr;
  for (const auto& each : network.model().custom_layers) {
    if (each == nullptr) network.refuse(errors::bad_call, "cannot be made: custom_layers has a null pointer");
    names.push_back(each->name());
    if (names.back() != name) continue;
    if (found != nullptr)
      network.refuse(errors::bad_call, "is the custom layer '{}', and the program brings two of that name",
                     name);
    found = each.get();
  }
  if (found != nullptr) return *found;
  if (names.empty())
    network.refuse(errors::unknown_name,
                   "is the custom layer '{}' of a program, which this one does not bring "
                   "(docs/how-to/custom-layers.md)",
                   name);
  network.refuse(errors::unknown_name, "is the custom layer '{}', but the program brings {}", name,
                 fmt::join(names, ", "));
}

void require_settings(const GrowingChain& network, const CustomLayer& layer,
                      const std::map<std::string, double>& settings) {
  const std::vector<std::string> known = layer.settings();
  for (const auto& [name, unused] : settings) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    network.refuse(errors::unknown_key, "has a setting '{}'; '{}' has {}", name, layer.name(),
                   known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  }
}

std::vector<std::int64_t> shape_of(const LayerInput& input) {
  if (input.axes == 0) return {input.grid.columns()};
  std::vector<std::int64_t> shape(input.grid.extent.end() - static_cast<std::ptrdiff_t>(input.axes),
                                  input.grid.extent.end());
  shape.push_back(input.grid.channels);
  return shape;
}

/// What the program's code says of its block is checked as a file from a stranger is: the plan and all memory
/// depend on it.
class Statement {
 public:
  Statement(const GrowingChain& network, const CustomLayer& layer, const CustomLayerInput& input,
            const CustomBlock& made)
      : network_(network), layer_(layer), input_(input), made_(made) {}

  /// Returns the grid of the outputs.
  [[nodiscard]] GridShape checked() const {
    if (made_.block == nullptr) refuse("makes no block");
    shape();
    signature();
    parameters();
    return made_.shape.size() == 1 ? GridShape{.channels = made_.shape.front()} : grid_of(made_.shape);
  }

 private:
  template <class... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> format, Arguments&&... of) const {
    network_.refuse(errors::bad_call, "of the program's '{}' {}", layer_.name(),
                    fmt::format(format, std::forward<Arguments>(of)...));
  }

  void shape() const {
    const std::vector<std::int64_t>& shape = made_.shape;
    const bool is_positive =
        std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 0; });
    if (!is_positive || (shape.size() != 1 && shape.size() != input_.shape.size()))
      refuse(
          "gives the shape [{}] to an input of [{}]; a shape is a length, or positive extents of as many "
          "axes and channels",
          fmt::join(shape, ", "), fmt::join(input_.shape, ", "));
  }

  void signature() const {
    const Signature& said = made_.block->signature();
    std::int64_t inputs = 1;
    for (const std::int64_t extent : input_.shape) inputs *= extent;
    std::int64_t outputs = 1;
    for (const std::int64_t extent : made_.shape)
      outputs = checked_product(outputs, extent, "the shape of a custom layer");
    if (said.name != input_.name) refuse("is named '{}' in its signature, not '{}'", said.name, input_.name);
    if (said.inputs != inputs || said.input_type != input_.type)
      refuse("reads {} numbers of type {} by its signature; its input has {} of {}", said.inputs,
             name_of(said.input_type), inputs, name_of(input_.type));
    if (said.outputs != outputs)
      refuse("has {} outputs by its signature, and {} by the shape [{}]", said.outputs, outputs,
             fmt::join(made_.shape, ", "));
    if (said.skip_inputs != 0)
      refuse("reads {} numbers of another layer; only its input is given", said.skip_inputs);
  }

  /// Names are paths in checkpoints.
  void require_name(const std::string& name, std::set<std::string>& others) const {
    const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_plain))
      refuse("has a parameter or buffer '{}'; a name is letters, digits and underscores", name);
    if (!others.insert(name).second) refuse("has two parameters or buffers '{}'", name);
  }

  void parameters() const {
    std::set<std::string> names;
    for (const BufferSpec& buffer : made_.block->buffers()) require_name(buffer.name, names);
    for (const ParameterSpec& parameter : made_.block->parameters()) {
      require_name(parameter.name, names);
      if (parameter.rows < 1 || parameter.columns < 1)
        refuse("has a parameter '{}' of {} x {}", parameter.name, parameter.rows, parameter.columns);
      static_cast<void>(checked_product(parameter.rows, parameter.columns, "a parameter of a custom layer"));
      if (parameter.type != input_.compute || parameter.gradient_type != input_.gradient)
        refuse("stores the parameter '{}' in {} and its gradient in {}; given are {} and {}", parameter.name,
               name_of(parameter.type), name_of(parameter.gradient_type), name_of(input_.compute),
               name_of(input_.gradient));
    }
  }

  const GrowingChain& network_;
  const CustomLayer& layer_;
  const CustomLayerInput& input_;
  const CustomBlock& made_;
};

}  // namespace

void kinds::Custom::append_to(GrowingChain& network, const LayerOptions& options) const {
  const CustomLayer& own = layer_of_program(network, layer);
  require_settings(network, own, settings);
  const LayerInput place = network.input();
  const BlockTypes types = network.types();
  const DType compute = types.compute(place.layer, own.name());
  const CustomLayerInput input{.name = place.layer,
                               .shape = shape_of(place),
                               .type = types.input_of(compute),
                               .compute = compute,
                               .gradient = types.gradient(compute),
                               .outputs = options.outputs,
                               .settings = settings};
  CustomBlock made = own.make(input);
  const GridShape output = Statement(network, own, input, made).checked();
  network.append(std::move(made.block), output, made.shape.size() - 1);
}

}  // namespace mylos
