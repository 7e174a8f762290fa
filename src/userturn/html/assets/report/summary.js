// The report itself: headline, models, the judge's worth, labels; of what the filter bar has chosen.
let headline; // of the chosen judge and perturbation

// Rates over all datasets as the tables have them, or those of each chosen dataset: nothing is pooled here.
function modelsShown() {
  const models = chosenOr("model", study.models);
  const atChosen = (rates) => rates.filter((rate) => isChosen("temperature", rate.temperature));
  if (!chosen.dataset.length) return headline.models.filter(({ model }) => models.includes(model)).map((row) => ({ ...row, name: row.model, rates: atChosen(row.rates) }));
  const judge = study.judges.indexOf(judgeShown());
  return models.flatMap((model) => chosen.dataset.map((dataset) => ({
    model, dataset, name: `${model} · ${dataset}`, accuracy: null, followup: null,
    rates: atChosen(study.temperatures.map((t) => rateOfCell(cellByPath.get([model, dataset, `t${t}`, perturbationShown()].join("/")), judge)).filter(Boolean)),
  })));
}

function rateOfCell(cell, judge) {
  const found = cell?.rates[judge];
  if (!found) return null;
  const [estimate, lower, upper] = found;
  return { temperature: Number(cell.temperature), estimate, lower, upper, n_scored: total(cell.counts[judge]), n_turns: cell.n };
}

function showCounts() {
  const kept = cells.filter((cell) => ["model", "dataset", "temperature", "perturbation"].every((field) => isChosen(field, cell[field])));
  const counts = headline.counts && countsOf(kept);
  const named = kept.map((cell) => ({ ...cell, model: cell.model.split("+")[0], format: cell.model.split("+")[1] ?? "" }));
  const sizes = ["model", "format", "dataset", "temperature", "perturbation"].map((field) => [new Set(named.map((cell) => cell[field])).size, field]);
  const size = sizes.filter(([n, field]) => field !== "format" || n > 1).map(([n, field]) => plural(n, field)).join(", ");
  const rows = [["cells", whole(kept.length), size]];
  if (counts) {
    const lost = `${plural(counts.n_empty, "empty turn", "empty turns")}, ${plural(counts.n_error, "error")}, ${whole(counts.n_unscored)} unscored`;
    rows.push(["user turns", whole(counts.n_turns), lost]);
    rows.push(["coverage", percent(counts.n_scored / counts.n_turns), `${whole(counts.n_scored)} of ${whole(counts.n_turns)} have a verdict`]);
  }
  const answers = headline.answers;
  if (answers && !chosen.model.length && !chosen.dataset.length) {
    const why = "their user turns react to a truncated answer, even without a perturbation";
    rows.push(["answers", whole(answers.n), answers.n_cut ? `${whole(answers.n_cut)} cut at the token limit: ${why}` : "none cut at the token limit"]);
  }
  const others = study.judges.filter((judge) => judge !== judgeShown());
  rows.push([judgeShown() === study.judge ? "primary judge" : "judge", judgeShown(), `${study.aboutJudges[judgeShown()]}; ${others.length ? `other judges: ${others.join(", ")}` : "the only judge"}`]);
  const nPeople = total(kept.map((cell) => cell.nPeople));
  if (nPeople) rows.push(["people", plural(nPeople, "turn"), make("span", null, make("a", { href: address(["search"], { people: true }) }, "How people labelled them"))]);
  if (study.private.length) rows.push(["private", plural(study.private.length, "dataset"), `texts of ${study.private.join(", ")} are left out`]);
  at("counts").replaceChildren(...rows.map(([name, value, more]) => make("div", null, make("dt", null, name), make("dd", { class: "value" }, value), make("dd", { class: "soft" }, more))));
}

function countsOf(kept) {
  const judge = study.judges.indexOf(judgeShown());
  const n_turns = total(kept.map((cell) => cell.n));
  const n_scored = total(kept.map((cell) => total(cell.counts[judge])));
  return { n_turns, n_scored, n_unscored: n_turns - n_scored, n_empty: total(kept.map((cell) => cell.outcomes[1])), n_error: total(kept.map((cell) => cell.outcomes[2])) };
}

const floorOf = (model, temperature) => headline.floors.find((row) => row.model === model && row.temperature === temperature);

function floorText({ model, dataset }, rate) {
  const floor = rate && !dataset && floorOf(model, rate.temperature);
  if (!floor) return [];
  const change = `${signed(100 * floor.above_floor, 1)} ${interval(floor.above_floor_lower, floor.above_floor_upper)}`;
  const told = [`floor ${percent(floor.floor)} ${interval(floor.floor_lower, floor.floor_upper)}`, `above it ${change}`];
  if (floor.reacts !== null) told.push(`reacting ${percent(floor.reacts)} ${interval(floor.reacts_lower, floor.reacts_upper)}`);
  return told.map((text) => make("small", null, unbroken(text)));
}

