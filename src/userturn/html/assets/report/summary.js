// The report itself: headline, models, the judge's worth, figures, tables, labels.
const { headline } = study;

function showSentence() {
  const measured = headline.models.filter((row) => row.rates.some((rate) => rate.estimate !== null));
  if (!measured.length) {
    at("sentence").textContent = "The table of pooled rates is missing, so there is no headline rate; the explorer shows every cell.";
    return;
  }
  const rateAt = (row, end) => row.rates.filter((rate) => rate.estimate !== null).at(end);
  const told = [0, -1].map((end) => {
    const sorted = [...measured].sort((a, b) => rateAt(a, end).estimate - rateAt(b, end).estimate);
    const [low, high] = [rateAt(sorted[0], end), rateAt(sorted.at(-1), end)];
    const name = (row, rate) => `${percent(rate.estimate)} ${interval(rate.lower, rate.upper)} (${row.model})`;
    const range = sorted.length === 1 ? name(sorted[0], low) : `from ${name(sorted[0], low)} to ${name(sorted.at(-1), high)}`;
    return [low.temperature, range];
  });
  const first = `At temperature ${told[0][0]}, ${told[0][1]} of the unperturbed user turns are genuine follow-ups, according to ${study.judge}.`;
  const second = told[1][0] === told[0][0] ? "" : ` At temperature ${told[1][0]}: ${told[1][1]}.`;
  at("sentence").textContent = first + second + floorSentence(measured, told[0][0]);
}

function floorSentence(measured, temperature) {
  const floors = headline.floors.filter((row) => row.temperature === temperature && measured.some(({ model }) => model === row.model));
  if (!floors.length) return "";
  const sorted = [...floors].sort((a, b) => a.floor - b.floor);
  const [low, high] = [sorted[0], sorted.at(-1)].map((row) => `${percent(row.floor)} ${interval(row.floor_lower, row.floor_upper)}`);
  const range = sorted.length === 1 ? low : `from ${low} to ${high}`;
  return ` Of the same turns after another item's answer, where none can react to it, ${study.judge} calls ${range} genuine at temperature ${temperature}: a rate is read against this floor, not against zero.`;
}

function showCounts() {
  const n = (names, one, many) => [plural(names.length, one, many), names.map(String).join(", ")];
  const counts = headline.counts;
  const size = `${n(study.models, "model")[0]}, ${n(study.datasets, "dataset")[0]}, ${n(study.temperatures, "temperature")[0]}, ${n(study.perturbations, "perturbation")[0]}`;
  const rows = [["cells", whole(cells.length), size]];
  if (counts) {
    const lost = `${plural(counts.n_empty, "empty turn", "empty turns")}, ${plural(counts.n_error, "error")}, ${whole(counts.n_unscored)} unscored`;
    rows.push(["user turns", whole(counts.n_turns), lost]);
    rows.push(["coverage", percent(counts.n_scored / counts.n_turns), `${whole(counts.n_scored)} of ${whole(counts.n_turns)} have a verdict`]);
  }
  const answers = headline.answers;
  if (answers) {
    const why = "their user turns react to a truncated answer, even without a perturbation";
    rows.push(["answers", whole(answers.n), answers.n_cut ? `${whole(answers.n_cut)} cut at the token limit: ${why}` : "none cut at the token limit"]);
  }
  const others = study.judges.filter((judge) => judge !== study.judge);
  rows.push(["primary judge", study.judge, others.length ? `beside ${others.join(", ")}` : "the only one"]);
  if (study.private.length) rows.push(["private", plural(study.private.length, "dataset"), `texts of ${study.private.join(", ")} are left out`]);
  at("counts").append(...rows.map(([name, value, more]) => make("div", null, make("dt", null, name), make("dd", { class: "value" }, value), make("dd", { class: "soft" }, more))));
}

const floorOf = (model, temperature) => headline.floors.find((row) => row.model === model && row.temperature === temperature);

function floorText(model, rate) {
  const floor = rate && floorOf(model, rate.temperature);
  if (!floor) return [];
  const change = `${floor.difference > 0 ? "+" : ""}${(100 * floor.difference).toFixed(1)} ${interval(floor.lower, floor.upper)}`;
  return [`floor ${percent(floor.floor)} ${interval(floor.floor_lower, floor.floor_upper)}`, `above it ${change}`].map((text) => make("small", null, text));
}

const onScale = (share, top) => `${(100 * share / top).toFixed(2)}%`;

