// One turn: the exact prompt, what the perturbation changed, what the model wrote, what was said of it.
const TOKEN = /<\|[^<>|\s]{1,40}\|>|<\/?(?:s|bos|eos|pad|think|start_of_turn|end_of_turn)>|\[\/?(?:INST|THINK|gMASK|SYSTEM_PROMPT)\]|<｜[^<>｜]{1,40}｜>|<sop>/gu;

// Special tokens are marked by their form; in the template's own text line ends are visible too.
function withTokens(text, sought, isTemplate) {
  const parts = [];
  const plain = (piece) => parts.push(...(isTemplate ? piece.split(/(?<=\n)/).flatMap((line) => (line.endsWith("\n") ? [...marked(line.slice(0, -1), sought), make("span", { class: "line-end" }, "\n")] : marked(line, sought))) : marked(piece, sought)));
  let from = 0;
  for (const found of text.matchAll(TOKEN)) {
    plain(text.slice(from, found.index));
    parts.push(make("span", { class: "token" }, found[0]));
    from = found.index + found[0].length;
  }
  plain(text.slice(from));
  return parts;
}

const SHOWN_AT_ONCE = 50_000; // characters: a browser takes seconds to lay out a million

// A text, of which a long one is shown in full when a reader asks for it.
function longText(attributes, text, nodesOf) {
  const node = make("div", { class: "text", dir: "auto", ...attributes }, nodesOf(text.slice(0, SHOWN_AT_ONCE)));
  if (text.length <= SHOWN_AT_ONCE) return [node];
  const more = make("button", { type: "button", click: () => { node.replaceChildren(...nodesOf(text)); more.remove(); } }, `Show all ${whole(text.length)} characters`);
  return [node, more];
}

function promptNode(parts, sought) {
  return make("div", { class: "prompt" }, parts.map(({ writer, text }) => (writer === "template"
    ? make("div", { class: "template" }, withTokens(text, sought, true))
    : make("div", { class: `said ${writer}` }, make("span", { class: "writer", "aria-hidden": "true" }, writer), longText({}, text, (shown) => marked(shown, sought))))));
}

const CHANGES = { same: "span", removed: "del", added: "ins" };

function changeNode(turn, prompt) {
  if (prompt.shown === null) return make("p", null, "No answer is shown: the prompt has no conversation.");
  if (prompt.answer === null) return make("p", null, "The model has no answer to compare with.");
  if (prompt.answer === prompt.shown) return make("p", null, "The answer is shown as the model wrote it.");
  const runs = difference(prompt.answer, prompt.shown);
  const n = (kind) => total(runs.filter(([k]) => k === kind).map(([, text]) => wordsOf(text).filter((w) => w.trim()).length));
  return [make("p", { class: "soft" }, `${plural(n("removed"), "word")} removed, ${plural(n("added"), "word")} added.`),
    make("div", { class: "text difference", dir: "auto" }, runs.map(([kind, text]) => make(CHANGES[kind], null, text)))];
}

function verdictNodes(turn, sought) {
  return turn.verdicts.map((verdict, i) => make("div", { class: "verdict" }, make("h3", null, study.judges[i]), badge(verdict.label),
    verdict.rationale ? make("p", { class: "text", dir: "auto" }, marked(verdict.rationale, sought)) : null,
    verdict.reason ? make("p", { class: "text soft", dir: "auto" }, marked(verdict.reason, sought)) : null));
}

function peopleNodes(turn) {
  if (!turn.people.length) return [make("p", { class: "soft" }, "Nobody labelled this turn.")];
  return turn.people.map(({ who, label, notes }) => make("div", { class: "verdict" }, make("h3", null, who), badge(label), notes ? make("p", { class: "text", dir: "auto" }, notes) : null));
}

async function findTurn(cell, item, sample) {
  for (let part = 0; part < cell.nParts; part += 1) {
    const found = (await readPart(cell, part)).find((turn) => turn.item === item && turn.sample === sample);
    if (found) return found;
  }
  return null;
}

function steps(turn, query) {
  const position = listed.cell === turn.cell || listed.cell === null ? listed.turns.findIndex((t) => t.cell === turn.cell && t.item === turn.item && t.sample === turn.sample) : -1;
  const to = (step) => (position < 0 ? undefined : listed.turns[position + step]);
  const link = (text, step, key) => (to(step) ? make("a", { class: "step", href: turnAddress(to(step), query), "data-key": key, "aria-keyshortcuts": key }, text) : make("span", { class: "step", "aria-disabled": "true" }, text));
  return make("nav", { class: "steps", "aria-label": "Neighbours in the list" }, link("← Previous", -1, "k"), position < 0 ? null : make("span", { class: "soft" }, `${whole(position + 1)} of ${whole(listed.turns.length)}`), link("Next →", 1, "j"));
}