const onScale = (share, top) => `${(100 * share / top).toFixed(2)}%`;

function mark(rate, top, kind) {
  if (!rate || rate.estimate === null) return [];
  const place = { "--from": onScale(rate.lower, top), "--to": onScale(rate.upper, top), "--at": onScale(rate.estimate, top) };
  return [make("i", { class: `range ${kind}`, ...place }), make("i", { class: `dot ${kind}`, ...place })];
}

// Of several datasets, the lowest and the highest share: a table has them all.
function severalIdentified(rows) {
  const sorted = [...rows].sort((a, b) => a.estimate - b.estimate);
  const [low, high] = [sorted[0], sorted.at(-1)].map((row) => percent(row.estimate));
  return [low === high ? low : `${low} to ${high}`, make("small", null, `${plural(rows.length, "dataset")}, chance ${percent(rows[0].chance, 0)}`)];
}

function identifiedBy({ model, dataset }) {
  const rows = headline.identified.filter((row) => row.model === model && (!dataset || row.dataset === dataset));
  if (rows.length > 1) return severalIdentified(rows);
  return rows.map((row) => [percent(row.estimate), make("small", null, unbroken(`${interval(row.lower, row.upper)} of ${whole(row.n_scored)}`)), make("small", null, `${row.dataset}, chance ${percent(row.chance, 0)}`)]).flat();
}

function showModels() {
  const rows = modelsShown();
  at("models").replaceChildren();
  if (!rows.length) {
    at("rates-about").textContent = headline.models.length ? noRate() : "The table of pooled rates is missing.";
    return;
  }
  const all = rows.flatMap((row) => row.rates.map((rate) => rate.upper ?? 0));
  const top = Math.min(1, Math.max(0.05, Math.ceil(Math.max(...all) * 20) / 20));
  const longest = rows.map((row) => row.rates).sort((a, b) => b.length - a.length)[0];
  const ends = longest.length ? [longest[0].temperature, longest.at(-1).temperature] : [];
  const several = ends[0] !== ends[1];
  const graded = rows.some((row) => row.accuracy);
  const what = changedBy() ? `Turns after an answer changed by “${words(perturbationShown())}”` : "Unperturbed turns";
  at("rates-about").textContent = `${what} ${chosen.dataset.length ? "of each chosen dataset" : "over all datasets"}, by ${judgeShown()}, with 95% intervals. `
    + (headline.floors.length && !chosen.dataset.length ? "Floor: of turns judged a second time, after the answer to another question, the share that is called genuine; above it: the rate less the floor; at least so many turns react. " : "")
    + (several ? `Filled: temperature ${ends[0]}; open: temperature ${ends[1]}.` : `Temperature ${ends[0]}.`)
    + (headline.identified.length ? " Reference follow-ups: of the turns that a dataset has after its own answers, the share that the model finds likelier after their own answer than after others; this needs no judge." : "")
    + (graded ? ` Last two columns: accuracy and, on the same items, genuine follow-ups at temperature ${ends[0]}, both over all graded datasets.` : "");
  const head = make("tr", null, ["model", `temperature ${ends[0]}`, several ? `temperature ${ends[1]}` : null, null, longest.length > 2 ? "scored, all temperatures" : "scored", headline.identified.length ? "reference follow-ups" : null, graded ? "accuracy" : null, graded ? "genuine, same items" : null].map((text, i) => text === null ? (i === 3 ? make("th", { class: "scale" }, make("span", null, "0%"), make("span", null, percent(top, 0))) : null) : make("th", { scope: "col" }, text)));
  const body = rows.map((row) => {
    const [low, high] = ends.map((end) => row.rates.find((rate) => rate.temperature === end));
    const limits = (found) => make("td", { class: "number" }, found ? percent(found[0]) : DASH, make("small", null, found ? unbroken(`${interval(found[1], found[2])} of ${whole(found[3])}`) : ""));
    const told = (rate) => make("td", { class: "number" }, percent(rate?.estimate), make("small", { class: "interval" }, rate ? interval(rate.lower, rate.upper) : ""), rate?.n_answers_cut ? make("small", null, unbroken(`after ${whole(rate.n_answers_cut)} of ${whole(rate.n_answers)} cut answers`)) : null, floorText(row, rate));
    const nScored = total(row.rates.map((rate) => rate.n_scored));
    const nTurns = total(row.rates.map((rate) => rate.n_turns));
    return make("tr", null, make("th", { scope: "row" }, make("a", { href: address(["grid"], { model: row.model, dataset: row.dataset }) }, row.name)), told(low), several ? told(high) : null,
      make("td", { class: "plot", "aria-hidden": "true" }, make("div", { class: "track" }, several ? mark(high, top, "open") : [], mark(low, top, "filled"))),
      make("td", { class: "number" }, whole(nScored), make("small", null, `of ${whole(nTurns)}`)),
      headline.identified.length ? make("td", { class: "number" }, identifiedBy(row)) : null,
      graded ? limits(row.accuracy) : null, graded ? limits(row.followup) : null);
  });
  at("models").append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rates of each model, as a table" }, make("table", { class: "models" }, make("thead", null, head), make("tbody", null, body))));
}

