// The two turns on the first screen, drawn by hash: one that the primary judge accepts, one it rejects.
const LONGEST_EXCERPT = 400; // letters of a turn
const LONGEST_CONTEXT = 140; // of the question and answer before it, so that the turn is on the first screen

function excerptOf(text, fromEnd, most = LONGEST_EXCERPT) {
  const letters = [...text.trim()];
  if (letters.length <= most) return letters.join("");
  return fromEnd ? `… ${letters.slice(-most).join("").replace(/^\S{0,20}\s/, "")}` : `${letters.slice(0, most).join("").replace(/\s\S{0,20}$/, "")} …`; // whole words
}

const contextOf = (text, fromEnd) => excerptOf(text.replace(/\s+/g, " "), fromEnd, LONGEST_CONTEXT);

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
    make("h2", null, isGenuineTurn ? "Accepted, unchecked" : "Rejected, unchecked", " ", badge(verdict.label)),
    make("dl", null, speech("question", contextOf(question, false)), speech(prompt.isAnswerCut ? "answer, cut at the token limit" : "answer", contextOf(prompt.shown ?? "", true)),
      make("dt", { class: "of-turn" }, "the user turn it wrote"), make("dd", { class: "text turn", dir: "auto" }, withTokens(excerptOf(turn.text, false), "", false))),
    verdict.rationale ? make("p", { class: "soft why" }, `${study.judge}: `, make("bdi", null, verdict.rationale)) : null,
    make("p", { class: "soft" }, make("a", { href: turnAddress(turn) }, "Read all"), ` · ${cell.model} · ${cell.dataset} · temperature ${cell.temperature}`));
}

async function showExamples() {
  if (at("examples").childElementCount) return;
  at("examples").append(make("p", { class: "state" }, "Loading"));
  try {
    const cards = await Promise.all(study.examples.map(exampleCard));
    const told = cards.length ? "Drawn at random (by a hash) and unchecked: the judge may be wrong about either. The explorer has every turn." : "No turn has a verdict that may be shown.";
    at("examples").replaceChildren(...cards, make("p", { class: "soft drawn" }, told));
  } catch (error) {
    at("examples").replaceChildren(noticeOf(error));
  }
}
