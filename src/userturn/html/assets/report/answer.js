// The answer on the first screen: the rates, and what a reader has to hold them against.
// A model in another prompt format is named model+format, and is not one more model.
const isUsual = (model) => !model.includes("+");
const isPlayed = (model) => headline.played.some((row) => row.model === model);
const changedBy = () => (perturbationShown() === study.perturbations[0] ? "" : `, after an answer changed by “${words(perturbationShown())}”`);
const turnsOf = ({ model, dataset }) => `${model}'s turns${dataset ? ` in ${dataset}` : ""}`;

const range = (rows, text, by) => {
  const sorted = [...rows].sort((a, b) => by(a) - by(b));
  if (sorted.length === 1) return text(sorted[0]);
  if (by(sorted[0]) === by(sorted.at(-1))) return `${text(sorted[0])} (the same estimate for all ${whole(sorted.length)})`;
  return `from ${text(sorted[0])} to ${text(sorted.at(-1))}`;
};

// Rows of models in other prompt formats, which the sentence would count as models: it names them instead.
function leftOut(rated, measured) {
  const names = [...new Set(rated.filter((row) => !measured.includes(row) && !isPlayed(row.model)).map(({ model }) => model))];
  return names.length ? ` In the table alone: ${names.join(", ")}, in another prompt format.` : "";
}

function ratesSentence(measured) {
  const rateAt = (row, end) => row.rates.filter((rate) => rate.estimate !== null).at(end);
  const told = [0, -1].map((end) => {
    const rates = measured.map((row) => ({ name: turnsOf(row), ...rateAt(row, end) }));
    const name = (rate) => `${percent(rate.estimate)} ${interval(rate.lower, rate.upper)} of ${rate.name}`;
    const lowest = [...rates].sort((a, b) => a.estimate - b.estimate)[0];
    return [lowest.temperature, range(rates, name, (rate) => rate.estimate)];
  });
  const first = `At temperature ${told[0][0]}${changedBy()}, ${told[0][1]} are genuine follow-ups, according to the judge ${judgeShown()}.`;
  const second = told[1][0] === told[0][0] ? "" : ` At temperature ${told[1][0]}: ${told[1][1]}.`;
  return [told[0][0], `${first}${second} Brackets: 95% intervals.`];
}

// A rate with its interval; of several models the lowest and the highest.
function valueOf(rows, [name, lower, upper] = ["estimate", "lower", "upper"]) {
  const sorted = [...rows].sort((a, b) => a[name] - b[name]);
  const [low, high] = [sorted[0], sorted.at(-1)].map((row) => percent(row[name]));
  if (sorted.length === 1) return `${low} ${interval(sorted[0][lower], sorted[0][upper])}`;
  return low === high ? `${low} each` : `${low} to ${high}`;
}

// What people's labels make of the rates, which stands before what a judge says.
function correctedSentence(temperature) {
  const rows = chosen.dataset.length ? [] : headline.corrected.filter((row) => row.temperature === temperature && isChosen("model", row.model) && isUsual(row.model));
  if (!rows.length) return "";
  const text = (row) => `${percent(row.estimate)} ${interval(row.lower, row.upper)} of ${row.model}'s turns (${whole(row.n_labelled)} labelled)`;
  return `Corrected by people's labels, ${range(rows, text, (row) => row.estimate)} are genuine follow-ups at temperature ${temperature}. `;
}

// What a reader holds the rates against: name, values by what they are, sentence.

const CEILINGS = { people: "turns that people call genuine", human: "follow-ups that people wrote" };

function ceilingBearing() {
  const found = Object.keys(CEILINGS).map((source) => headline.card.find((row) => row.source === source && row.measure === "sensitivity")).find(Boolean);
  if (!found) return null;
  const kappa = headline.card.find((row) => row.source === found.source && row.measure === "kappa");
  const agreed = kappa ? ` Its kappa with the known labels is ${kappaText(kappa)}.` : "";
  const values = [["ceiling", valueOf([found])], ...(kappa ? [["judge's kappa", kappaText(kappa)]] : [])];
  return ["Ceiling", values, `The judge accepts ${percent(found.estimate)} ${interval(found.lower, found.upper)} of ${CEILINGS[found.source]}. A model whose turns are all genuine would score about that.${agreed}`];
}

const kappaText = ({ estimate, lower, upper }) => `${decimal(estimate)}${lower === null || lower === undefined ? "" : ` [${decimal(lower)}, ${decimal(upper)}]`}`;
const pointsAbove = (row) => `${signed(100 * row.above_floor, 1)} ${interval(row.above_floor_lower, row.above_floor_upper)} points`;

