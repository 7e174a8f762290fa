// A figure as a file: its picture as SVG, or as PDF for a paper, what it shows as CSV, and the lines that put it into LaTeX.
const decoded = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
const chosenName = (name) => (isFiltered() ? `${name}-chosen` : name);

async function drawChosen(place, name) {
  const [embed, chart] = [await readFile("charts"), await readFile(`figure-${name}`)];
  const { view } = await embed(place, asChosen(chart), { ...OPTIONS, tooltip: false });
  return view;
}

// The pictures of all that the study has are in the page; what is chosen is drawn.
async function saveSvg(figure, name) {
  const pictures = isFiltered() ? [] : [...figure.querySelectorAll(".picture img")].map(({ src }) => decoded(src.split(",")[1]));
  if (pictures.length !== 1) {
    try {
      const view = await drawChosen(make("div"), name);
      pictures.splice(0, pictures.length, await view.toSVG());
    } catch (error) {
      if (!pictures.length) throw error; // without its data, a large figure is saved in the parts that paper has
    }
  }
  pictures.forEach((picture, i) => download(picture, `${chosenName(name)}${pictures.length > 1 ? `-${i + 1}` : ""}.svg`, "image/svg+xml"));
  return `${plural(pictures.length, "file")} saved`;
}

// A PDF of the whole figure is in the page. Of what is chosen, the browser prints one: that figure alone, on a page of its size.
async function savePdf(figure, name) {
  if (!isFiltered()) {
    download(decoded(figure.dataset.pdf), `${name}.pdf`, "application/pdf");
    return "1 file saved";
  }
  const [alone, size, { title }] = [make("div", { id: "alone" }), new CSSStyleSheet(), document];
  await drawChosen(alone, name);
  document.body.append(alone);
  const { width, height } = alone.querySelector("svg");
  size.replaceSync(`@page { size: ${Math.ceil(width.baseVal.value)}px ${Math.ceil(height.baseVal.value)}px; margin: 0; }`);
  document.adoptedStyleSheets.push(size);
  document.title = chosenName(name); // the name of the file
  window.addEventListener("afterprint", () => {
    alone.remove();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== size);
    document.title = title;
  }, { once: true });
  window.print();
  return "Choose “Save as PDF” where the browser asks for a printer: the page is the figure as shown.";
}

async function saveData(figure, name) {
  const rows = rowsOf(asChosen(await readFile(`figure-${name}`)));
  const columns = [...new Set(rows.flatMap(Object.keys))];
  download(csvOf([columns, ...rows.map((row) => columns.map((column) => row[column]))]), `${chosenName(name)}.csv`, "text/csv");
  return `${plural(rows.length, "row")} saved`;
}

async function copied(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    return `${what} copied`;
  } catch {
    return "The browser does not let this page copy.";
  }
}

function latexOfFigure(figure, name) {
  const caption = figure.querySelector("figcaption span").textContent.trim();
  return ["\\begin{figure}", "  \\centering", `  \\includegraphics[width=\\linewidth]{${chosenName(name)}.pdf}`, `  \\caption{${inLatex(caption)}}`, `  \\label{fig:${name}}`, "\\end{figure}", ""].join("\n");
}

// Buttons that do something, and a line that says what came of it.
function buttonsThat(name, acts) {
  const told = make("span", { class: "soft", role: "status" });
  const button = ([text, act]) => make("button", { type: "button", click: async () => {
    try {
      told.textContent = await act();
    } catch (error) {
      told.textContent = error.message;
    }
  } }, text);
  return make("div", { class: "buttons export", role: "group", "aria-label": name }, acts.map(button), told);
}

function saveBar(figure, name) {
  return buttonsThat(`Save the figure ${study.titles[name]}`, [["Save SVG", () => saveSvg(figure, name)], ["Save PDF", () => savePdf(figure, name)], ["Save data (CSV)", () => saveData(figure, name)], ["Copy LaTeX", () => copied(latexOfFigure(figure, name), "The lines that include the PDF")]]);
}

// From which tables a figure is drawn, and the command that tells all of it.
function howDrawn(name) {
  const { rule, tables } = study.drawnFrom[name];
  const linked = (table) => (at(`table-${table}`) ? make("a", { href: address(["tables", table]), click: (event) => { event.preventDefault(); showTable(table); } }, inWords(table)) : inWords(table));
  const links = () => tables.flatMap((table, i) => [i ? ", " : "", linked(table)]);
  return folded("How it was made", () => [make("p", null, `The rule ${rule} drew it from `, ...links(), ". ", make("code", null, `userturn why results/figures/${name}.svg`), ` says with which settings and inputs, and what makes it again. ${FORMULAS}`)]);
}
