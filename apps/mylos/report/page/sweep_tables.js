// The tables of a sweep: the decks of the best members, and all members.

function bestDecks(sweep) {
  const best = sweep.best.map(({ index, differences }) => ({ member: sweep.members[index], differences: new Map((differences || []).map(([key, base, own]) => [key, { base, own }])), known: differences !== null }));
  if (best.length === 0) return nothing("best", `No member has a value of ${metricName(sweep)} yet.`);
  const swept = sweep.keys.map((key) => key.key);
  const keys = [...swept, ...new Set(best.flatMap(({ differences }) => [...differences.keys()]).filter((key) => !swept.includes(key)))];
  const cellOf = (key, { member, differences, known }) => {
    const i = swept.indexOf(key);
    const found = differences.get(key);
    if (i >= 0 && member.values[i] !== "") return element("code", { title: member.values[i] }, keyText(sweep.keys[i], member.values[i]));
    if (!found) return known ? baseOf(key) : "\u2013";
    return found.own !== null ? element("code", {}, plainValue(found.own)) : "\u2013";
  };
  const baseOf = (key) => {
    const i = swept.indexOf(key);
    const found = best.map(({ differences }) => differences.get(key)).find((one) => one);
    const text = i >= 0 && sweep.keys[i].base !== "" ? sweep.keys[i].base : found && found.base !== null ? found.base : null;
    return text === null ? "\u2013" : element("code", {}, plainValue(text));
  };
  const rows = [{ cells: [metricName(sweep), "", ...best.map(({ member }) => element("strong", {}, number(member.value)))] },
    ...keys.map((key) => ({ cells: [element("code", {}, key), baseOf(key), ...best.map((one) => cellOf(key, one))] }))];
  const columns = [{ title: "key" }, { title: "base deck", wrap: true }, ...best.map(({ member }) => ({ title: memberName(member), wrap: true }))];
  return figureOf({ id: "best", title: "Best decks",
    summary: withCode(`The keys in which the decks of the best members differ from the base deck. \`mylos sweep --best ${best.length} FOLDER\` prints these decks with all digits.`) },
    table({ columns, rows, label: "Keys of the best decks" }));
}

const maxMembersShown = 1000;  // more rows are slow to lay out

// The columns by which the members can be sorted: {title, of(member) for sorting, cell(member)}.
function memberColumns(sweep) {
  const ranks = new Map(sweep.ranking.map((index, rank) => [index, rank]));
  const rankOf = (member) => (ranks.has(member.index) ? ranks.get(member.index) : Infinity);
  const count = (name, title) => ({ title, number: true, of: (member) => member[name] ?? Infinity, cell: (member) => (member[name] === null ? "\u2013" : whole(member[name])) });
  return [
    { title: "member", of: (member) => member.member, cell: memberName },
    { title: "state", of: (member) => member.state, cell: (member) => memberState(sweep, member.state) },
    { title: metricName(sweep), number: true, of: rankOf, cell: (member) => number(member.value) },
    ...sweep.keys.map((key, i) => ({ title: key.key, number: true, of: (member) => numberOfKey(member.values[i] || "") ?? member.values[i], cell: (member) => keyText(key, member.values[i]) })),
    ...(sweep.rungs.length > 1 ? [count("rung", "rung")] : []),
    count("steps", "steps"), count("best_step", "best step"),
    { title: "time", number: true, of: (member) => member.seconds ?? Infinity, cell: (member) => (member.seconds === null ? "\u2013" : duration(member.seconds)) },
    count("ranks", "ranks"),
    { title: "cause", wrap: true, of: (member) => member.cause, cell: (member) => member.cause },
  ];
}

function membersCard(sweep) {
  const members = sweep.members.map((member, index) => ({ ...member, index }));
  if (members.length === 0) return nothing("members", "No member is known yet.");
  const columns = memberColumns(sweep).filter((column) => column.title !== "cause" || members.some((member) => member.cause !== ""));
  const place = element("div");
  let sorted = { column: 2, down: false };
  const show = () => {
    const { of } = columns[sorted.column];
    const order = [...members].sort((one, other) => compared(of(one), of(other)) * (sorted.down ? -1 : 1) || one.member - other.member).slice(0, maxMembersShown);
    place.replaceChildren(table({ columns: columns.map((column, i) => ({ ...column, title: sortButton(column.title, i) })), tall: true, label: "Members of the sweep",
      rows: order.map((member) => ({ cells: columns.map((column) => column.cell(member)) })) }));
  };
  const sortButton = (title, i) => {
    const active = sorted.column === i;
    return element("button", { type: "button", class: "sort", "aria-pressed": String(active), title: `sort by ${title}`,
      onclick: () => {
        sorted = { column: i, down: active && !sorted.down };
        show();
        place.querySelectorAll("button.sort")[i].focus();
      } }, `${title}${active ? (sorted.down ? " \u25be" : " \u25b4") : ""}`);
  };
  show();
  const more = members.length > maxMembersShown ? ` The first ${whole(maxMembersShown)} in this order are shown.` : "";
  return figureOf({ id: "members", title: "Members",
    summary: withCode(`${plural(members.length, "member")}, the best first; a click on a column's name sorts by it. Each folder \`members/NNNN\` is a run, of which \`mylos report\` makes a page.${more}`) }, place);
}

function compared(one, other) {
  if (one === other) return 0;
  if (typeof one === "number" && typeof other === "number") return one < other ? -1 : 1;
  return String(one) < String(other) ? -1 : 1;
}
