function build() {
  at("round").textContent = data.round;
  at("last-key").textContent = String(names.length);
  data.labels.forEach((label, index) => {
    at("labels").append(labelButton(label, index, choose));
    const example = document.createElement("li");
    const name = document.createElement("strong");
    name.textContent = label.shown;
    example.append(name, `: ${label.described}`);
    at("examples").append(example);
  });
  at("guide").append(...data.guide.map((text) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    return paragraph;
  }));
  at("rules").textContent = data.rules;
  at("ours").textContent = data.ours;
  at("undo").addEventListener("click", undo);
  at("back").addEventListener("click", () => go(state.position - 1));
  at("forward").addEventListener("click", () => go(state.position + 1));
  at("open").addEventListener("click", goToOpen);
  at("open-help").addEventListener("click", () => cover("help"));
  at("open-file").addEventListener("click", openFile);
  at("save-csv").addEventListener("click", () => save(asCsv(), "csv", "text/csv"));
  at("save-json").addEventListener("click", () => save(asJson(), "json", "application/json"));
  at("load").addEventListener("change", (event) => {
    if (event.target.files[0]) load(event.target.files[0]);
    event.target.value = ""; // so that the same file can be chosen again
  });
  at("another").addEventListener("click", askWho);
  at("who").addEventListener("close", () => { if (!state.annotator) askWho(); }); // Escape closes it
  at("begin").addEventListener("submit", () => beginAs(at("annotator").value.trim()));
  at("unsure").addEventListener("change", () => markUnsure(at("unsure").checked));
  document.addEventListener("visibilitychange", tick);
  for (const moves of ["scroll", "resize"]) window.addEventListener(moves, () => tellCovered(), { passive: true });
  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("close", tick);
  window.addEventListener("storage", () => { if (catchUp()) remember(); show(false); });
  let before = null;
  at("notes").addEventListener("focus", () => { before = state.notes[current()] ?? null; });
  at("notes").addEventListener("input", (event) => { put(current(), "notes", event.target.value.trim()); touch(current(), "notes"); remember(); });
  at("notes").addEventListener("change", () => { state.changes.push([current(), "notes", before]); remember(); });
  document.addEventListener("keydown", (event) => {
    const isWriting = event.target.matches("input:not([type=checkbox]), textarea");
    if (event.key === "Escape" && event.target === at("notes")) { at("notes").blur(); at("turn-heading").focus(); return; }
    if (at("practice").open && !event.repeat) practiceKey(event);
    if (isWriting || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const actions = { u: undo, o: goToOpen, ArrowLeft: () => go(state.position - 1), ArrowRight: () => go(state.position + 1), n: () => at("notes").focus(), s: () => markUnsure(!state.unsure[current()]), "?": () => cover("help") };
    const label = /^[1-9]$/.test(event.key) ? names[Number(event.key) - 1] : undefined;
    if (label === undefined && !(event.key in actions)) return;
    event.preventDefault();
    if (event.repeat && !event.key.startsWith("Arrow")) return; // a held key labels once
    if (label !== undefined) choose(label);
    else actions[event.key]();
  });
}

build();
buildPractice();
show(false);
const here = ofThisTab();
if (here && here.annotator in kept().people) beginAs(here.annotator);
else askWho();
