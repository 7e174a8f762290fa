// Filters of turns, the same inside a cell and over all cells; they live in the address.
const DEFAULTS = { p: study.perturbations[0], by: "genuine", judge: study.judge };

function formValues(form) {
  const values = Object.fromEntries(new FormData(form));
  for (const [name, value] of Object.entries(DEFAULTS)) if (values[name] === value && !form.elements[name].closest("[data-any]")) delete values[name];
  return values;
}

function setForm(form, query) {
  if (form.elements.pair) setPair(form, query);
  if ([...form.querySelectorAll(".more [name]")].some(({ name }) => query.get(name))) form.querySelector(".more").open = true; // what is set is seen
  for (const control of form.elements) {
    if (!control.name || control === document.activeElement) continue;
    if (control.type === "checkbox") control.checked = query.has(control.name);
    else control.value = query.get(control.name) ?? (control.closest("[data-any]") ? "" : DEFAULTS[control.name] ?? "");
  }
}

const LABELS = [["", "Any label"], ...study.labels.map((label) => [label, words(label)]), ["unscored", "Unscored"]];
const OUTCOMES = [["", "Any outcome"], ["ok", "With a text"], ["empty", "Empty"], ["error", "Error"], ["cut", "Cut at the length limit"], ["copy", "Copy of another item's turn"]];

// Where likelihood and a judge disagree. Gains are compared within a model and temperature.
const GAINS = [["", "Any gain"], ["high", "High, but not genuine"], ["low", "Low, but genuine"], ["scored", "Scored"]];

function fitsGain(turn, wanted) {
  if (turn.gain === null) return false;
  if (wanted.gain === "scored") return true;
  const { label } = turn.verdicts[wanted.judge];
  const [low, high] = study.quarters[turn.cell.model][turn.cell.temperature];
  if (label === null) return false;
  return wanted.gain === "high" ? !isGenuine(label) && 1000 * turn.gain > high : isGenuine(label) && 1000 * turn.gain < low;
}

function check(name, title) {
  return make("label", { class: "check" }, make("input", { type: "checkbox", name, value: "1" }), title);
}

function turnControls(everywhere) {
  const [model, dataset, ...rarePlaces] = everywhere ? placeControls() : [];
  const rare = [
    choice("in", "search in", [["", "Turns, rationales, ids"], ["all", "Prompts and answers too"]]),
    ...(raters.length > 1 ? [pairControl()] : []),
    choice("outcome", "outcome", OUTCOMES),
    ...(study.judges.length > 1 ? [check("differ", "Judges disagree")] : []),
    ...(cells.some((cell) => cell.nPeople) ? [check("people", "People labelled it")] : []),
    ...(cells.some((cell) => cell.nGains) ? [choice("gain", "gain from the answer", GAINS)] : []),
    choice("sort", "order", ORDERS),
    ...rarePlaces,
  ];
  return [
    make("label", { class: "choice wide" }, make("span", null, "text"), make("input", { type: "search", name: "q", autocomplete: "off", spellcheck: "false", placeholder: "Words or parts of words" })),
    check("regex", "Regular expression"),
    choice("label", "label", LABELS),
    ...(study.judges.length > 1 ? [choice("judge", "by judge", study.judges.map((j) => [j, j]), study.judge)] : []),
    ...(everywhere ? [model, dataset] : []),
    make("details", { class: "more" }, make("summary", null, "More filters"), make("div", { class: "controls" }, rare)),
  ];
}

// Where to look, over all cells: unlike inside a cell, no perturbation means all of them.
function placeControls() {
  const controls = [choice("model", "model", anyOf("All models", study.models)), choice("dataset", "dataset", anyOf("All datasets", study.datasets)), choice("t", "temperature", anyOf("All temperatures", study.temperatures)), choice("p", "perturbation", anyOf("All perturbations", study.perturbations))];
  controls.at(-1).dataset.any = "";
  return controls;
}

const isIn = (cell, query) => [["model", cell.model], ["dataset", cell.dataset], ["t", cell.temperature], ["p", cell.perturbation]].every(([name, value]) => !query.get(name) || query.get(name) === value);

function wantedBy(query) {
  return {
    pair: pairOf(query.get("pair")),
    sought: soughtOf((query.get("q") ?? "").trim(), query.has("regex")), everything: query.get("in") === "all", label: query.get("label") ?? "", outcome: query.get("outcome") ?? "",
    judge: Math.max(0, study.judges.indexOf(query.get("judge") ?? study.judge)), gain: query.get("gain") ?? "", differ: query.has("differ"), people: query.has("people"),
  };
}

