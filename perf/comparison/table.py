"""The rows of a comparison from its script's record, and the table of them all."""
import statistics
import textwrap

import harness

HEADER = ("comparison", "what", "Mylos", "peer", "Mylos / peer")


class Missing(Exception):
    """A record lacks what a row is about."""


def fastest(jobs, prefix):
    """The name of the job with the smallest median among those whose names begin so."""
    names = [name for name in jobs if name.startswith(prefix)]
    if not names:
        raise Missing(f"{prefix.strip()} had no such step: its program's messages say why (--verbose)")
    return harness.best_of(jobs, names)


def error_of(row, record):
    """The largest difference over the subjects of a row, and the peer's own where it has one."""
    found = [jobs for subject, jobs in record["subjects"].items() if subject.startswith(row.subject)]
    if not found:
        raise Missing(f"no result of {row.subject}")
    theirs = [max(jobs[row.peer]) for jobs in found if row.peer in jobs]
    return {"what": row.what, "mylos": max(max(jobs["Mylos"]) for jobs in found), "unit": "",
            "peer": f"{row.peer}'s own float" if theirs else row.peer, "peer_value": max(theirs) if theirs else None, "ratio": None}


def result_of(row, record):
    """One row as it is stored. `ratio`: median, smallest and largest over the rounds. Throws Missing."""
    if row.is_error:
        return error_of(row, record)
    jobs = record["subjects"].get(row.subject, {})
    if row.ours not in jobs:
        raise Missing(f"no time of Mylos for {row.subject}")
    ours, peer = jobs[row.ours], fastest(jobs, row.peer)
    found = harness.ratios(ours, jobs[peer])
    return {"what": row.what, "mylos": statistics.median(ours), "unit": record["unit"], "peer": peer,
            "peer_value": statistics.median(jobs[peer]), "ratio": [statistics.median(found), min(found), max(found)]}


def rows_of(comparison, record):
    """The stored rows of a comparison; those that lack a result have only `what` and `skipped`."""
    found = []
    for row in comparison.rows:
        try:
            found.append(result_of(row, record))
        except Missing as reason:
            found.append({"what": row.what, "skipped": str(reason)})
    return found


def disturbance(record):
    """What other processes did while a comparison was measured; "" if nothing."""
    if not record.get("disturbed"):
        return ""
    return (f"another process used {record['others_percent']:.0f} % of the CPU: "
            f"{record['disturbed']} of {record['turns']} turns began while it computed")


def value(number, unit):
    return f"{number:.1e}" if unit == "" else f"{number:.4g} {unit}"


def cells(name, row, mark):
    """The cells of one stored row."""
    peer = row["peer"] if row["peer_value"] is None else f"{value(row['peer_value'], row['unit'])}, {row['peer']}"
    ratio = "–" if row["ratio"] is None else "{:.2f} [{:.2f} .. {:.2f}]".format(*row["ratio"]) + mark
    return (name, row["what"], value(row["mylos"], row["unit"]), peer, ratio)


def table(results):
    """Markdown of what was measured, then a line for each comparison that was disturbed, and for all that was skipped."""
    rows, disturbed, skipped = [HEADER], [], []
    for result in results:
        name, found = result["name"], disturbance(result)
        if found:
            disturbed.append(f"* {name}: {found}. Its ratios are not reliable.")
        if result["skipped"]:
            skipped.append(f"{name}: skipped: {result['skipped']}")
        for row in result["rows"]:
            if "skipped" in row:
                skipped.append(f"{name}: {row['what']}: skipped: {row['skipped']}")
            else:
                rows.append(cells(name, row, " *" if found else ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    if len(rows) == 1:
        lines = ["Nothing was measured."]
    return "\n\n".join("\n".join(part) for part in (lines, disturbed, skipped) if part)


def machine_lines(document):
    """Where and with what the table was measured."""
    machine = document["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items()) or "no peers"
    text = (f"{machine['processor']} ({', '.join(machine['instruction_sets']) or 'baseline'}), {machine['cores']} cores, "
            f"{document['threads']} threads (calls: 1); {document['date']}")
    return "\n".join([text, *textwrap.wrap(f"{document['mylos'].splitlines()[0] if document['mylos'] else 'no mylos'}; {versions}", 130)])
