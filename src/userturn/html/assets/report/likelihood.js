// Reference follow-ups, and how much the answer before them helped each model to expect them.
const HELP = [0.1, 0.5, 2]; // nats from which a token is marked, more, and most
const FOLLOW_UPS = 20; // shown at once
const HELP_NAMES = ["a little", "clearly", "strongly"];

// A mark is a colour and a line below it: whole where the answer helped, dotted where it misled.
function helpClass(help) {
  const level = HELP.filter((least) => Math.abs(help) >= least).length;
  return level ? `${help > 0 ? "helped" : "misled"} by-${level}` : null;
}

function tokensText(tokens) {
  const shown = (text, help) => [helpClass(help), /^\n+$/.test(text) ? "line-end" : null].filter(Boolean).join(" ");
  return make("div", { class: "text tokens", dir: "auto" }, tokens.map(({ text, own, others }) => make("span", {
    class: shown(text, own - others) || null, title: `${signed(own - others)} nats: ${decimal(own)} after its own answer, ${decimal(others)} after others`,
  }, text)));
}

function helpLegend() {
  const marks = (kind, sign) => HELP.map((least, i) => make("span", { class: `${kind} by-${i + 1}` }, `${sign}${least} ${HELP_NAMES[i]}`));
  return make("p", { class: "help-legend" }, make("span", { class: "soft" }, "Nats by which the answer made a token likelier, whole line:"), marks("helped", "+"), make("span", { class: "soft" }, "or less likely, dotted line:"), marks("misled", "−"));
}

function tokenTable(tokens) {
  const head = ["token", "own answer", "others", "difference"].map((name, i) => make("th", { scope: "col", class: i ? "number" : null }, name));
  const row = ({ text, own, others }) => make("tr", null, make("td", { class: "text" }, JSON.stringify(text).slice(1, -1)), [own, others, own - others].map((value) => make("td", { class: "number" }, signed(value))));
  return make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Log-likelihood of each token" }, make("table", { class: "numbers" }, make("thead", null, make("tr", null, head)), make("tbody", null, tokens.map(row))));
}

// Content is made when it is opened: a page has many tables of tokens.
function folded(title, content) {
  const body = make("div");
  return make("details", { toggle: (event) => { if (event.target.open && !body.childElementCount) body.append(...content()); } }, make("summary", null, title), body);
}

function tokensNode(tokens, gain) {
  return [helpLegend(), tokensText(tokens), make("p", { class: "soft" }, `On average ${signed(gain)} nats a token.`), folded("Log-likelihood of each token in nats", () => [tokenTable(tokens)])];
}

const followUps = study.followUps.map(([model, dataset, n, isPrivate], number) => ({ model, dataset, n, isPrivate: isPrivate === 1, number }));

async function readFollowUps(list) {
  const parts = Array.from({ length: Math.ceil(list.n / study.rows) }, (_, part) => readFile(`follow-ups-${list.number}-${part}`));
  return (await Promise.all(parts)).flatMap(({ texts, rows }) => rows.map(([item, gain, nOthers, identified, tokens, said]) => ({
    item: texts[item], gain: gain / 1000, nOthers, isIdentified: identified === 1, tokens: tokensOf(tokens),
    said: Array.from({ length: said.length / 2 }, (_, i) => ({ writer: study.writers[said[2 * i]], text: texts[said[2 * i + 1]] })),
  })));
}

function followUpCard(turn) {
  const answer = turn.said.at(-1)?.text ?? "";
  const question = turn.said.at(-2)?.text ?? "";
  const others = turn.nOthers === 1 ? "the other answer" : `each of ${turn.nOthers} other answers`;
  return make("li", { class: "example" },
    make("h2", null, turn.item, make("span", { class: "soft" }, `${signed(turn.gain)} nats a token`)),
    make("dl", null, speech("question", excerptOf(question, false)), speech("answer", excerptOf(answer, true)),
      make("dt", null, "the next user turn"), make("dd", { class: "turn" }, tokensText(turn.tokens))),
    make("p", { class: "soft" }, `The turn is ${turn.isIdentified ? "" : "not "}likelier after this answer than after ${others}.`),
    folded("Log-likelihood of each token in nats", () => [tokenTable(turn.tokens)]),
    folded("The whole conversation", () => turn.said.map(({ writer, text }) => make("div", { class: `said ${writer}` }, make("span", { class: "writer" }, writer), make("div", { class: "text", dir: "auto" }, text)))));
}

