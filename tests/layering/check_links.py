"""Checks the links of the pages for users: README.md, CONTRIBUTING.md, CHANGELOG.md, docs/ and the READMEs of folders.

usage: check_links.py REPOSITORY

* a link leads to a file, and to a heading or an id of it if it has a part behind '#';
* every page of docs/ is at most two clicks from README.md;
* a page of docs/ begins with what a reader has at its end;
* files of the repository that a page names in a code span or in a command line (scripts/..., inputs/...) exist.
"""
import pathlib
import re
import sys

CLICKS = 2
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
NAMED = re.compile(r"(?<![\w/.$-])((?:scripts|inputs|perf|packaging|tests|apps|cmake|include/mylos|\.ci)/[\w./-]*[\w-])")
# Made by a command line of the page.
MADE = ("inputs/data", "perf/scaling.csv")


def pages_of(repository):
    found = [repository / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    found += sorted((repository / "docs").rglob("*.md"))
    return [page for page in found + [repository / folder / "README.md" for folder in ("apps", "perf", "inputs", "packaging")]
            if page.exists()]


def slug_of(heading):
    """As GitHub makes them: lower case, punctuation left out, spaces become hyphens."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def without_code(text):
    """Blocks of code have no links and no headings."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        lines.append("" if fenced or line.startswith(("    ", "\t")) else line)
    return "\n".join(lines)


def anchors_of(page):
    text, found = without_code(page.read_text(encoding="utf-8")), set()
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.M):
        slug, number = slug_of(heading), 0
        while (name := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(name)
    return found | set(re.findall(r"(?:id|name)=\"([^\"]+)\"", text))


def links_of(page):
    """The target and the place in it of each link."""
    for target, image in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        link = target or image
        if not re.match(r"[a-z]+:", link):
            file, _, place = link.partition("#")
            yield link, (page.parent / file).resolve() if file else page, place


def problems_of_links(page, repository):
    for link, target, place in links_of(page):
        if not target.exists():
            yield f"{link}: there is no {target}"
        elif not target.is_relative_to(repository):
            yield f"{link}: outside of the repository"
        elif place and target.suffix == ".md" and place not in anchors_of(target):
            yield f"{link}: {target.name} has no heading of that name"


def problems_of_names(page, repository):
    text = page.read_text(encoding="utf-8")
    for name in sorted(set(NAMED.findall(text))):
        if not (repository / name).exists() and not name.startswith(MADE) and not is_pattern_of(repository, name):
            yield f"names {name}, which does not exist"


def is_pattern_of(repository, name):
    """"scripts/check" of `scripts/check-...`, "kernels/vendor" of a part: a prefix of something."""
    return any((repository / name).parent.glob(f"{pathlib.Path(name).name}*")) if (repository / name).parent.exists() else False


def problems_of_opening(page):
    """The paragraph below the title speaks of "this page"."""
    title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
    opening, _, _ = rest.partition("\n\n")
    if not title.startswith("# ") or "this page" not in opening.lower():
        yield "does not begin with what the reader has at the end of this page"


def unreachable(pages, repository):
    reached = {repository / "README.md"}
    for _ in range(CLICKS):
        reached |= {target for page in list(reached) if page.suffix == ".md" and page.exists()
                    for _, target, _ in links_of(page)}
    return [page for page in pages if page.is_relative_to(repository / "docs") and page not in reached]


def main():
    repository = pathlib.Path(sys.argv[1]).resolve()
    pages, problems = pages_of(repository), []
    for page in pages:
        for problem in [*problems_of_links(page, repository), *problems_of_names(page, repository)]:
            problems.append(f"{page.relative_to(repository)}: {problem}")
        if page.is_relative_to(repository / "docs"):
            problems += [f"{page.relative_to(repository)}: {problem}" for problem in problems_of_opening(page)]
    problems += [f"{page.relative_to(repository)}: more than {CLICKS} clicks from README.md"
                 for page in unreachable(pages, repository)]
    print("\n".join(problems) or f"{len(pages)} pages: every link leads somewhere, every page is {CLICKS} clicks from README.md")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
