// The same item in the cells that differ from a turn's own in one respect: as links, or side by side.
function cellsBeside({ model, dataset, temperature, perturbation }) {
  const switches = [
    ["perturbation", "under", study.perturbations.map((p) => [words(p), [model, dataset, `t${temperature}`, p]])],
    ["temperature", "at temperature", study.temperatures.map((t) => [t, [model, dataset, `t${t}`, perturbation]])],
    ["model", "by model", study.models.map((m) => [m, [m, dataset, `t${temperature}`, perturbation]])],
  ];
  const found = switches.map(([name, title, places]) => [name, title, places.map(([text, path]) => [text, cellByPath.get(path.join("/"))]).filter(([, cell]) => cell)]);
  return found.filter(([, , places]) => places.length > 1);
}

function sameElsewhere(turn, query) {
  return cellsBeside(turn.cell).map(([, title, places]) => make("p", { class: "switch" }, make("span", { class: "soft" }, `the same item ${title}`),
    places.map(([text, cell]) => make("a", { href: address(["turn", ...cell.path, turn.item, String(turn.sample)], query), "aria-current": cell === turn.cell ? "true" : null }, text))));
}

async function rowBeside(turn, text, cell, query) {
  const other = cell === turn.cell ? turn : await findTurn(cell, turn.item, turn.sample);
  if (!other) return make("tr", null, make("th", { scope: "row" }, text), make("td", { colspan: "2" }, "not in this cell"));
  return make("tr", { "aria-current": cell === turn.cell ? "true" : null }, make("th", { scope: "row" }, make("a", { href: turnAddress(other, query) }, text)),
    make("td", { class: "badges" }, other.verdicts.map((verdict, i) => badge(verdict.label, { title: study.judges[i] }))),
    make("td", { class: other.text && !cell.isPrivate ? "text" : "text soft", dir: "auto" }, shortened(shownAs(other), 600)));
}

async function tableBeside(turn, name, places, query) {
  const rows = [];
  for (const [text, cell] of places) rows.push(await rowBeside(turn, text, cell, query));
  const head = make("tr", null, [name, `labels by ${study.judges.join(", ")}`, "user turn"].map((text) => make("th", { scope: "col" }, text)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `By ${name}` }, make("table", { class: "beside" }, make("thead", null, head), make("tbody", null, rows)));
}

function besideNode(turn, query) {
  const found = cellsBeside(turn.cell);
  const place = make("div");
  const show = async (event) => {
    if (!event.target.open || place.childElementCount) return;
    try {
      const tables = [];
      for (const [name, , places] of found) tables.push(await tableBeside(turn, name, places, query));
      place.replaceChildren(...tables);
    } catch (error) {
      place.replaceChildren(noticeOf(error));
    }
  };
  return found.length ? make("details", { class: "beside-all", toggle: show }, make("summary", null, `The same item side by side: ${found.map(([name]) => `${name}s`).join(", ")}`), place) : null;
}
