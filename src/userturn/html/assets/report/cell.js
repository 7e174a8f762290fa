// One cell: what its turns were called, and the turns themselves, filtered.
const PAGE = 50;
let listed = { cell: null, turns: [] }; // what a turn's neighbours are, in the list it was opened from

function crumbs(...parts) {
  return make("nav", { class: "crumbs", "aria-label": "Where this is" }, parts.map(([text, href]) => (href ? make("a", { href }, text) : make("span", { "aria-current": "page" }, text))));
}

const nameOf = (cell) => `${cell.model} · ${cell.dataset} · temperature ${cell.temperature} · ${words(cell.perturbation)}`;

function labelBars(cell, chooseLabel) {
  return study.judges.map((judge, number) => {
    const nScored = total(cell.counts[number]);
    const rate = cell.rates[number];
    const parts = [...cell.counts[number].map((n, label) => [n, label]), [cell.n - nScored, null]].filter(([n]) => n);
    const bar = make("div", { class: "bar-of-labels", "aria-hidden": "true" }, parts.map(([n, label]) => patterned(label, { "--part": n })));
    const buttons = parts.map(([n, label]) => make("button", { type: "button", class: "count", click: () => chooseLabel(label === null ? "unscored" : study.labels[label], judge) }, patterned(label, { "aria-hidden": "true" }), badge(label), make("span", null, whole(n))));
    const told = rate && rate[0] !== null ? `${percent(rate[0])} ${interval(rate[1], rate[2])} genuine, ${whole(nScored)} of ${whole(cell.n)} scored` : `${whole(nScored)} of ${whole(cell.n)} scored`;
    return make("div", { class: "of-judge" }, make("p", null, make("strong", null, judge), unbroken(` ${told}`)), bar, make("p", { class: "badges" }, buttons));
  });
}

function neighbours(cell) {
  const links = (title, path, names, current) => make("p", { class: "switch" }, make("span", { class: "soft" }, title), names.map((name) => {
    const found = cellByPath.get(path(name).join("/"));
    return found ? make("a", { href: address(["cell", ...found.path]), "aria-current": name === current ? "true" : null }, words(name)) : null;
  }));
  return [
    links("temperature", (t) => [cell.model, cell.dataset, `t${t}`, cell.perturbation], study.temperatures, cell.temperature),
    links("perturbation", (p) => [cell.model, cell.dataset, `t${cell.temperature}`, p], study.perturbations, cell.perturbation),
  ];
}

async function readCell(cell, progress, isStale) {
  const turns = [];
  for (let part = 0; part < cell.nParts && !isStale(); part += 1) {
    turns.push(...await readPart(cell, part));
    progress(part + 1);
  }
  return turns;
}

function cellView(cell) {
  let turns = null;
  const list = make("ol", { class: "turns" });
  const state = make("p", { class: "state", role: "status" });
  const pages = make("nav", { class: "pages", "aria-label": "Pages of turns" });
  const path = ["cell", ...cell.path];
  const refine = (more) => go(path, { seed: parsed()[1].get("seed"), ...formValues(form), ...more });
  const form = make("form", { class: "controls", "aria-label": "Which turns are shown", input: later(() => refine({})), submit: (event) => event.preventDefault() }, turnControls(false));
  const chooseLabel = (label, judge) => refine({ label, judge: judge === study.judge ? "" : judge });

  function showPage(chosen, query) {
    const sought = wantedBy(query).sought;
    const page = Math.min(Math.max(0, Number(query.get("page") ?? 1) - 1 || 0), Math.max(0, Math.ceil(chosen.length / PAGE) - 1));
    list.start = page * PAGE + 1;
    list.replaceChildren(...chosen.slice(page * PAGE, (page + 1) * PAGE).map((turn) => readingRow(turn, query, sought, false)));
    const step = (text, to, enabled) => make("button", { type: "button", disabled: !enabled, click: () => { refine({ page: to ? to + 1 : "" }); list.scrollIntoView({ block: "start" }); } }, text);
    const last = Math.ceil(chosen.length / PAGE) - 1;
    pages.replaceChildren(...(last > 0 ? [step("Previous", page - 1, page > 0), make("span", null, `${page + 1} of ${last + 1}`), step("Next", page + 1, page < last)] : []));
    state.textContent = chosen.length === cell.n ? plural(cell.n, "turn") : `${whole(chosen.length)} of ${plural(cell.n, "turn")}`;
  }

  return {
    title: nameOf(cell),
    node: make("section", null, crumbs(["Grid", address(["grid"])], [nameOf(cell)]), make("h1", { tabindex: "-1" }, cell.model, make("small", null, `${cell.dataset} · temperature ${cell.temperature} · ${words(cell.perturbation)}`)),
      make("div", { class: "switches" }, neighbours(cell)), make("div", { class: "judges" }, labelBars(cell, chooseLabel)), cell.isPrivate ? privateNote() : null, form, make("div", { class: "buttons export" }, shuffleButton(refine), exportBar()), state, list, pages),
    async update(query) {
      const mine = latest;
      setForm(form, query);
      if (!turns) listed = { cell, turns: [] }; // no longer those of the view before
      try {
        turns ??= await readCell(cell, (n) => { state.textContent = `Loading, ${n} of ${cell.nParts} files`; }, () => false);
        const chosen = await readingList(turns, query);
        if (latest !== mine) return; // the reader went on
        listed = { cell, turns: chosen, query: query.toString() };
        showPage(chosen, query);
      } catch (error) {
        state.textContent = error.message;
      }
    },
  };
}
