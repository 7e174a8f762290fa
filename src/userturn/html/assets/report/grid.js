// The grid: a heat map of all cells of one perturbation, by a measure of choice.
const MEASURES = [
  ["genuine", "Genuine follow-ups"],
  ...study.labels.map((label, number) => [`label-${number}`, `Label: ${words(label)}`]).filter(([, text]) => text !== `Label: ${words("genuine_followup")}`),
  ["unscored", "Turns without a verdict"],
  ...(study.judges.length > 1 ? [["differ", "Turns on which judges differ"]] : []),
  ["empty", "Empty turns"],
  ["cut", "Turns cut at the length limit"],
  ["error", "Errors"],
  ...(cells.some((cell) => cell.nPeople) ? [["people", "Turns that people labelled"]] : []),
];

// Some turns out of others: what a cell's colour stands for.
function measured(cell, by, judge) {
  const counts = cell.counts[judge];
  const nScored = total(counts);
  if (by === "genuine") return [total(counts.filter((_, label) => isGenuine(label))), nScored];
  if (by.startsWith("label-")) return [counts[Number(by.slice(6))] ?? 0, nScored];
  const some = { unscored: cell.n - nScored, differ: cell.nDiffer, empty: cell.outcomes[1], error: cell.outcomes[2], cut: cell.nCut, people: cell.nPeople };
  return [some[by] ?? 0, cell.n];
}

function describe(cell, by, judge) {
  const [some, all] = measured(cell, by, judge);
  const rate = by === "genuine" ? cell.rates[judge] : null;
  const limits = rate ? ` ${interval(rate[1], rate[2])}` : "";
  const share = all ? `${percent(some / all)}${limits}, ${whole(some)} of ${whole(all)}` : "no turns to count";
  return `${cell.model}, ${cell.dataset}, temperature ${cell.temperature}, ${words(cell.perturbation)}: ${share}`;
}

function moveFocus(event, table) {
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e6], End: [0, 1e6] };
  const step = steps[event.key];
  const link = event.target.closest("a.cell");
  if (!step || !link || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("a.cell")]);
  const y = rows.findIndex((row) => row.includes(link));
  const x = rows[y].indexOf(link);
  const row = rows[Math.min(rows.length - 1, Math.max(0, y + step[0]))];
  const next = row[Math.min(row.length - 1, Math.max(0, x + step[1]))];
  link.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function heatMap({ models, datasets, temperatures, perturbation, by, judge }, tell) {
  const found = (m, d, t) => cellByPath.get([m, d, `t${t}`, perturbation].join("/"));
  const shares = models.flatMap((m) => datasets.flatMap((d) => temperatures.map((t) => {
    const cell = found(m, d, t);
    const [some, all] = cell ? measured(cell, by, judge) : [0, 0];
    return all ? some / all : 0;
  })));
  const highest = Math.max(0, ...shares);
  const top = highest > 0.5 ? 1 : Math.max(0.05, Math.ceil(highest * 20) / 20);
  const square = (m, d, t, first) => {
    const cell = found(m, d, t);
    const begins = t === temperatures[0] ? "begins" : null;
    if (!cell) return make("td", { class: begins });
    const [some, all] = measured(cell, by, judge);
    const share = all ? some / all : null;
    const text = describe(cell, by, judge);
    const shown = share === null ? DASH : share > 0 && share <= 0.005 ? "<1" : fixed(100 * share, 0);
    const strength = share === null ? 0 : Math.min(1, share / top);
    return make("td", { class: begins }, make("a", {
      class: "cell", href: address(["cell", ...cell.path], judge ? { judge: study.judges[judge] } : {}), "aria-label": text, "--share": `${(100 * strength).toFixed(1)}%`,
      tabindex: first ? "0" : "-1", focus: () => tell(text), pointerenter: () => tell(text),
    }, shown));
  };
  let first = true;
  const once = () => { const was = first; first = false; return was; };
  const heads = [
    make("tr", null, make("th", { rowspan: "2", scope: "col", class: "corner" }, "model"), datasets.map((d) => make("th", { colspan: String(temperatures.length), scope: "colgroup" }, d))),
    make("tr", null, datasets.flatMap(() => temperatures.map((t, i) => make("th", { scope: "col", class: i ? null : "begins" }, t)))),
  ];
  const rows = models.map((m) => make("tr", null, make("th", { scope: "row" }, m), datasets.flatMap((d) => temperatures.map((t) => square(m, d, t, once())))));
  const table = make("table", { class: "heat" }, make("thead", null, heads), make("tbody", null, rows));
  table.addEventListener("keydown", (event) => moveFocus(event, table));
  const legend = make("p", { class: "legend" }, "0%", make("i", { "aria-hidden": "true" }), percent(top, 0));
  return [make("div", { class: "scroll" }, table), legend];
}

const some = (names, chosen) => (chosen && names.includes(chosen) ? [chosen] : names);
const anyOf = (title, names) => [["", title], ...names.map((name) => [name, words(name)])];

function gridView() {
  const controls = [
    choice("p", "perturbation", study.perturbations.map((p) => [p, words(p)]), study.perturbations[0]),
    choice("by", "colour by", MEASURES, "genuine"),
    ...(study.judges.length > 1 ? [choice("judge", "judge", study.judges.map((j) => [j, j]), study.judge)] : []),
    choice("model", "model", anyOf("All models", study.models)),
    choice("dataset", "dataset", anyOf("All datasets", study.datasets)),
    choice("t", "temperature", anyOf("All temperatures", study.temperatures)),
  ];
  const map = make("div", { class: "map" });
  const told = make("p", { class: "told", "aria-hidden": "true" });
  const warning = make("p", { class: "warning" });
  const form = make("form", { class: "controls", "aria-label": "What the grid shows", change: () => go(["grid"], formValues(form)), submit: (event) => event.preventDefault() }, controls);
  const start = "Each square is a cell; its number is a percentage of the turns. Arrow keys move, Enter opens.";
  return {
    title: "Every cell of the study",
    node: make("section", null, make("h1", { tabindex: "-1" }, "Every cell of the study"), form, warning, told, map, privateNote()),
    update(query) {
      setForm(form, query);
      const judge = Math.max(0, study.judges.indexOf(query.get("judge") ?? study.judge));
      const wanted = (name, known, fallback) => (known.includes(query.get(name)) ? query.get(name) : fallback);
      told.textContent = start;
      warning.textContent = study.headlines[study.judges[judge]][study.perturbations[0]].warning ?? "";
      warning.hidden = !warning.textContent;
      map.replaceChildren(...heatMap({
        models: some(study.models, query.get("model")), datasets: some(study.datasets, query.get("dataset")), temperatures: some(study.temperatures, query.get("t")),
        perturbation: wanted("p", study.perturbations, study.perturbations[0]), by: wanted("by", MEASURES.map(([name]) => name), "genuine"), judge,
      }, (text) => { told.textContent = text; }));
    },
  };
}

function privateNote() {
  if (!study.private.length) return null;
  return make("p", { class: "notice" }, `Of ${study.private.join(", ")} only ids, labels and counts are here: the dataset is marked private, because its rows must not be shown in plain text.`);
}