function mark(rate, top, kind) {
  if (!rate || rate.estimate === null) return [];
  const place = { "--from": onScale(rate.lower, top), "--to": onScale(rate.upper, top), "--at": onScale(rate.estimate, top) };
  return [make("i", { class: `range ${kind}`, ...place }), make("i", { class: `dot ${kind}`, ...place })];
}

function showModels() {
  const rows = headline.models;
  if (!rows.length) {
    at("rates-about").textContent = "The table of pooled rates is missing.";
    return;
  }
  const all = rows.flatMap((row) => row.rates.map((rate) => rate.upper ?? 0));
  const top = Math.min(1, Math.max(0.05, Math.ceil(Math.max(...all) * 20) / 20));
  const ends = rows[0].rates.length ? [rows[0].rates[0].temperature, rows[0].rates.at(-1).temperature] : [];
  const several = ends[0] !== ends[1];
  const graded = rows.some((row) => row.accuracy);
  at("rates-about").textContent = `Unperturbed turns over all datasets, by ${study.judge}, with 95% intervals. `
    + (headline.floors.length ? "Floor: the share called genuine of the same turns after another item's answer. " : "")
    + (several ? `Filled: temperature ${ends[0]}; open: temperature ${ends[1]}.` : `Temperature ${ends[0]}.`)
    + (graded ? ` Last two columns: accuracy and, on the same items, genuine follow-ups at temperature ${ends[0]}, both as the mean over the graded datasets.` : "");
  const head = make("tr", null, ["model", `t = ${ends[0]}`, several ? `t = ${ends[1]}` : null, null, "scored", graded ? "accuracy" : null, graded ? "genuine, same items" : null].map((text, i) => text === null ? (i === 3 ? make("th", { class: "scale" }, make("span", null, "0%"), make("span", null, percent(top, 0))) : null) : make("th", { scope: "col" }, text)));
  const body = rows.map((row) => {
    const [low, high] = [row.rates[0], row.rates.at(-1)];
    const limits = (found) => make("td", { class: "number" }, found ? percent(found[0]) : DASH, make("small", null, found ? interval(found[1], found[2]) : ""));
    const told = (rate) => make("td", { class: "number" }, percent(rate?.estimate), make("small", null, rate ? interval(rate.lower, rate.upper) : ""), floorText(row.model, rate));
    const nScored = total(row.rates.map((rate) => rate.n_scored));
    const nTurns = total(row.rates.map((rate) => rate.n_turns));
    return make("tr", null, make("th", { scope: "row" }, make("a", { href: address(["grid"], { model: row.model }) }, row.model)), told(low), several ? told(high) : null,
      make("td", { class: "plot", "aria-hidden": "true" }, make("div", { class: "track" }, several ? mark(high, top, "open") : [], mark(low, top, "filled"))),
      make("td", { class: "number" }, whole(nScored), make("small", null, `of ${whole(nTurns)}`)),
      graded ? limits(row.accuracy) : null, graded ? limits(row.followup) : null);
  });
  at("models").append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "rates-heading" }, make("table", { class: "models" }, make("thead", null, head), make("tbody", null, body))));
}

function showWarning() {
  at("warning").hidden = !headline.warning;
  at("warning").textContent = headline.warning ?? "";
}

const SOURCES = {
  human: "Human follow-ups",
  labelled: "The project's own labelled turns",
  people: "This study's turns that people labelled",
  planted_hard: "Planted failures that are hard to tell",
  planted: "Planted failures that are easy to tell: copies, fixed texts, injections",
};

function ofCard(source) {
  const found = (measure) => headline.card.find((row) => row.source === source && row.measure === measure);
  const told = (row) => `${percent(row.estimate)} ${interval(row.lower, row.upper)} (${whole(row.n_scored)} turns)`;
  const [genuine, other, kappa] = ["sensitivity", "specificity", "kappa"].map(found);
  const parts = [];
  if (genuine) parts.push(`it accepts ${told(genuine)} of genuine follow-ups`);
  if (other) parts.push(`it rejects ${told(other)} of all others`);
  if (kappa) parts.push(`kappa ${kappa.estimate.toFixed(2)} [${kappa.lower?.toFixed(2)}, ${kappa.upper?.toFixed(2)}]`);
  return parts.length ? `${SOURCES[source]}: ${parts.join("; ")}.` : null;
}