function showWarning() {
  at("warning").hidden = !headline.warning;
  at("warning").textContent = headline.warning ?? "";
}

// Which study this is: its name and date as its config gives them, and what it is of.
function showAbout() {
  const [name, date, items] = study.about;
  const several = (what, names) => `${plural(names.length, what)} (${names.join(", ")})`;
  const told = [name, date && `begun ${date}`, several("model", study.models), several("dataset", study.datasets), items === null ? null : plural(items, "item"), several("judge", study.judges)];
  at("about").textContent = told.filter(Boolean).join(" · ");
}

const SOURCES = {
  human: "Human follow-ups",
  labelled: "The project's own labelled turns",
  people: "This study's turns that people labelled",
  planted_hard: "Planted failures, turns that we know not to be genuine, that are hard to recognise",
  planted: "Planted failures that are easy to recognise: copies and fixed texts",
  injected: "Planted prompt injections",
};

function ofCard(source) {
  const found = (measure) => headline.card.find((row) => row.source === source && row.measure === measure);
  const told = (row, kind) => `${percent(row.estimate)} ${interval(row.lower, row.upper)} of ${kind(row.n_scored)}${/^(planted|injected)/.test(source) ? ", the mean over their kinds" : ""}`;
  const [genuine, other, kappa] = ["sensitivity", "specificity", "kappa"].map(found);
  const parts = [];
  if (genuine) parts.push(`it accepts ${told(genuine, (n) => plural(n, "genuine follow-up"))}`);
  if (other) parts.push(`it rejects ${told(other, (n) => (genuine ? `${plural(n, "other turn")}` : plural(n, "turn")))}`);
  if (kappa) parts.push(`kappa ${kappaText(kappa)}`);
  return parts.length ? `${SOURCES[source]}: ${parts.join("; ")}.` : null;
}

function showWorth() {
  const { weakest } = headline;
  const texts = Object.keys(SOURCES).map(ofCard).filter((text) => text);
  if (weakest) texts.push(`The planted failure that it misses most is “${words(weakest.group)}”: it catches ${percent(weakest.estimate)} ${interval(weakest.lower, weakest.upper)} of ${whole(weakest.n_scored)}.`);
  if (!texts.length) texts.push("No turn of a known kind has a verdict, so the judge has not been tested.");
  const missed = raters.includes(PEOPLE) ? make("p", null, make("a", { href: pairAddress([[PEOPLE, GENUINE], [judgeShown(), NOT]]) }, "Turns that people call genuine and the judge does not"), " · ", make("a", { href: pairAddress([[PEOPLE, NOT], [judgeShown(), GENUINE]]) }, "Turns that it alone calls genuine")) : null;
  at("worth").replaceChildren(...texts.map((text) => make("p", null, unbroken(text))), ...(missed ? [missed] : []));
}

function showLabels() {
  const told = study.labels.map((label, number) => make("div", null, make("dt", null, make("a", { href: address(["search"], { label }), "aria-label": `Turns labelled ${words(label)}` }, badge(number))), make("dd", null, study.criteria[label] ?? "Not a label of the rubric.")));
  at("labels").append(...told);
  at("rules").append(...[study.rules, study.ours].filter(Boolean).map((text) => make("p", { class: "soft" }, text)));
}

function showMade() {
  const rows = study.made.map(([kind, name, from]) => make("tr", null, make("th", { scope: "row" }, name), make("td", { class: "text" }, kind), make("td", { class: "text" }, from)));
  const head = make("tr", null, ["name", "what", "details"].map((text) => make("th", { scope: "col", class: "plain" }, text)));
  at("made").append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Models, datasets and judges, as a table" }, make("table", { class: "data" }, make("thead", null, head), make("tbody", null, rows))));
}

function showHeadline() {
  headline = study.headlines[judgeShown()][perturbationShown()];
  for (const show of [showWarning, showSentence, showCounts, showModels, showWorth]) show();
}

showAbout();
showMade();
showLabels();
