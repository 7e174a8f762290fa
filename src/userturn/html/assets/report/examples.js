// The two turns on the first screen, drawn by hash: one that the primary judge accepts, one it rejects.
const LONGEST_EXCERPT = 400;

function excerptOf(text, fromEnd) {
  const letters = [...text.trim()];
  if (letters.length <= LONGEST_EXCERPT) return letters.join("");
  return fromEnd ? `… ${letters.slice(-LONGEST_EXCERPT).join("")}` : `${letters.slice(0, LONGEST_EXCERPT).join("")} …`;
}

function speech(who, text) {
  return [make("dt", null, who), make("dd", { class: "text", dir: "auto" }, text)];
}

async function exampleCard({ is_genuine: isGenuineTurn, cell: number, item, sample }) {
  const cell = cells[number];
  const turn = await findTurn(cell, item, sample);
  const prompt = await readPrompt(turn);
  const verdict = turn.verdicts[study.judges.indexOf(study.judge)];
  const question = prompt.parts.filter(({ writer }) => writer === "user").at(-1)?.text ?? "";
  return make("article", { class: "example" },
    make("h2", null, isGenuineTurn ? "The judge accepts this turn" : "The judge rejects this turn", " ", badge(verdict.label)),
    make("dl", null, speech("question", excerptOf(question, false)), speech("answer of the model", excerptOf(prompt.shown ?? "", true)),
      make("dt", null, "the user turn it wrote"), make("dd", { class: "text turn", dir: "auto" }, withTokens(excerptOf(turn.text, false), "", false))),
    verdict.rationale ? make("p", { class: "soft" }, `${study.judge}: ${verdict.rationale}`) : null,
    make("p", { class: "soft" }, make("a", { href: turnAddress(turn) }, "Read it whole"), ` · ${nameOf(cell)}`));
}

async function showExamples() {
  if (at("examples").childElementCount) return;
  at("examples").append(make("p", { class: "state" }, "Reading"));
  try {
    const cards = await Promise.all(study.examples.map(exampleCard));
    const told = cards.length ? "Drawn by a hash, not chosen; the explorer has every turn." : "No turn has a verdict that may be shown.";
    at("examples").replaceChildren(...cards, make("p", { class: "soft drawn" }, told));
  } catch (error) {
    at("examples").replaceChildren(make("p", { class: "notice" }, error.message));
  }
}
