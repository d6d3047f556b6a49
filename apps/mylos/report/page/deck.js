// The decks: of one run unchanged, of several with the differing keys marked.

function deckCard(runs) {
  const keys = [...new Set(runs.flatMap((run) => run.deck.map(([key]) => key)))];
  if (keys.length === 0) return nothing("deck", "No resolved.toml in the run's folder.");
  const several = runs.length > 1;
  const decks = runs.map((run) => new Map(run.deck));
  const rows = keys.map((key) => {
    const values = decks.map((deck) => deck.get(key));
    const differs = several && new Set(values).size > 1;
    return { differs, cells: [element("code", {}, differs ? `\u2260 ${key}` : key), ...values.map((value) => (value === undefined ? "\u2013" : element("code", {}, value)))] };
  });
  const columns = [{ title: "key" }, ...runs.map((run) => ({ title: several ? run.label : "value", wrap: true }))];
  const differing = rows.filter((row) => row.differs);
  const all = element("details", { id: "deck-table" }, element("summary", {}, `All ${keys.length} keys`), table({ columns, rows, label: "Keys of the deck" }));
  return figureOf({ id: "deck", title: several ? "Decks" : "Deck",
    summary: several ? `${plural(differing.length, "key")} of ${keys.length} differ${differing.length === 1 ? "s" : ""}, marked with \u2260.` : "Every key with the value that the run used." },
    several && differing.length > 0 ? table({ columns, rows: differing, label: "Keys that differ" }) : null, all);
}
