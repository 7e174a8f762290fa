// Two cells side by side, item by item: two models, or one at two temperatures or under two perturbations.
const SHOWN_SIDES = [["flips", "Turns that flip"], ["a", "Genuine in A alone"], ["b", "Genuine in B alone"], ["labels", "Turns with different labels"], ["all", "All items of both"]];
const FITS_SIDES = {
  flips: ([a, b]) => isGenuine(a) !== isGenuine(b), a: ([a, b]) => isGenuine(a) && !isGenuine(b), b: ([a, b]) => !isGenuine(a) && isGenuine(b),
  labels: ([a, b]) => a !== b, all: () => true,
};

// Without a choice: the first two models, or what else there are two of.
function usualSides() {
  const second = (names, before) => (before || names.length < 2 ? names[0] : names[1]);
  const hasModels = study.models.length > 1;
  const hasTemperatures = study.temperatures.length > 1;
  const one = { m: study.models[0], t: study.temperatures[0], p: study.perturbations[0] };
  return { a: one, b: { m: second(study.models), t: second([one.t, study.temperatures.at(-1)], hasModels || !hasTemperatures), p: second(study.perturbations, hasModels || hasTemperatures) } };
}

const SIDE_FIELDS = { m: ["model", study.models], t: ["temperature", study.temperatures], p: ["perturbation", study.perturbations] };
const hasSides = cells.length > 1;

function sideControls(side) {
  return make("fieldset", { class: "controls side" }, make("legend", null, side.toUpperCase()), Object.entries(SIDE_FIELDS).map(([field, [title, names]]) => choice(`${side}${field}`, title, names.map((name) => [name, words(name)]))));
}

// What the address asks for, the usual where it asks for nothing that the study has.
function sidesOf(query) {
  const usual = usualSides();
  const of = (side) => Object.fromEntries(Object.entries(SIDE_FIELDS).map(([field, [, names]]) => [field, names.map(String).includes(query.get(side + field)) ? query.get(side + field) : String(usual[side][field])]));
  const known = (name, names) => (names.includes(query.get(name)) ? query.get(name) : names[0]);
  const readable = study.datasets.filter((name) => !study.private.includes(name));
  const shown = known("show", SHOWN_SIDES.map(([name]) => name));
  return { a: of("a"), b: of("b"), dataset: known("dataset", [...readable, ...study.datasets]), judge: known("judge", [study.judge, ...study.judges]), show: shown };
}

const cellOf = (dataset, { m, t, p }) => cellByPath.get([m, dataset, `t${t}`, p].join("/"));

// The turns of both cells, in pairs of the same item and sample that the judge labelled in both.
async function pairedTurns(a, b, judge) {
  const [first, second] = await Promise.all([a, b].map((cell) => readCell(cell, () => {}, () => false)));
  const others = new Map(second.map((turn) => [`${turn.sample} ${turn.item}`, turn]));
  const label = (turn) => turn.verdicts[judge].label;
  return first.map((turn) => [turn, others.get(`${turn.sample} ${turn.item}`)]).filter(([one, other]) => other && label(one) !== null && label(other) !== null)
    .map((turns) => ({ turns, labels: turns.map(label) }));
}

function sidesTable(pairs, link) {
  const n = (fits) => pairs.filter(({ labels }) => fits(labels)).length;
  const square = (show, fits) => make("td", { class: "number" }, make("a", { href: link(show), "aria-label": `${show}: ${plural(n(fits), "item")}` }, whole(n(fits))));
  const plain = (fits) => make("td", { class: "number same" }, whole(n(fits)));
  const head = (text) => make("th", { scope: "col" }, text);
  return make("div", { class: "scroll narrow" }, make("table", { class: "pairs" }, make("thead", null, make("tr", null, head("A ↓ B →"), head("genuine"), head("not genuine"))),
    make("tbody", null, make("tr", null, make("th", { scope: "row" }, "genuine"), plain(([a, b]) => isGenuine(a) && isGenuine(b)), square("a", FITS_SIDES.a)),
      make("tr", null, make("th", { scope: "row" }, "not genuine"), square("b", FITS_SIDES.b), plain(([a, b]) => !isGenuine(a) && !isGenuine(b))))));
}

