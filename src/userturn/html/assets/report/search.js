// Search over all cells: their files are read one by one, and it can be stopped at any time.
const MOST_HITS = 300;

function searchView() {
  let generation = 0;
  const list = make("ol", { class: "turns" });
  const state = make("p", { class: "state", role: "status" });
  const progress = make("progress", { max: "1", value: "0", "aria-label": "Cells searched" });
  const stop = make("button", { type: "button", disabled: true, click: () => { generation += 1; stop.disabled = true; state.textContent += " Stopped."; } }, "Stop");
  const form = make("form", { class: "controls", "aria-label": "What is sought", submit: (event) => { event.preventDefault(); begin(); } },
    turnControls(true), choice("p", "perturbation", anyOf("all perturbations", study.perturbations)), make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, "Search"), stop));
  form.elements.p.closest("label").dataset.any = "";

  // The same search again is no new address.
  function begin() {
    const wanted = address(["search"], formValues(form));
    if (wanted === location.hash) route();
    else location.replace(wanted);
  }

  async function run(query) {
    const mine = ++generation;
    const wanted = wantedBy(query);
    const places = cells.filter((cell) => [["model", cell.model], ["dataset", cell.dataset], ["t", cell.temperature], ["p", cell.perturbation]].every(([name, value]) => !query.get(name) || query.get(name) === value) && mayHold(cell, wanted));
    const hits = [];
    let nRead = 0;
    list.replaceChildren();
    progress.max = Math.max(1, places.length);
    stop.disabled = false;
    for (const cell of places) {
      for (let part = 0; part < cell.nParts; part += 1) {
        const found = await chosenOf(await readPart(cell, part), wanted);
        if (mine !== generation) return;
        const room = found.slice(0, MOST_HITS - hits.length);
        hits.push(...room);
        list.append(...room.map((turn) => turnRow(turn, query, wanted.text, true)));
      }
      nRead += 1;
      progress.value = nRead;
      state.textContent = `${plural(hits.length, "turn")} found in ${whole(nRead)} of ${plural(places.length, "cell")}.`;
      if (hits.length >= MOST_HITS) break;
    }
    if (!places.length) state.textContent = "No cell can contain such a turn.";
    else if (hits.length >= MOST_HITS) state.textContent += ` Stopped at ${whole(MOST_HITS)}: narrow the search to see others.`;
    else state.textContent += " Done.";
    listed = { cell: null, turns: hits };
    stop.disabled = true;
  }

  return {
    title: "Search over all cells",
    node: make("section", null, make("h1", { tabindex: "-1" }, "Search over all cells"), form, make("div", { class: "progress" }, progress, state), list, privateNote()),
    async update(query) {
      setForm(form, query);
      if (nothingWanted(wantedBy(query))) {
        generation += 1;
        list.replaceChildren();
        state.textContent = "Choose a text, a label or another filter. Private texts are not searched.";
        return;
      }
      try {
        await run(query);
      } catch (error) {
        state.textContent = error.message;
        stop.disabled = true;
      }
    },
    leave() { generation += 1; },
  };
}
