const rows = () => ids.filter((id) => id in state.labels).map((id) => ({ id, label: state.labels[id], notes: state.notes[id] || "", unsure: Boolean(state.unsure[id]), seconds: state.seconds[id] ?? null }));
const asCsv = () => csvOf([["round", "annotator", "id", "label", "notes", "unsure", "seconds"], ...rows().map((row) => [data.round, state.annotator, row.id, row.label, row.notes, row.unsure, row.seconds])]);
const asJson = () => JSON.stringify({ format: "userturn annotations 1", round: data.round, annotator: state.annotator, annotations: rows() }, null, 1) + "\n";

function save(text, ending, kind) {
  catchUp();
  at("file-notice").textContent = "";
  const safe = state.annotator.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  download(text, `${data.round}-${safe}.${ending}`, kind);
  unsaved = false;
  say("Saved.");
}

async function load(file) {
  const notice = at("file-notice");
  let found;
  try { found = JSON.parse(await file.text()); } catch { found = null; }
  if (!found || !Array.isArray(found.annotations)) notice.textContent = "That file was not saved as JSON by this page.";
  else if (found.round !== data.round) notice.textContent = `That file is of round ${found.round}, this page of round ${data.round}.`;
  else if (found.annotator !== state.annotator) notice.textContent = `That file has the labels of ${found.annotator}, this page those of ${state.annotator}: choose "Somebody else" first.`;
  else {
    catchUp();
    const taken = found.annotations.filter((row) => known.has(row.id) && names.includes(row.label));
    let nReplaced = 0;
    for (const row of taken) {
      const before = state.labels[row.id] ?? row.label;
      if (before !== row.label) nReplaced += 1;
      if (before !== row.label || !(row.id in state.labels)) change(row.id, "labels", row.label);
      if (row.notes && row.notes !== state.notes[row.id]) change(row.id, "notes", String(row.notes));
      if (row.unsure === true) change(row.id, "unsure", true);
      if (Number.isFinite(row.seconds)) state.seconds[row.id] = row.seconds;
    }
    remember();
    showFile();
    show(false);
    notice.textContent = `${plural(taken.length, "label")} loaded, ${found.annotations.length - taken.length} left out.`
      + (nReplaced ? ` ${plural(nReplaced, "label")} replaced yours: Undo brings each of yours back.` : "");
  }
}

function showFile() {
  const left = ids.length - nDone();
  at("name").textContent = state.annotator;
  at("state").textContent = left ? `${plural(left, data.unit)} without a label.` : `All ${data.unit}s are labelled.`;
}

function openFile() {
  showFile();
  at("file-notice").textContent = "";
  cover("file");
}
