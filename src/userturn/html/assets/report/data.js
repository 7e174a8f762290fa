// Data files are scripts that call userturn.take: a page opened from a file may read nothing else.
const KEPT_FILES = 48;
const files = new Map(); // name to a promise of its content, the least used first
const waiting = new Map();

globalThis.userturn = Object.freeze({
  take(name, content) {
    waiting.get(name)?.(content);
    waiting.delete(name);
  },
});

function readScript(name) {
  return new Promise((resolve, reject) => {
    const script = make("script", { src: `data/${name}.js`, charset: "utf-8" });
    const lost = () => {
      waiting.delete(name);
      files.delete(name);
      reject(new Error(`data/${name}.js could not be read. Keep the folder “data” beside this page.`));
    };
    waiting.set(name, resolve);
    script.addEventListener("error", () => { script.remove(); lost(); });
    script.addEventListener("load", () => { script.remove(); if (waiting.has(name)) lost(); });
    document.head.append(script);
  });
}

function readFile(name) {
  const found = files.get(name) ?? readScript(name);
  files.delete(name);
  files.set(name, found);
  for (const old of files.keys()) {
    if (files.size <= KEPT_FILES) break;
    files.delete(old);
  }
  return found;
}

// A cell as the index has it. `labels` holds, for each judge, how often it gave each label.
const cells = study.cells.map(([key, n, outcomes, nCut, labels, nDiffer, nPeople, nCopies], number) => {
  const [model, dataset, temperature, perturbation] = key;
  const counts = labels.map((byLabel) => study.labels.map((_, label) => byLabel[label] ?? 0));
  return {
    number, model, dataset, temperature, perturbation, n, outcomes, nCut, counts, nDiffer, nPeople, nCopies,
    path: [model, dataset, `t${temperature}`, perturbation],
    nParts: Math.max(1, Math.ceil(n / study.rows)),
    rates: study.rates[number] ?? [],
    isPrivate: study.private.includes(dataset),
    nGains: study.nGains[number] ?? 0,
  };
});
const cellByPath = new Map(cells.map((cell) => [cell.path.join("/"), cell]));
const total = (numbers) => numbers.reduce((sum, n) => sum + n, 0);

function decodeTurn(cell, texts, row) {
  const [item, position, sample, outcome, cut, text, prompt, error, verdicts, people] = row;
  const said = (number) => (number < 0 ? null : texts[number]);
  const labelled = (number) => (number < 0 ? null : number);
  return {
    cell, gain: null, tokens: [], item: texts[item], position, sample, outcome, isCut: (cut & 1) > 0, isCopy: (cut & 2) > 0, text: said(text), prompt, error: said(error),
    verdicts: triplesOf(verdicts).map(([label, rationale, reason]) => ({ label: labelled(label), rationale: said(rationale), reason: said(reason) })),
    people: triplesOf(people).map(([who, label, notes]) => ({ who: said(who), label: labelled(label), notes: said(notes) })),
  };
}

async function readPart(cell, part) {
  const { texts, turns } = await readFile(`cell-${cell.number}-${part}`);
  const gains = await readGains(cell);
  return turns.map((row) => {
    const turn = decodeTurn(cell, texts, row);
    return { ...turn, ...gains.get(`${turn.item}/${turn.sample}`) };
  });
}

const triplesOf = (values) => Array.from({ length: values.length / 3 }, (_, i) => values.slice(3 * i, 3 * i + 3));
const tokensOf = (values) => triplesOf(values).map(([text, own, others]) => ({ text, own: own / 100, others: others / 100 }));

// The turns of a cell whose likelihood was scored: gain in nats a token, and tokens unless they are private.
async function readGains(cell) {
  if (!cell.nGains) return new Map();
  const rows = await readFile(`gains-${cell.number}`);
  return new Map(rows.map(([item, sample, gain, tokens]) => [`${item}/${sample}`, { gain: gain / 1000, tokens: tokensOf(tokens) }]));
}

// What a turn's prompt was made of: its parts, the answer as the model wrote it and as it was shown.
async function readPrompt(turn) {
  const group = study.groups[`${turn.cell.model}/${turn.cell.dataset}`];
  if (group === undefined) return null;
  const file = await readFile(`prompts-${group}-${Math.floor(turn.position / study.rows)}`);
  const said = (number) => (number < 0 ? null : file.texts[number]);
  const [, answer, correct, isAnswerCut] = file.items[turn.position % study.rows];
  const row = turn.prompt < 0 ? [-1] : file.prompts[turn.prompt];
  const parts = [];
  for (let i = 1; i < row.length; i += 2) parts.push({ writer: study.writers[row[i]], text: file.texts[row[i + 1]] });
  return { answer: said(answer), shown: said(row[0]), correct, isAnswerCut, parts };
}

const turnAddress = (turn, query) => address(["turn", ...turn.cell.path, turn.item, String(turn.sample)], query);
const judgesDiffer = (turn) => new Set(turn.verdicts.map((v) => v.label).filter((label) => label !== null)).size > 1;
