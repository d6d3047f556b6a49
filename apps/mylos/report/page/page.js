// Builds the page from its data, section by section.

function section(id, title, ...parts) {
  return element("section", { id: `section-${id}`, "aria-labelledby": `heading-${id}` },
    element("h2", { id: `heading-${id}` }, title), element("div", { class: "cards" }, ...parts));
}

function contents(sections) {
  return element("nav", { "aria-label": "Sections" }, element("ul", { class: "contents" },
    sections.map((one) => element("li", {}, element("a", { href: `#${one.id}` }, one.querySelector("h2").textContent)))));
}

function pageOfRuns(runs) {
  return {
    title: runs.length > 1 ? `${runs.length} runs` : runs[0].label,
    head: [...(runs.length > 1 ? headOfMany(runs) : headOfOne(runs[0])), notesOf(runs)],
    sections: [
      section("loss", "Loss and evaluations", ...lossSection(runs)),
      ...(runs.some(hasFields) ? [section("fields", "Fields and rollouts", ...fieldSection(runs))] : []),
      section("optimization", "Learning rate, scale and gradients", ...optimizationSection(runs)),
      section("health", "Parameters", ...healthSection(runs)),
      section("speed", "Speed and time", ...ratesSection(runs), timeChart(runs)),
      section("memory", "Memory and types", memoryChart(runs), ...memoryCurves(runs), typesCard(runs), ...adviceCards(runs)),
      section("events", "What happened", eventsCard(runs)),
      section("deck", runs.length > 1 ? "Decks" : "Deck", deckCard(runs)),
    ],
  };
}

function pageOfSweep(sweep) {
  return {
    title: sweep.label,
    head: [...headOfSweep(sweep), notesOf([sweep])],
    sections: [
      section("keys", "Keys and values", parallelCard(sweep), importanceCard(sweep)),
      section("curves", "Curves", sweepCurves(sweep)),
      section("deck", "Best decks", bestDecks(sweep)),
      section("members", "Members", membersCard(sweep)),
    ],
  };
}

function showReport(report) {
  const { title, head, sections } = report.sweep ? pageOfSweep(report.sweep) : pageOfRuns(report.runs);
  document.getElementById("report").append(...head.filter((part) => part), contents(sections), ...sections);
  document.getElementById("origin").textContent = `Written ${report.written} by Mylos ${report.code_version}. Nothing on this page is loaded from a network.`;
  document.title = `${title} \u2013 Mylos report`;
}

const started = performance.now();
const report = JSON.parse(document.getElementById("data").textContent);
startTheme(document.getElementById("theme"));
showReport(report);
drawCards();
document.body.getBoundingClientRect();  // the measured time includes the layout
document.documentElement.dataset.drawnMs = (performance.now() - started).toFixed(1);
document.documentElement.dataset.charts = String(document.querySelectorAll("svg.plot").length);
startReload(document.getElementById("reload"), report.reload_s);
new ResizeObserver(drawCards).observe(document.getElementById("report"));
