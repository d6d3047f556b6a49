#include "mylos/config/deck/manual.hpp"

#include <fmt/format.h>

#include "mylos/config/keys/layer_keys.hpp"
#include "mylos/config/schema/schema.hpp"

namespace mylos {
namespace {

constexpr const char* introduction = R"(# The deck

A deck describes a run: the data, the network, the numbers and how they move. It is a [TOML](https://toml.io) file.

```toml
{}```

    mylos train surrogate.toml
    mylos train surrogate.toml optimizer.lr=3e-4 precision.compute=fp32 run.name=float

- `section.key=value` behind the deck takes the place of what the deck says. The value is read as TOML, else as a plain
  string, so `precision.compute=fp16` needs no quotes. `precision.rules.head=fp32` adds one rule. `run.steps=100` also
  takes the place of `run.epochs`, and the other way round; where the warm-up is longer, `run.steps=100 schedule.warmup=0`.
- A key that is not below, a value of another type or out of its range, keys that contradict each other, and keys that
  have no effect beside the others ("Only with ...") end the command with exit code 2 before anything is computed or
  written. The message names file, line and what would be right.
- Whole numbers may stand where a number is wanted (`lr = 1`), not the other way round.
- `resolved.toml` in the run's folder, and every checkpoint, hold the resolved deck: every key that has a value and an
  effect, the deck's or the default. 0 and "auto" stay as they are, and short forms (cnn, resnet, unet;
  `precision.scaler.preset`) are written out. `resolved.toml` also has the sizes that the run found in its data
  (`model.inputs`, `model.outputs`, `model.vocabulary`, `data.shape`).
- A step is one batch. Steps count skipped ones (overflow), updates do not.
- [formulas.md](formulas.md) has networks, losses, updates and schedules in formulas.
)";

constexpr const char* layers_introduction = R"(
### [[model.layers]]

The layers of `type = "chain"`, from the input on. A layer computes `dense` or `conv` (or `add`, `concat`), then `norm`,
`activation` and `dropout`. Samples lie on a grid, channels last (`data.shape`, or what `mylos prepare idx`, `images` or
`fields` wrote); a dense layer reads a grid as one vector.

```toml
[[model.layers]]
kind = "conv"
name = "stem"
outputs = 32
kernel = 3
activation = "relu"

[[model.layers]]
kind = "conv"
outputs = 32
kernel = 3

[[model.layers]]
kind = "add"          # a residual connection: what came in is added to what came out
skip_from = "stem"
activation = "relu"

[[model.layers]]
kind = "dense"        # as many outputs as there are classes or targets
```

| key | type | kinds | meaning |
|---|---|---|---|
{})";

std::string row(const Key& key) {
  const std::string type = key.unit.empty() ? key.type : key.type + " (" + key.unit + ')';
  const bool is_value = key.default_text != "none";
  std::string conditions;
  for (const Condition& condition : key.only_with) {
    conditions += condition.value.empty() ? " Only" : fmt::format(" `{}` only", condition.value);
    conditions += fmt::format(" with {}.", condition.text);
  }
  return fmt::format("| `{}` | {} | {} | {} |\n", key.name, type,
                     is_value ? '`' + key.default_text + '`' : key.default_text, key.meaning + conditions);
}

}  // namespace

std::string example_deck() {
  return R"([run]
name = "surrogate"
epochs = 20

[data]
train = "data/flow_train.h5"
test = "data/flow_test.h5"
validation = 0.1
batch = 512
normalize = "standard"

[model]
hidden = [256, 256]
activation = "gelu"
loss = "mse"

[precision]
compute = "bf16"
rules = { head = "fp32" }

[optimizer]
lr = 1e-3
clip_norm = 1.0

[schedule]
type = "cosine"
warmup = 100
)";
}

std::string deck_overview() {
  constexpr std::size_t widest = 100;
  std::string text;
  for (const Section& section : schema().sections) {
    std::string line = fmt::format("  {:<18}", '[' + section.name + ']');
    for (const Key& key : schema().keys) {
      if (key.section != section.name) continue;
      if (line.size() + key.name.size() > widest) {
        text += line + '\n';
        line = std::string(20, ' ');
      }
      line += ' ' + key.name;
    }
    text += line + '\n';
  }
  return text;
}

std::string deck_manual() {
  std::string manual = fmt::format(introduction, example_deck());
  for (const Section& section : schema().sections) {
    manual += fmt::format("\n## [{}]\n\n{}\n\n", section.name, section.meaning);
    manual += "| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const Key& key : schema().keys) {
      if (key.section == section.name) manual += row(key);
    }
    if (section.name == "model") manual += fmt::format(layers_introduction, layers_manual());
  }
  manual += "\nThis page is written by `mylos manual` from the schema in `src/mylos/config`.\n";
  return manual;
}

}  // namespace mylos