async function turnParts(turn, query) {
  const { sought, everything } = wantedBy(query);
  const prompt = turn.cell.isPrivate ? null : await readPrompt(turn);
  const written = turn.cell.isPrivate ? make("p", { class: "soft" }, NOT_SHOWN)
    : turn.error !== null ? make("p", null, `Error: ${turn.error}`)
      : turn.text ? longText({ id: "turn-text" }, turn.text, (shown) => withTokens(shown, sought, false)) : make("p", { class: "soft" }, "The model wrote no text.");
  const graded = prompt ? { true: "Right", false: "Wrong", null: "Not graded" }[String(prompt.correct)] : null;
  const facts = [["outcome", OUTCOMES.find(([name]) => name === study.outcomes[turn.outcome])[1] + (turn.isCut ? ", cut at the length limit" : "")], ["sample", String(turn.sample)], ...(turn.isCopy ? [["a copy", make("a", { href: address(["cell", ...turn.cell.path], { outcome: "copy", sort: "text" }) }, "Word for word the turn after another item")]] : []), ...(turn.gain === null ? [] : [["gain from the answer", `${signed(turn.gain)} nats a token`]]), ...(graded ? [["the answer is", graded]] : []), ...(prompt?.isAnswerCut ? [["the answer before it", "Cut at the token limit, so the turn reacts to half a text"]] : [])];
  return [
    make("div", { class: "reading" },
      prompt && prompt.parts.length ? make("section", null, make("h2", null, "The prompt, as the model saw it"), promptNode(prompt.parts, everything || !sought?.pattern ? sought : null)) : null,
      make("section", { class: "user-turn" }, make("h2", null, "The user turn it wrote"), written),
      turn.tokens.length ? make("section", null, make("h2", null, "How much the answer helped the model predict it"), tokensNode(turn.tokens, turn.gain)) : null,
      prompt ? make("section", null, make("h2", null, `Perturbation: ${words(turn.cell.perturbation)}`), changeNode(turn, prompt)) : null,
      besideNode(turn, Object.fromEntries(query))),
    make("aside", { "aria-label": "Verdicts on it" },
      make("section", null, make("h2", null, "Judges"), judgesDiffer(turn) ? make("p", { class: "differ" }, "The judges differ.") : null, verdictNodes(turn, sought)),
      make("section", null, make("h2", null, "People"), peopleNodes(turn)),
      make("section", null, make("h2", null, "Facts"), make("dl", { class: "facts" }, facts.map(([name, value]) => [make("dt", null, name), make("dd", null, value)]).flat())),
      sameElsewhere(turn, Object.fromEntries(query))),
  ];
}

function turnView(cell, item, sample) {
  const body = make("div", { class: "turn-view" }, make("p", { class: "state" }, "Loading"));
  const top = make("div", { class: "top" });
  return {
    title: `${item} · ${nameOf(cell)}`,
    node: make("section", null, top, make("h1", { tabindex: "-1" }, item, make("small", null, nameOf(cell))), cell.isPrivate ? privateNote() : null, body),
    async update(query) {
      const mine = latest;
      const values = Object.fromEntries(query);
      const back = crumbs(["Grid", address(["grid"])], [nameOf(cell), address(["cell", ...cell.path], values)], [item]);
      try {
        const turn = await findTurn(cell, item, sample);
        top.replaceChildren(back);
        if (!turn) {
          body.replaceChildren(make("p", null, `This cell has no item “${item}” with sample ${sample}.`));
          return;
        }
        const isOther = listed.cell !== null && (listed.cell !== cell || listed.query !== query.toString());
        if (isOther || !listed.turns.length) {
          const turns = await readingList(await readCell(cell, () => {}, () => false), query);
          if (latest !== mine) return; // the reader went on
          listed = { cell, turns, query: query.toString() };
        }
        const parts = await turnParts(turn, query);
        const link = buttonsThat("This turn", [["Copy link", () => copied(location.href, "The link to this turn is")]]);
        top.replaceChildren(back, steps(turn, values), link);
        body.replaceChildren(...parts);
      } catch (error) {
        body.replaceChildren(noticeOf(error));
      }
    },
  };
}
