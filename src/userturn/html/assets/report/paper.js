// Paper: what is chosen, drawn once more as wide as a page, in the parts of its figure. Without a choice a page has the pictures.
const PAPER_WIDTH = 900; // pixels, which print.css shrinks to the width of a page: letters of 12 pixels are then 7 points high

function partOf(chart, part) {
  if (part.panels) return { ...chart, vconcat: part.panels.map((i) => chart.vconcat[i]) };
  const isIn = (row) => Object.entries(part).every(([field, values]) => row[field] === null || row[field] === undefined || values.includes(row[field]));
  return { ...chart, datasets: Object.fromEntries(Object.entries(chart.datasets).map(([name, rows]) => [name, rows.filter(isIn)])) };
}

const isEmpty = (chart) => (chart.vconcat ? !panelsOf(chart).some((panel) => hasModels(chart, panel)) : !rowsOf(chart).length);

// What is printed of a figure instead of its picture, if anything is chosen.
function onPaper(figure, ...shown) {
  figure.querySelector(".on-paper")?.remove();
  if (isFiltered()) figure.querySelector(".chart").after(make("div", { class: "on-paper" }, shown));
}

async function drawOnPaper(figure, name, chart) {
  const pages = [];
  for (const part of isFiltered() ? study.parts[name] ?? [{}] : []) {
    const shown = partOf(chart, part);
    if (isEmpty(shown)) continue;
    pages.push(make("div"));
    await drawInto(pages.at(-1), shown, PAPER_WIDTH);
  }
  onPaper(figure, ...pages);
}
