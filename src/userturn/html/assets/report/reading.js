// Reading many turns: their order, what they follow, a preview, and the list as a file.
const ORDERS = [["", "As stored"], ["label", "By label"], ["differ", "Disagreements first"], ["short", "Shortest turn first"], ["long", "Longest turn first"], ["text", "Equal texts together"], ["shuffle", "Shuffled"]];

// FNV-1a: the same seed draws the same turns on every machine.
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

const drawOf = (turn, seed) => hashOf([...turn.cell.path, turn.item, turn.sample, seed].join("\n"));
const lengthOf = (turn) => (turn.text ?? "").length;

function inReadingOrder(turns, query) {
  const { judge } = wantedBy(query);
  const ranks = {
    label: (turn) => turn.verdicts[judge].label ?? study.labels.length, differ: (turn) => (judgesDiffer(turn) ? 0 : 1),
    short: lengthOf, long: (turn) => -lengthOf(turn), shuffle: (turn) => drawOf(turn, query.get("seed") ?? "1"),
  };
  if (query.get("sort") === "text") return [...turns].sort((a, b) => (a.text ?? "").trim().localeCompare((b.text ?? "").trim(), "en"));
  const rank = ranks[query.get("sort") ?? ""];
  return rank ? turns.map((turn) => [rank(turn), turn]).sort(([a], [b]) => a - b).map(([, turn]) => turn) : turns;
}

const readingList = async (turns, query) => inReadingOrder(await chosenOf(turns, wantedBy(query)), query);

// A new draw is a new seed in the address.
function shuffleButton(act) {
  return make("button", { type: "button", click: () => act({ sort: "shuffle", seed: String(1 + Number(parsed()[1].get("seed") ?? "1")) }) }, "Shuffle");
}

function shortened(text, most) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

function lastSaid(prompt, writer) {
  return prompt.parts.filter((part) => part.writer === writer).at(-1)?.text ?? null;
}

async function fillContext(turn, place) {
  const prompt = await readPrompt(turn);
  if (!prompt) return;
  const said = [["Question", lastSaid(prompt, "user")], ["Answer", prompt.shown]].filter(([, text]) => text);
  place.replaceChildren(...said.map(([name, text]) => make("span", null, make("b", null, name), " ", make("bdi", null, shortened(text, 160)))));
}

// Question and answer are in other files, which are read when a row comes near the window.
const nearby = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((found) => found.isIntersecting)) {
    nearby.unobserve(entry.target);
    entry.target.dispatchEvent(new Event("near"));
  }
}, { rootMargin: "400px" });

function previewNode(turn, query) {
  const place = make("div", { class: "turn-view" });
  return make("details", { class: "preview", toggle: async (event) => {
    if (!event.target.open || place.childElementCount) return;
    place.replaceChildren(...await turnParts(turn, query).catch((error) => [noticeOf(error)]));
  } }, make("summary", null, "Preview"), place);
}

function readingRow(turn, query, sought, withCell) {
  const row = turnRow(turn, query, sought, withCell);
  if (turn.cell.isPrivate) return row;
  const context = make("span", { class: "context soft", near: () => fillContext(turn, context).catch(() => {}) });
  row.querySelector(".where").after(context);
  row.append(previewNode(turn, query));
  nearby.observe(context);
  return row;
}

const HEADINGS = ["model", "dataset", "temperature", "perturbation", "item", "sample", "outcome", "turn", ...study.judges.flatMap((judge) => [`label by ${judge}`, `rationale of ${judge}`]), "labels by people"];
const labelName = (label) => (label === null ? null : study.labels[label]);

function valuesOf(turn) {
  const { model, dataset, temperature, perturbation } = turn.cell;
  return [model, dataset, temperature, perturbation, turn.item, turn.sample, study.outcomes[turn.outcome], turn.text,
    ...turn.verdicts.flatMap(({ label, rationale }) => [labelName(label), rationale]), turn.people.map(({ who, label }) => `${who}: ${labelName(label)}`).join("; ")];
}

const LATEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}" };
const inLatex = (text) => String(text ?? "").replace(/\s+/g, " ").replace(/[\\{}&%$#_^~<>|]/g, (found) => LATEX[found] ?? `\\${found}`);

function latexOf(turns) {
  const line = (values) => `${values.map(inLatex).join(" & ")} \\\\`;
  const rows = turns.map((turn) => line([turn.cell.model, turn.cell.dataset, turn.cell.temperature, turn.item, shortened(turn.text ?? "", 200), ...turn.verdicts.map(({ label }) => words(labelName(label) ?? "Unscored"))]));
  return ["\\begin{tabular}{llrlp{0.4\\linewidth}" + "l".repeat(study.judges.length) + "}", "\\toprule", line(["model", "dataset", "t", "item", "turn", ...study.judges]), "\\midrule", ...rows, "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

const jsonlOf = (turns) => turns.map((turn) => `${JSON.stringify(Object.fromEntries(valuesOf(turn).map((value, i) => [HEADINGS[i], value])))}\n`).join("");

// What is listed now, as a file or on the clipboard; texts of private datasets are not in the page.
function exportBar() {
  const n = () => plural(listed.turns.length, "row");
  const save = (text, name, kind) => { download(text, name, kind); return `${n()} saved`; };
  return buttonsThat("The listed turns as a file", [
    ["CSV", () => save(csvOf([HEADINGS, ...listed.turns.map(valuesOf)]), "turns.csv", "text/csv")],
    ["JSONL", () => save(jsonlOf(listed.turns), "turns.jsonl", "application/jsonl")],
    ["Copy as LaTeX", () => copied(latexOf(listed.turns), n())],
  ]);
}