function showWorth() {
  const { weakest } = headline;
  const texts = Object.keys(SOURCES).map(ofCard).filter((text) => text);
  if (weakest) texts.push(`The planted failure that it misses most is “${words(weakest.control)}”: it catches ${percent(weakest.estimate)} ${interval(weakest.lower, weakest.upper)} of ${whole(weakest.n_scored)}.`);
  if (!texts.length) texts.push("No turn of a known kind has a verdict, so nothing is known about the judge.");
  at("worth").append(...texts.map((text) => make("p", null, text)));
}

function showFigures() {
  if (!study.figures.length) at("figures").append(make("p", { class: "soft" }, "This study has no figures."));
  for (const { name, source, width, height, caption } of study.figures) {
    const picture = make("img", { src: source, alt: caption || words(name), width, height, decoding: "async" });
    at("figures").append(make("figure", null,
      make("div", { class: "scroll picture", tabindex: "0", role: "region", "aria-label": words(name) }, picture),
      make("figcaption", null, caption, " ", make("code", null, `figures/${name}.svg`))));
  }
}

const KINDS = {
  text: ([value]) => value === null ? "" : words(value),
  count: ([value]) => whole(value),
  number: ([value, lower, upper]) => value === null ? DASH : [String(Number(value.toPrecision(3))), lower === undefined || lower === null ? null : make("small", null, `[${lower.toFixed(2)}, ${upper.toFixed(2)}]`)],
  interval: ([value, lower, upper]) => value === null ? DASH : [lower === null ? "no interval" : `[${lower.toFixed(2)}, ${upper.toFixed(2)}]`, make("small", null, `estimate ${value.toFixed(2)}`)],
  p: ([value]) => value === null ? DASH : value < 0.001 ? "<0.001" : value.toFixed(3),
  of: ([some, all]) => [whole(some), make("small", null, `of ${whole(all)}`)],
  share: ([value, lower, upper]) => [percent(value), make("small", null, interval(lower, upper))],
  bounds: ([low, high]) => low === null ? DASH : `${percent(low)}, ${percent(high)}`,
  change: ([value, lower, upper]) => value === null ? DASH : [`${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`, make("small", null, interval(lower, upper))],
};

function sorter(table, body, number, button) {
  const heading = button.closest("th");
  const falls = heading.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", falls ? "descending" : "ascending");
  const keyed = [...body.rows].map((row) => [row, row.sortKeys[number]]);
  keyed.sort(([, a], [, b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return falls ? -order : order;
  });
  body.append(...keyed.map(([row]) => row));
}

function dataTable({ name, columns, rows }) {
  const body = make("tbody", null, rows.map((values) => {
    const row = make("tr", null, values.map((value, i) => make("td", { class: columns[i][1] === "text" ? "text" : "number" }, KINDS[columns[i][1]](value))));
    row.sortKeys = values.map((value) => value[0]);
    return row;
  }));
  const table = make("table", { class: "data" });
  const head = make("tr", null, columns.map(([heading, kind], i) => make("th", { scope: "col", class: kind === "text" ? "text" : "number" },
    make("button", { type: "button", click: (event) => sorter(table, body, i, event.currentTarget) }, heading))));
  table.append(make("thead", null, head), body);
  return make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": words(name) }, table);
}

function showTables() {
  const missing = [];
  study.tables.forEach((shown, i) => {
    if (!shown.columns) {
      missing.push(shown.title);
      return;
    }
    const { name, title, about, rows, n } = shown;
    const more = n > rows.length ? ` The first ${whole(rows.length)} of ${whole(n)} rows.` : "";
    const details = make("details", { id: `table-${name}` }, make("summary", null, make("span", null, title), make("span", { class: "soft" }, plural(n, "row"))));
    const fill = () => {
      if (details.childElementCount > 1) return;
      details.append(make("p", { class: "soft" }, `${about}${more} `, make("code", null, `tables/${name}.csv`)), rows.length ? dataTable(shown) : make("p", { class: "soft" }, "No row."));
    };
    details.addEventListener("toggle", fill);
    if (i === 0) { details.open = true; fill(); }
    at("tables").append(details);
  });
  if (missing.length) at("tables").append(make("p", { class: "soft" }, `Not there: ${missing.map((t) => t[0].toLowerCase() + t.slice(1)).join("; ")}.`));
}

function showLabels() {
  const told = study.labels.map((label, number) => make("div", null, make("dt", null, badge(number)), make("dd", null, study.criteria[label] ?? "Not a label of the rubric.")));
  at("labels").append(...told);
  at("rules").append(...[study.rules, study.ours].filter(Boolean).map((text) => make("p", { class: "soft" }, text)));
}

for (const show of [showWarning, showSentence, showCounts, showModels, showWorth, showFigures, showTables, showLabels]) show();