// What the intervals of the differences say: a rate is clearly above chance if its interval is above zero.
function aboveChance(floors) {
  const n = floors.filter((row) => row.above_floor_lower > 0).length;
  if (floors.length > 1) return `; it is clearly above zero for ${whole(n)} of ${plural(floors.length, "model")}`;
  return n ? "" : ", which is not clearly above zero";
}

// How many turns react: the share where people's labels give the judge a sensitivity, else what is above the floor.
function reacting(floors) {
  const rows = floors.filter((row) => row.reacts !== null);
  const condition = "provided that turns which do not react are called genuine as often after either answer";
  if (!rows.length) return `At least so many turns react, ${condition}.`;
  const share = (row) => `${percent(row.reacts)} ${interval(row.reacts_lower, row.reacts_upper)}${rows.length > 1 ? ` (${row.model})` : ""}`;
  return `By the sensitivity that people's labels give the judge, ${range(rows, share, (row) => row.reacts)} of turns react, ${condition}.`;
}

function floorBearing(measured, temperature) {
  const floors = chosen.dataset.length ? [] : headline.floors.filter((row) => row.temperature === temperature && measured.some(({ model }) => model === row.model));
  if (!floors.length) return null;
  const several = floors.length > 1;
  const floor = (row) => `${percent(row.floor)} ${interval(row.floor_lower, row.floor_upper)}`;
  const above = (row) => `${pointsAbove(row)}${several ? ` (${row.model})` : ""}`;
  return ["Chance", [["by chance", valueOf(floors, ["floor", "floor_lower", "floor_upper"])]], `Judged again after the answer to another question, which they cannot react to, ${range(floors, floor, (row) => row.floor)} of turns are still called genuine. The rate less this floor is ${range(floors, above, (row) => row.above_floor)}${aboveChance(floors)}. ${reacting(floors)}`];
}

// Of the answers that a model's turns follow, those that the token limit cut.
function cutBearing(measured, temperature) {
  const rows = measured.map((row) => ({ ...row.rates.find((rate) => rate.temperature === temperature), model: row.model })).filter((rate) => rate.n_answers_cut > 0);
  if (!rows.length) return null;
  const shares = rows.map((rate) => rate.n_answers_cut / rate.n_answers).sort((a, b) => a - b);
  const [low, high] = [shares[0], shares.at(-1)].map((share) => percent(share, 0));
  const value = rows.length === 1 ? low : low === high ? `${low} each` : `${low} to ${high}`;
  const told = rows.map((rate) => `${whole(rate.n_answers_cut)} of ${whole(rate.n_answers)}${rows.length > 1 ? ` (${rate.model})` : ""}`).join(", ");
  return ["Cut answers", [["answers cut", value]], `Of the answers that these turns follow, ${told} were cut at the token limit: such turns react to half a text, even without a perturbation.`];
}

// What the rubric leaves open: turns that clearly or arguably are genuine, where any are arguable.
function lenientBearing(measured, temperature) {
  const rows = measured.map((row) => ({ ...row.rates.find((rate) => rate.temperature === temperature), model: row.model })).filter((rate) => rate.lenient > rate.estimate);
  if (!rows.length) return null;
  const text = (row) => `${percent(row.lenient)} ${interval(row.lenient_lower, row.lenient_upper)}${rows.length > 1 ? ` (${row.model})` : ""}`;
  return ["Arguably", [], `The rate counts turns that are clearly genuine follow-ups. Clearly or arguably ${range(rows, text, (row) => row.lenient)} are: of the rest careful readers could say either.`];
}

// Copies of other items' turns, and the rate of different texts: a rate can come from a few texts that the model repeats.
function copiesBearing(measured, temperature) {
  const rows = measured.map((row) => ({ ...row.rates.find((rate) => rate.temperature === temperature), model: row.model })).filter((rate) => rate.n_copies > 0 && rate.distinct !== null);
  if (!rows.length) return null;
  const of = (rate) => (rows.length > 1 ? ` (${rate.model})` : "");
  const told = rows.map((rate) => `${whole(rate.n_copies)} of ${whole(rate.n_ok)}${of(rate)}`).join(", ");
  const text = (rate) => `${percent(rate.distinct)} ${interval(rate.distinct_lower, rate.distinct_upper)}${of(rate)}`;
  const shares = rows.map((rate) => rate.n_copies / rate.n_ok).sort((a, b) => a - b);
  const [low, high] = [shares[0], shares.at(-1)].map((share) => percent(share, 0));
  const value = rows.length === 1 ? `${whole(rows[0].n_copies)} of ${whole(rows[0].n_ok)}` : low === high ? `${low} each` : `${low} to ${high}`;
  return ["Copies", [["copies", value]], `Of these turns ${told} are, word for word, the turn after another item in the same cell. Over different texts ${range(rows, text, (rate) => rate.distinct)} are genuine follow-ups.`];
}

