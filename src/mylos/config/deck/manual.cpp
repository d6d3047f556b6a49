#include "mylos/config/deck/manual.hpp"

#include <fmt/format.h>

#include "mylos/config/schema/schema.hpp"

namespace mylos {
namespace {

constexpr const char* introduction = R"(# The deck

With this page you can write a deck, and find every key, its type, its default and its meaning.

A deck describes a run: the data, the network, the number types and the optimizer. It is a [TOML](https://toml.io) file.

```toml
{}```

    mylos train surrogate.toml
    mylos train surrogate.toml optimizer.lr=3e-4 precision.compute=fp32 run.name=float

- `section.key=value` after the deck overrides the deck. The value is read as TOML, otherwise as a plain string, so that
  `precision.compute=fp16` needs no quotes. `precision.rules.head=fp32` adds one rule. `run.steps=100` also replaces
  `run.epochs`, and vice versa; if the warm-up is longer, use `run.steps=100 schedule.warmup=0`.
- Unknown keys, values of another type or out of range, keys that contradict each other, and keys that have no effect in
  combination with the others ("Only with ...") end the command with exit code 2 before anything is computed or written.
  The message names the file, the line and a correct value.
- An integer is accepted where a number is required (`lr = 1`), but not the reverse.
- `resolved.toml` in the run's folder and every checkpoint hold the resolved deck: every key that has a value and an
  effect, from the deck or by default. 0 and "auto" stay as they are, and short forms (cnn, resnet, unet, fno, vit;
  `precision.scaler.preset`) are expanded. `resolved.toml` also has the sizes that the run found in its data
  (`model.inputs`, `model.outputs`, `model.vocabulary`, `data.shape`).
- A step is one batch. Skipped steps (overflow) count as steps, but not as updates.
- [formulas.md](formulas.md) defines networks, losses, updates and learning-rate schedules in formulas.
)";

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

/// Returns the table of the keys of a section or of the tables of a list.
std::string key_table(const std::deque<Key>& keys, const std::string& section) {
  std::string table = "\n| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const Key& key : keys) {
    if (key.section == section) table += row(key);
  }
  for (const Key& key : keys) {
    if (key.section != section || key.tables == nullptr) continue;
    table += fmt::format("\n### [[{}]]\n", key.path());
    if (!key.tables->meaning.empty()) table += fmt::format("\n{}\n", key.tables->meaning);
    table += key_table(key.tables->keys, key.path());
  }
  return table;
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
    manual += fmt::format("\n## [{}]\n\n{}\n", section.name, section.meaning);
    manual += key_table(schema().keys, section.name);
  }
  manual += "\nThis page is the output of `mylos manual`, generated from the schema in `src/mylos/config`.\n";
  return manual;
}

}  // namespace mylos
