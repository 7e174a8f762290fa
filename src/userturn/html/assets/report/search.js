// Search over all cells: their files are read one by one, and it can be stopped at any time.
const MOST_HITS = 300;

// A random sample of all turns that are added, whatever their order: those with the smallest hashes.
function sampleOf(most, seed) {
  let kept = [];
  let n = 0;
  const cut = () => { kept = kept.sort(([a], [b]) => a - b).slice(0, most); };
  return {
    add(turn) {
      n += 1;
      kept.push([drawOf(turn, seed), turn]);
      if (kept.length >= 4 * most) cut();
    },
    n: () => n,
    turns() { cut(); return kept.map(([, turn]) => turn); },
  };
}

function searchView() {
  let generation = 0;
  const list = make("ol", { class: "turns" });
  const state = make("p", { class: "state", role: "status" });
  const progress = make("progress", { max: "1", value: "0", "aria-label": "Cells searched" });
  const stop = make("button", { type: "button", disabled: true, click: () => { generation += 1; stop.disabled = true; state.textContent += " Stopped."; } }, "Stop");
  const form = make("form", { class: "controls", "aria-label": "What to search for", submit: (event) => { event.preventDefault(); begin(); } },
    turnControls(true), make("div", { class: "buttons" }, make("button", { type: "submit", class: "main" }, "Search"), stop, shuffleButton(begin)));

  // The same search again is no new address.
  function begin(more) {
    const wanted = address(["search"], { seed: parsed()[1].get("seed"), ...formValues(form), ...more });
    if (wanted === location.hash) route();
    else location.replace(wanted);
  }

  // Reads all places; yields how many were read, and the turns found in the last file.
  async function* read(places, wanted) {
    for (const [i, cell] of places.entries()) {
      for (let part = 0; part < cell.nParts; part += 1) {
        yield [i + (part === cell.nParts - 1 ? 1 : 0), await foundIn(cell, part, wanted)];
      }
    }
  }

  function showTurns(turns, query) {
    listed = { cell: null, turns: inReadingOrder(turns, query) };
    list.replaceChildren(...listed.turns.map((turn) => readingRow(turn, query, wantedBy(query).sought, true)));
  }

  async function run(query) {
    const mine = ++generation;
    const wanted = wantedBy(query);
    const places = cells.filter((cell) => isIn(cell, query) && mayHold(cell, wanted));
    const drawn = sampleOf(MOST_HITS, query.get("seed") ?? "1");
    const first = [];
    listed = { cell: null, turns: first };
    list.replaceChildren();
    progress.max = Math.max(1, places.length);
    stop.disabled = false;
    for await (const [nRead, found] of read(places, wanted)) {
      if (mine !== generation) return;
      const room = found.slice(0, MOST_HITS - first.length);
      first.push(...room);
      found.forEach(drawn.add);
      list.append(...room.map((turn) => readingRow(turn, query, wanted.sought, true)));
      progress.value = nRead;
      state.textContent = `${plural(drawn.n(), "turn")} found in ${whole(nRead)} of ${plural(places.length, "cell")}.`;
    }
    if (mine !== generation) return;
    showTurns(drawn.n() > MOST_HITS ? drawn.turns() : first, query);
    if (!places.length) state.textContent = "No cell can contain such a turn.";
    else state.textContent += drawn.n() > MOST_HITS ? ` Below are ${whole(MOST_HITS)} of them, drawn at random; Shuffle draws others.` : " Done.";
    stop.disabled = true;
  }

  return {
    title: "Search over all cells",
    node: make("section", null, make("h1", { tabindex: "-1" }, "Search over all cells"), form, make("div", { class: "progress" }, progress, state), exportBar(), list, privateNote()),
    async update(query) {
      setForm(form, query);
      if (nothingWanted(wantedBy(query))) {
        generation += 1;
        listed = { cell: null, turns: [] };
        list.replaceChildren();
        state.textContent = "Enter a text, or choose a label or another filter. Private texts are not searched.";
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
