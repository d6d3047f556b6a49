"""The text of a deck, from dictionaries. The decks of tests state run.peak_flops: to measure it takes as long as all steps
together of networks so small."""
import json


def value_text(value):
    """A key's value in TOML; a dictionary as an inline table."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {value_text(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(each) for each in value) + "]"
    return json.dumps(value)


def lines_of(keys):
    """A section's lines: `keys` is a dictionary, or the lines themselves. A key of None is left out."""
    if isinstance(keys, str):
        return keys + "\n" if keys else ""
    return "".join(f"{key} = {value_text(value)}\n" for key, value in keys.items() if value is not None)


def sections_text(sections, layers=()):
    """`layers`: the tables [[model.layers]], which follow [model]."""
    text = ""
    for name, keys in sections.items():
        text += f"[{name}]\n{lines_of(keys)}"
        if name == "model":
            text += "".join(f"[[model.layers]]\n{lines_of(layer)}" for layer in layers)
    return text


def layer(kind, **keys):
    return {"kind": kind, **keys}


def deck_text(*, layers=(), **sections):
    """A deck of these sections: `deck_text(run=dict(name="small", steps=4), data=dict(train="train.h5"), ...)`. `data__arrays` is the
    section [data.arrays]. A section of None is left out. `layers`: those of a chain, each by `layer`."""
    sections = {name.replace("__", "."): keys for name, keys in sections.items() if keys is not None}
    if isinstance(sections["run"], dict):
        sections["run"] = {"peak_flops": 1e12, **sections["run"]}
    return sections_text(sections, layers)


def layers(*of):
    """The type and [[model.layers]] of a chain, of lines "kind key = value; ..."."""
    text = 'type = "chain"\n'
    for line in of:
        kind, _, keys = line.partition(" ")
        text += f'[[model.layers]]\nkind = "{kind}"\n' + keys.replace("; ", "\n") + "\n"
    return text
