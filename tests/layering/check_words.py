"""Checks that the texts of the repository use the field's words. Usage: check_words.py REPOSITORY [FOLDER ...]

Names of files, keys and columns that users have in their decks and data stay as they are: ALLOWED."""

import pathlib
import re
import sys

TOPS = ("src", "include", "apps", "docs", "README.md", "inputs", "perf", "scripts")

# What is not to be written, as a regular expression, and what is.
WORDS = {
    r"\b(most|least)_[a-z]\w*": "max_..., min_...",
    r"\btold\b|\btell(s|ing)?\b|\btell_\w+": "step input, upload(), reports, logs, is passed",
    r"\blook(s|ed|ing)? at\b|\blook_at\w*|\blook\(": "poll, inspect",
    r"\bstand_by\b|\bstands? by\b": "join_collectives (a rank without rows joins the collective calls)",
    r"\bmeet_trouble\b": "on_io_error",
    r"\b(go|goes|gone|going|went) on (from|with)\b": "resume from, continue with",
    r"\bcut over\b|\bholders\b|\bcut[ _](masters|gradients|state)\b": "sharded, shard owners",
    r"\bminimal filtering\b": "Winograd convolution",
    r"\bbeside the steps\b|\b(hold|holds|held|holding) up\b": "asynchronously, stalls training",
    r"\bat one stroke\b|\brecorded steps?\b": "launched as one CUDA graph, captured steps",
    r"\blend_to\b|\blent\b": "mark_busy, in use by",
}
ALLOWED = {"least_gain", "least_update_ratio", "most_to_zero", "most_subnormal", "most_common"}


def mistakes(path):
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:  # a picture
        return
    for number, line in enumerate(lines, start=1):
        for word, better in WORDS.items():
            for match in re.finditer(word, line, re.IGNORECASE):
                if match.group(0) not in ALLOWED:
                    yield f"{number}: \"{match.group(0)}\": {better}"


def main(repository, tops):
    problems, files = [], 0
    for top in tops:
        path = repository / top
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and not file.is_relative_to(repository / "inputs/data"):
                files += 1
                problems += [f"{file.relative_to(repository)}:{problem}" for problem in mistakes(file)]
    if files == 0:
        problems.append(f"no file found under {repository}")
    print("\n".join(problems) or f"{files} files use the field's words")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:] or TOPS))