const nothingWanted = (wanted) => !wanted.pair && !wanted.sought && !wanted.label && !wanted.outcome && !wanted.gain && !wanted.differ && !wanted.people;

// Whether a cell can hold a wanted turn, by the index alone.
function mayHold(cell, wanted) {
  if (!mayHoldPair(cell, wanted.pair)) return false;
  if (wanted.differ && !cell.nDiffer) return false;
  if (wanted.people && !cell.nPeople) return false;
  if (wanted.gain && !cell.nGains) return false;
  if (wanted.outcome === "copy" && !cell.nCopies) return false;
  const counts = cell.counts[wanted.judge];
  if (wanted.label === "unscored") return total(counts) < cell.n;
  return !wanted.label || counts[study.labels.indexOf(wanted.label)] > 0;
}

function fits(turn, wanted) {
  if (!fitsPair(turn, wanted.pair)) return false;
  if (wanted.differ && !judgesDiffer(turn)) return false;
  if (wanted.people && !turn.people.length) return false;
  if (wanted.gain && !fitsGain(turn, wanted)) return false;
  if (wanted.outcome === "copy" && !turn.isCopy) return false;
  if (wanted.outcome === "cut" ? !turn.isCut : wanted.outcome && wanted.outcome !== "copy" && study.outcomes[turn.outcome] !== wanted.outcome) return false;
  if (!wanted.label) return true;
  const { label } = turn.verdicts[wanted.judge];
  return wanted.label === "unscored" ? label === null : label !== null && study.labels[label] === wanted.label;
}

// The texts of a turn in which is sought.
async function textsOf(turn, everything) {
  const texts = [turn.item, turn.text, ...turn.verdicts.flatMap(({ rationale, reason }) => [rationale, reason])];
  const prompt = everything ? await readPrompt(turn) : null;
  if (prompt) texts.push(prompt.answer, prompt.parts.map((part) => part.text).join(""));
  return texts.filter((text) => text !== null);
}

async function chosenOf(turns, wanted) {
  if (wanted.sought?.wrong) throw new Error(wanted.sought.wrong);
  const fitting = turns.filter((turn) => fits(turn, wanted));
  if (!wanted.sought) return fitting;
  const texts = [];
  for (const turn of fitting) texts.push(await textsOf(turn, wanted.everything));
  const found = await haveSought(texts, wanted.sought);
  return fitting.filter((_, i) => found[i]);
}

// The turns of a file that are wanted. Of most files no text has what is sought: their turns are not even made.
async function foundIn(cell, part, wanted) {
  if (wanted.sought && !wanted.sought.wrong && !wanted.everything) {
    const { texts } = await readFile(`cell-${cell.number}-${part}`);
    const found = await haveSought(texts.map((text) => [text]), wanted.sought);
    if (!found.includes(true)) return [];
  }
  return chosenOf(await readPart(cell, part), wanted);
}

const NOT_SHOWN = "Not shown: private dataset";

// What stands for a turn in a list: an error is no text of the model, and says so.
function shownAs({ cell, error, text }) {
  if (cell.isPrivate) return NOT_SHOWN;
  return error === null ? text || "(No text)" : `Error: ${error}`;
}

function turnRow(turn, query, sought, withCell) {
  const judge = wantedBy(query).judge;
  const text = shownAs(turn);
  const [first] = sought ? placesOf(text, sought) : [];
  const start = Math.max(0, (first?.[0] ?? 0) - 60);
  const excerpt = (start ? "…" : "") + text.slice(start, start + 240);
  const where = withCell ? `${turn.cell.model} · ${turn.cell.dataset} · temperature ${turn.cell.temperature} · ${words(turn.cell.perturbation)}` : null;
  const badges = turn.verdicts.map((v, i) => badge(v.label, { title: `${study.judges[i]}`, class: i === judge ? "badge" : "badge other" }));
  return make("li", null, make("a", { class: "turn-row", href: turnAddress(turn, Object.fromEntries(query)) },
    make("span", { class: "where" }, where ? make("span", null, where) : null, make("span", null, turn.item, turn.sample ? ` #${turn.sample}` : ""), turn.people.length ? make("span", { class: "people" }, `people: ${turn.people.map(({ label }) => words(labelName(label) ?? "No label")).join(", ")}`) : null,
      turn.gain === null ? null : make("span", null, `gain ${signed(turn.gain)} nats a token`)),
    make("span", { class: turn.text && !turn.cell.isPrivate ? "excerpt" : "excerpt soft", dir: "auto" }, marked(excerpt, sought)),
    make("span", { class: "badges" }, badges)));
}
