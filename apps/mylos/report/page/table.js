// Tables. A column is {title, number}, a cell is text or an element.

function table({ columns, rows, caption, tall, long, label }) {
  const side = (column) => (column.number ? { class: "number" } : { class: column.wrap ? "wrap" : null });
  const head = element("tr", {}, columns.map((column) => element("th", { scope: "col", ...side(column) }, column.title)));
  const body = rows.map((row) => {
    const cells = row.cells.map((cell, i) => (i === 0 && !columns[0].number && !columns[0].plain
      ? element("th", { scope: "row", ...side(columns[i]) }, cell)
      : element("td", side(columns[i]), cell)));
    return element("tr", { class: row.differs ? "differs" : null }, cells);
  });
  const grid = element("table", { class: long ? "long" : null }, caption && element("caption", {}, caption), element("thead", {}, head),
    element("tbody", {}, body));
  return element("div", { class: tall ? "scroll tall" : "scroll", tabindex: "0", role: "region",
    "aria-label": label || caption || "table" }, grid);
}