const GAIN_ORDERS = [["", "As in the dataset"], ["most", "Highest gain first"], ["least", "Lowest gain first"]];

function inOrderOfGain(turns, order) {
  if (!order) return turns;
  return [...turns].sort((a, b) => (order === "most" ? b.gain - a.gain : a.gain - b.gain));
}

function disagreements() {
  if (!cells.some((cell) => cell.nGains)) return null;
  const link = (gain, text) => make("a", { href: address(["search"], { gain }) }, text);
  return make("p", null, "Of the turns that models wrote themselves, judge and likelihood disagree where the gain is in the ", link("high", "highest quarter but the turn is called not genuine"), ", and where it is in the ", link("low", "lowest quarter but the turn is called genuine"), ". Quarters are those of a model's scored turns at one temperature.");
}

function likelihoodView() {
  const list = make("ol", { class: "follow-ups" });
  const state = make("p", { class: "state", role: "status" });
  const pages = make("nav", { class: "pages", "aria-label": "Pages of follow-ups" });
  const names = followUps.map(({ model, dataset, number }) => [String(number), `${dataset}, by ${model}`]);
  const form = make("form", { class: "controls", "aria-label": "Which follow-ups are shown", change: () => go(["likelihood"], formValues(form)), submit: (event) => event.preventDefault() }, choice("list", "follow-ups", names), choice("order", "order", GAIN_ORDERS));

  function showPage(turns, query) {
    const last = Math.max(0, Math.ceil(turns.length / FOLLOW_UPS) - 1);
    const page = Math.min(last, Math.max(0, Number(query.get("page") ?? 1) - 1 || 0));
    list.replaceChildren(...turns.slice(page * FOLLOW_UPS, (page + 1) * FOLLOW_UPS).map(followUpCard));
    const step = (text, to) => make("button", { type: "button", disabled: to < 0 || to > last, click: () => { go(["likelihood"], { ...formValues(form), page: to ? to + 1 : "" }); window.scrollTo(0, 0); } }, text);
    pages.replaceChildren(...(last ? [step("Previous", page - 1), make("span", null, `${page + 1} of ${last + 1}`), step("Next", page + 1)] : []));
  }

  return {
    title: "What was said next",
    node: make("section", null, make("h1", { tabindex: "-1" }, "What was said next"),
      make("p", { class: "asked" }, "Did the answer help the model predict the user turn that follows it in the dataset? Each token is marked by how much likelier it is after that answer than after answers to other questions."),
      disagreements(), followUps.length ? form : null, helpLegend(), state, list, pages),
    async update(query) {
      const mine = latest;
      setForm(form, query);
      const wanted = followUps[Number(query.get("list") ?? 0)] ?? followUps[0];
      if (wanted) form.elements.list.value = String(wanted.number);
      list.replaceChildren();
      pages.replaceChildren();
      if (!wanted || wanted.isPrivate) {
        state.textContent = wanted ? `${plural(wanted.n, "follow-up")}. ${NOT_SHOWN}.` : "This study scored no reference follow-ups.";
        return;
      }
      state.textContent = "Loading";
      try {
        const turns = inOrderOfGain(await readFollowUps(wanted), query.get("order") ?? "");
        if (latest !== mine) return; // the reader went on
        const nIdentified = turns.filter((turn) => turn.isIdentified).length;
        state.textContent = `${plural(turns.length, "follow-up")}, ${whole(nIdentified)} of them likeliest after the answer that they follow`;
        showPage(turns, query);
      } catch (error) {
        state.textContent = error.message;
      }
    },
  };
}