function sideNode(name, turn, label) {
  return make("section", null, make("h2", null, name, " ", badge(label)), make("p", { class: turn.cell.isPrivate ? "text soft" : "text", dir: "auto" }, shortened(shownAs(turn), 600)), make("a", { href: turnAddress(turn) }, "Read all of it"));
}

function pairRow({ turns, labels }) {
  const context = make("span", { class: "context soft", near: () => fillContext(turns[0], context).catch(() => {}) });
  if (!turns[0].cell.isPrivate) nearby.observe(context);
  return make("li", { class: "pair-row" }, make("span", { class: "where" }, turns[0].item, turns[0].sample ? ` #${turns[0].sample}` : ""), turns[0].cell.isPrivate ? null : context,
    make("div", { class: "two" }, sideNode("A", turns[0], labels[0]), sideNode("B", turns[1], labels[1])));
}

const sidesCsv = (pairs) => csvOf([["item", "sample", "label A", "label B", "turn A", "turn B"], ...pairs.map(({ turns: [a, b], labels }) => [a.item, a.sample, ...labels.map(labelName), a.text, b.text])]);

function sidesView() {
  let found = [];
  let most = PAGE;
  const list = make("ol", { class: "turns" });
  const table = make("div");
  const state = make("p", { class: "state", role: "status" });
  const more = make("button", { type: "button", click: () => { most += PAGE; showPairs(); } }, `Show ${PAGE} more`);
  const form = make("form", { class: "controls", "aria-label": "What stands side by side", change: () => go(["sides"], Object.fromEntries(new FormData(form))), submit: (event) => event.preventDefault() },
    choice("dataset", "dataset", study.datasets.map((d) => [d, d])), ...(study.judges.length > 1 ? [choice("judge", "judge", study.judges.map((j) => [j, j]))] : []), choice("show", "show", SHOWN_SIDES), sideControls("a"), sideControls("b"));

  function showPairs() {
    list.replaceChildren(...found.slice(0, most).map(pairRow));
    more.hidden = found.length <= most;
  }

  async function fill(wanted) {
    const mine = latest;
    const [a, b] = [wanted.a, wanted.b].map((side) => cellOf(wanted.dataset, side));
    if (!a || !b) throw new Error("This study lacks one of the two cells.");
    state.textContent = "Loading";
    const judge = study.judges.indexOf(wanted.judge);
    const pairs = await pairedTurns(a, b, judge);
    if (latest !== mine) return; // the reader went on
    found = pairs.filter(({ labels }) => FITS_SIDES[wanted.show](labels));
    most = PAGE;
    listed = { cell: null, turns: found.map(({ turns }) => turns[0]) };
    const link = (show) => address(["sides"], { ...Object.fromEntries(new FormData(form)), show });
    table.replaceChildren(sidesTable(pairs, link));
    state.textContent = `${plural(found.length, "item")} of ${whole(pairs.length)} that ${wanted.judge} labelled in both. A: ${nameOf(a)}; B: ${nameOf(b)}.`;
    showPairs();
  }

  return {
    title: "Side by side",
    node: make("section", null, make("h1", { tabindex: "-1" }, "Side by side, item by item"), form, table,
      buttonsThat("The listed items as a file", [["CSV", () => { download(sidesCsv(found), "side-by-side.csv", "text/csv"); return `${plural(found.length, "item")} saved`; }]]), state, list, more, privateNote()),
    async update(query) {
      const wanted = sidesOf(query);
      const { a, b, ...rest } = wanted;
      for (const [side, fields] of Object.entries({ a, b })) for (const [field, value] of Object.entries(fields)) form.elements[side + field].value = value;
      for (const [name, value] of Object.entries(rest)) if (form.elements[name]) form.elements[name].value = value;
      try {
        await fill(wanted);
      } catch (error) {
        for (const part of [list, table]) part.replaceChildren();
        state.textContent = error.message;
      }
    },
  };
}
