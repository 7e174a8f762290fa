// What changed between two texts, by words: longest common subsequence between equal ends.
const MOST_PAIRS = 4e6;

function wordsOf(text) {
  return text.match(/\s+|[^\s]+/g) ?? [];
}

function commonLengths(before, after) {
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = before[i] === after[j]
        ? lengths[(i + 1) * width + j + 1] + 1
        : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  return lengths;
}

function middle(before, after) {
  if (before.length * after.length > MOST_PAIRS || !before.length || !after.length) {
    return [["removed", before], ["added", after]];
  }
  const lengths = commonLengths(before, after);
  const width = after.length + 1;
  const steps = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      steps.push(["same", [before[i]]]);
      i += 1;
      j += 1;
    } else if (j === after.length || (i < before.length && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      steps.push(["removed", [before[i]]]);
      i += 1;
    } else {
      steps.push(["added", [after[j]]]);
      j += 1;
    }
  }
  return steps;
}

// Returns runs of [same, removed or added, text].
function difference(before, after) {
  const [a, b] = [wordsOf(before), wordsOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  const steps = [["same", a.slice(0, head)], ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)), ["same", a.slice(a.length - tail)]];
  const runs = [];
  for (const [kind, parts] of steps) {
    if (!parts.length) continue;
    const last = runs.at(-1);
    if (last?.[0] === kind) last[1] += parts.join("");
    else runs.push([kind, parts.join("")]);
  }
  return runs;
}