// Models that an instruction tells to play the user, beside the raw probe; the rates of the sentence are of that one, where there are any.
function playedBearing(rated, measured, temperature) {
  const rows = rated.filter((row) => isPlayed(row.model) && !measured.includes(row)).map((row) => ({ ...row.rates.find((rate) => rate.temperature === temperature), name: turnsOf(row), model: row.model })).filter((rate) => rate.estimate !== null && rate.estimate !== undefined);
  if (!rows.length) return measured.some((row) => isPlayed(row.model)) ? ["Role-play", [], "These models are told to play the user: no rate is one of the raw probe."] : null;
  const rate = (row) => `${percent(row.estimate)} ${interval(row.lower, row.upper)} of ${row.name}`;
  const told = chosen.dataset.length ? [] : headline.played.filter(({ model }) => rows.some((row) => row.model === model)).flatMap(({ model, less_raw }) => less_raw.filter((row) => row.temperature === temperature).map((row) => ({ ...row, model })));
  const points = (row) => `${signed(100 * row.difference, 1)} ${interval(row.lower, row.upper)} points${told.length > 1 ? ` (${row.model})` : ""}`;
  const less = told.length ? ` Less the raw probe of the same model, on the same answers: ${range(told, points, (row) => row.difference)}.` : "";
  return ["Role-play", [["told to play the user", valueOf(rows)]], `Told to play the user, in place of the raw probe, ${range(rows, rate, (row) => row.estimate)} are genuine follow-ups.${less}`];
}

function likelihoodBearing(measured) {
  const rows = headline.identified.filter((row) => measured.some(({ model }) => model === row.model) && isChosen("dataset", row.dataset));
  if (!rows.length) return null;
  const text = (row) => `${percent(row.estimate)} ${interval(row.lower, row.upper)} (${row.model}, ${whole(row.n_scored)} in ${row.dataset}, chance ${percent(row.chance, 0)})`;
  return ["Without a judge", [["follow-ups identified", valueOf(rows)]], `Of reference follow-ups, the turns that a dataset has after its own answers, ${range(rows, text, (row) => row.estimate)} are likelier to the model after their own answer than after others.`];
}

// How the rates of the first screen were made, in words, with the places where each step can be seen.
function howCounted() {
  const link = (text, act) => make("a", { href: "#/tables", click: (event) => { event.preventDefault(); act(); } }, text);
  const table = study.tables.some(({ name, columns }) => name === "rates" && columns) ? [" They are rows of ", link("the table of rates", () => showTable("rates")), ", with every number that they are made of."] : [];
  return folded("How these numbers were made", () => [make("p", null, `The judge ${judgeShown()} labelled each turn once. A rate is the turns that it calls genuine out of those that it labelled; its interval is over items. The `, make("a", { href: address(["grid"]) }, "explorer"), " has each cell's turns, their labels and why.", ...table, " ", make("code", null, "userturn why results/tables/rates.csv"), ` says with which settings and inputs, and what makes it again. ${FORMULAS}`)]);
}

const noRate = () => (isFiltered() ? "No chosen cell has a rate." : "No unperturbed turn has a verdict, so there is no rate.");

function showSentence() {
  const rated = modelsShown().filter((row) => row.rates.some((rate) => rate.estimate !== null));
  const usual = rated.filter((row) => isUsual(row.model));
  const raw = usual.filter((row) => !isPlayed(row.model));
  const measured = [raw, usual, rated].find((rows) => rows.length) ?? [];
  for (const part of ["values", "bearings"]) at(part).replaceChildren();
  if (!measured.length) {
    at("sentence").textContent = headline.models.length ? noRate() : "The table of pooled rates is missing, so there is no headline rate; the explorer shows every cell.";
    return;
  }
  const [temperature, rates] = ratesSentence(measured);
  at("sentence").replaceChildren(...unbroken(correctedSentence(temperature) + rates + leftOut(rated, measured)));
  const told = [playedBearing(rated, measured, temperature), lenientBearing(measured, temperature), copiesBearing(measured, temperature), cutBearing(measured, temperature), floorBearing(measured, temperature), ceilingBearing(), likelihoodBearing(measured)].filter(Boolean);
  at("values").append(...told.flatMap(([, values]) => values).map(([name, value]) => make("div", null, make("dt", null, name), make("dd", null, unbroken(value)))));
  at("bearings").append(...told.flatMap(([name, , text]) => [make("dt", null, name), make("dd", null, unbroken(text), name === "Copies" ? [" ", make("a", { href: address(["search"], { outcome: "copy", sort: "text", p: perturbationShown() }) }, "Read the copies")] : [])]));
  at("bearings").append(make("dt", null, "Numbers"), make("dd", null, howCounted()));
}
