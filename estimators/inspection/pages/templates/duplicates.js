const { texts, merges, pairs, columns } = data;
const fields = columns.length ? columns : ["text"];
for (const entry of texts) {
  entry.text ??= entry.cells.filter((cell) => cell.trim()).join(" ");
  entry.cells ??= [entry.text];
}
const n = texts.length;
const MEMBERS = 100;
const ALIGNED = Object.keys(data.alignments).length > 0;
const key = (i, j) => (i < j ? i * n + j : j * n + i);
const directScores = new Map(pairs.map(([i, j, score]) => [key(i, j), score]));
const differences = new Map(pairs.filter((pair) => pair[3]).map(([i, j, , kind]) => [key(i, j), kind]));
const effects = new Map(pairs.filter((pair) => pair.length > 4).map(([i, j, , , k]) => [key(i, j), data.effects[k]]));
const mostOfAColumn = largest(data.effects.map(largest));
const size = (i) => 1 + texts[i].copies.length;
const total = data.n_rows ?? texts.reduce((sum, _, i) => sum + size(i), 0);

// Merges are sorted by decreasing score, so a threshold keeps the first of them.
function mergesKept(threshold) {
  let low = 0;
  let high = merges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (merges[middle][2] >= threshold) low = middle + 1;
    else high = middle;
  }
  return low;
}

function groupsAt(threshold) {
  const kept = mergesKept(threshold);
  const top = new Int32Array(n + kept).fill(-1);
  for (let i = 0; i < kept; i++) top[merges[i][0]] = top[merges[i][1]] = n + i;
  for (let node = n + kept - 1; node >= 0; node--) {
    top[node] = top[node] < 0 ? node : top[top[node]];
  }
  const found = new Map();
  for (let i = 0; i < n; i++) {
    if (top[i] === i && size(i) === 1) continue;
    let group = found.get(top[i]);
    if (!group) {
      const score = top[i] < n ? Infinity : merges[top[i] - n][2];
      group = { members: [], size: 0, score, scored: 0, lowest: Infinity, lowestPair: null };
      found.set(top[i], group);
    }
    group.members.push(i);
    group.size += size(i);
  }
  for (const [i, j, score] of pairs) {
    if (top[i] !== top[j]) continue;
    const group = found.get(top[i]);
    group.scored += 1;
    if (group.lowestPair === null || score < group.lowest) {
      group.lowest = score;
      group.lowestPair = [i, j];
    }
  }
  const groups = [...found.values()];
  for (const group of groups) {
    const m = group.members.length;
    // Known rows are compared with the new row only, not with each other.
    group.unscored = data.across ? 0 : (m * (m - 1)) / 2 - group.scored;
    group.weakest = group.unscored ? -Infinity : group.lowest;
  }
  return groups;
}

const ORDERS = {
  size: (a, b) => compare(a.size, b.size),
  score: (a, b) => compare(a.score, b.score),
  weakest: (a, b) => compare(a.weakest, b.weakest),
  text: (a, b) => collator.compare(texts[a.members[0]].text, texts[b.members[0]].text),
};

function sorted(groups, order) {
  const [by, direction] = order.split("-");
  const sign = direction === "down" ? -1 : 1;
  return [...groups].sort((a, b) => sign * ORDERS[by](a, b) || a.members[0] - b.members[0]);
}

let searchable = null;
function matcher(query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return null;
  searchable ??= texts.map(({ id, text, copies }) => [text, id, ...copies].join("\n").toLowerCase());
  return (i) => searchable[i].includes(wanted);
}

function firstUnscored(members) {
  for (let a = 0; a < members.length; a++) {
    for (let b = a + 1; b < members.length; b++) {
      if (!directScores.has(key(members[a], members[b]))) return [members[a], members[b]];
    }
  }
}

// Words that two texts share, as spans with weights; the first list belongs to text i.
function shared(i, j) {
  const straight = data.alignments[`${i},${j}`];
  const links = straight ?? data.alignments[`${j},${i}`]?.map(([k, l, weight]) => [l, k, weight]);
  return links ? aligned(i, j, links) : inCommon(texts[i].text, texts[j].text);
}

function aligned(i, j, links) {
  return [i, j].map((text, side) => {
    const weights = new Map();
    for (const link of links) weights.set(link[side], (weights.get(link[side]) ?? 0) + link[2]);
    return places(texts[text].text, data.tokens[text])
      .map((place, k) => ({ ...place, weight: weights.get(k) }))
      .filter(({ weight }) => weight)
      .sort((a, b) => a.start - b.start);
  });
}

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'\u2019]*/gu;
const plainWord = (word) => word.toLowerCase().replace(/['\u2019]+$/, "").replaceAll("\u2019", "'");
function inCommon(one, other) {
  const words = [one, other].map((text) => [...text.matchAll(WORD)]);
  const sets = words.map((found) => new Set(found.map(([word]) => plainWord(word))));
  return words.map((found, side) =>
    found
      .filter(([word]) => sets[1 - side].has(plainWord(word)))
      .map((match) => ({ start: match.index, end: match.index + match[0].length, weight: 1 })),
  );
}

function paint(block, words) {
  const most = largest(words.map(({ weight }) => weight));
  fillWords(block, ...block.folded, words, (shown, { weight }) => {
    const mark = element("mark", {}, shown);
    shade(mark, weight, most);
    return mark;
  });
}

// Two records, one row per column; what differs comes first.
function columnTable(reference, i) {
  const sides = [texts[reference], texts[i]];
  const added = effects.get(key(reference, i));
  const head = element("tr", {}, element("td"), ...sides.map(({ id }) => element("th", { scope: "col", dir: "auto" }, visible(id))));
  head.append(element("th", { scope: "col" }, added ? "Adds" : ""));
  const rows = columns.map((name, place) => {
    const cells = sides.map((side) => side.cells[place]);
    const same = cells[0] === cells[1];
    const heading = element("th", { scope: "row", dir: "auto" }, visible(name));
    const values = cells.map((cell) => {
      const { holder } = textBlock(cell, { class: "text" }, (block, shown) => block.replaceChildren(shown));
      return element("td", same ? { class: "same" } : {}, holder);
    });
    const effect = element("td", { class: "score" }, added ? signed(added[place]) : "");
    if (added) [heading, effect].forEach((node) => shade(node, added[place], mostOfAColumn));
    return { same, row: element("tr", {}, heading, ...values, effect) };
  });
  rows.sort((a, b) => a.same - b.same);
  return element("table", { class: "columns" }, head, ...rows.map(({ row }) => row));
}

function memberText(i) {
  return textBlock(texts[i].text, { class: "text" }, (block, ...folded) => {
    block.folded = folded;
    block.replaceChildren(folded[0]);
  });
}

function copiesOf(i) {
  const { copies } = texts[i];
  return element(
    "details",
    { class: "copies" },
    element("summary", {}, plural(copies.length, "exact copy", "exact copies")),
    element("p", { class: "id", dir: "auto" }, copies.map(visible).join(", ")),
  );
}

// Decision on each reviewed pair: 1 for accepted, 0 for rejected.
const judged = new Map();
const STORE = `film duplicates ${data.key}`;
let stored = true;
let unsaved = false;

function recall() {
  try {
    for (const [pair, label] of JSON.parse(localStorage.getItem(STORE) ?? "[]")) {
      const [i, j] = [Math.floor(pair / n), pair % n];
      if (Number.isInteger(pair) && i < j && j < n && (label === 0 || label === 1)) judged.set(pair, label);
    }
  } catch {
    stored = false;
  }
}

function remember() {
  unsaved = judged.size > 0;
  try {
    localStorage.setItem(STORE, JSON.stringify([...judged]));
    stored = true;
  } catch {
    stored = false;
  }
  showJudged();
}

function showJudged() {
  const accepted = [...judged.values()].filter((label) => label === 1).length;
  const kept = stored ? "stored in this browser" : "lost when you close this page, unless downloaded";
  byId("judged").textContent = judged.size
    ? `${whole(accepted)} accepted, ${whole(judged.size - accepted)} rejected; ${kept}`
    : "No pair reviewed yet: open a group to accept or reject its pairs.";
  byId("labels").disabled = byId("forget").disabled = !judged.size;
}

function labelRows() {
  const names = columns.length ? columns.flatMap((name) => [`left_${name}`, `right_${name}`]) : ["text1", "text2"];
  const rows = [["id1", "id2", ...names, "label"]];
  for (const [pair, label] of judged) {
    const [one, other] = [texts[Math.floor(pair / n)], texts[pair % n]];
    rows.push([one.id, other.id, ...fields.flatMap((_, place) => [one.cells[place], other.cells[place]]), label]);
  }
  return rows;
}

function judge(reference, i) {
  const pair = key(reference, i);
  const buttons = [["Accept", 1], ["Reject", 0]].map(([name, label]) => {
    const button = element("button", { type: "button", "data-label": String(label) }, name);
    button.addEventListener("click", () => {
      if (judged.get(pair) === label) judged.delete(pair);
      else judged.set(pair, label);
      remember();
      update();
    });
    return button;
  });
  const update = () => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(judged.get(pair) === Number(button.dataset.label)));
    }
  };
  update();
  const about = `${beginning(texts[reference].text, 60)} / ${beginning(texts[i].text, 60)}`;
  return element("span", { class: "judge", role: "group", "aria-label": visible(about) }, ...buttons);
}

function scoreLabel(reference, i) {
  if (i === reference) return element("span", { class: "score quiet" }, "first text");
  const score = directScores.get(key(reference, i));
  if (score === undefined) return element("span", { class: "score quiet" }, "not compared");
  const differs = differences.get(key(reference, i));
  const label = element("span", { class: "score" }, decimals(score));
  if (differs) label.append(element("span", { class: "differs" }, differs));
  return label;
}

// Any text of a group can serve as the reference of the comparison.
function memberList(group, reference = group.members[0]) {
  const list = element("ol", { class: "members" });
  const members = [reference, ...group.members.filter((i) => i !== reference)];
  let first = null;
  const entry = (i) => {
    const inTable = columns.length && i !== reference;
    const { block, holder } = inTable ? { holder: element("div", { class: "body" }, columnTable(reference, i)) } : memberText(i);
    if (texts[i].copies.length) holder.append(copiesOf(i));
    const id = element("span", { class: "id", dir: "auto" }, visible(texts[i].id));
    const item = element("li", { class: "member" }, id, holder, scoreLabel(reference, i));
    if (i === reference) {
      first = block;
      return item;
    }
    const choices = judge(reference, i);
    if (members.length > 2 && !data.across) {
      const compared = element("button", { type: "button", class: "compare" }, "Compare with this");
      compared.addEventListener("click", () => {
        const holder = list.parentNode;
        for (const old of holder.querySelectorAll(":scope > .members, :scope > .more")) old.remove();
        holder.append(...memberList(group, i));
      });
      choices.append(compared);
    }
    item.append(choices);
    if (inTable) return item;
    item.setAttribute("tabindex", "0");
    const show = () => {
      const [ofFirst, ofThis] = shared(reference, i);
      paint(first, ofFirst);
      paint(block, ofThis);
    };
    const clear = () => {
      paint(first, []);
      paint(block, []);
    };
    item.addEventListener("mouseenter", show);
    item.addEventListener("mouseleave", clear);
    item.addEventListener("focusin", show);
    item.addEventListener("focusout", clear);
    return item;
  };
  const extend = () => {
    const shown = list.children.length;
    list.append(...members.slice(shown, shown + MEMBERS).map(entry));
    const left = members.length - list.children.length;
    more.textContent = `Show ${whole(Math.min(left, MEMBERS))} of ${plural(left, "more text", "more texts")}`;
    if (!left) more.remove();
  };
  const more = moreButton("", extend);
  extend();
  return members.length > MEMBERS ? [list, more] : [list];
}

const quoted = (i) =>
  element("q", {}, element("bdi", {}, visible(beginning(texts[i].text, 160))));

function weakestLine(group) {
  const line = element("p", { class: "weakest" });
  if (group.members.length === 1) {
    line.append("All are exact copies of one text.");
    return line;
  }
  const [i, j] = group.unscored ? firstUnscored(group.members) : group.lowestPair;
  line.append(
    element("strong", {}, "Weakest link: "),
    group.unscored ? "not compared" : decimals(group.lowest),
    ", ",
    ...(differences.has(key(i, j)) ? [differences.get(key(i, j)), ", "] : []),
    quoted(i),
    " and ",
    quoted(j),
  );
  if (group.unscored) {
    const m = group.members.length;
    line.append(` (${whole(group.unscored)} of ${plural((m * (m - 1)) / 2, "pair was", "pairs were")} not compared`);
    line.append(group.scored ? `; the lowest score of the others is ${decimals(group.lowest)})` : ")");
  }
  return line;
}

const opened = new Set();
let matches = null;

function cell(name, value) {
  return element("span", { class: "cell" }, element("span", { class: "name" }, name), value);
}

function weakestCell(group) {
  if (group.members.length === 1) return "exact";
  return group.unscored ? "not compared" : decimals(group.weakest);
}

function groupEntry(group) {
  const [reference, ...others] = group.members;
  const preview = element("span", { class: "preview" });
  preview.append(element("span", { class: "line", dir: "auto" }, visible(beginning(texts[reference].text, 300))));
  // If only a later text matches the search, show that text.
  const other = (matches && !matches(reference) && others.find(matches)) || others[0];
  if (other !== undefined) {
    preview.append(element("span", { class: "line second", dir: "auto" }, visible(beginning(texts[other].text, 300))));
  }
  const summary = element(
    "summary",
    {},
    preview,
    cell("Texts", whole(group.size)),
    cell("Score", group.score === Infinity ? "exact" : decimals(group.score)),
    cell("Weakest link", weakestCell(group)),
  );
  const details = element("details", { class: "group" }, summary);
  const fill = () => {
    if (details.children.length > 1) return;
    details.append(element("div", { class: "inside" }, weakestLine(group), ...memberList(group)));
  };
  details.addEventListener("toggle", () => {
    if (details.open) {
      opened.add(reference);
      fill();
    } else {
      opened.delete(reference);
    }
  });
  if (opened.has(reference)) {
    details.open = true;
    fill();
  }
  return details;
}

function groupRows(groups) {
  const rows = [["group", "id", ...fields, "score"]];
  groups.forEach((group, number) => {
    const [reference] = group.members;
    for (const i of group.members) {
      const score = directScores.get(key(reference, i)) ?? "";
      for (const id of [texts[i].id, ...texts[i].copies]) rows.push([number + 1, id, ...texts[i].cells, score]);
    }
  });
  return rows;
}

const slider = byId("slider");
const number = byId("threshold");
const order = byId("order");
const search = byId("search");
let threshold = data.threshold;
let groups = [];
let listed = [];

const list = pagedList(100, "Groups", groupEntry, () =>
  groups.length ? "No group matches your search." : "No groups at this threshold; lower it to join more texts.",
);

function arrange() {
  matches = matcher(search.value);
  const found = matches ? groups.filter((group) => group.members.some(matches)) : groups;
  listed = sorted(found, order.value);
  list.show(listed);
  byId("download").disabled = !listed.length;
}

function regroup() {
  groups = groupsAt(threshold);
  const duplicates = groups.reduce((sum, group) => sum + group.size - 1, 0);
  const counts = data.across
    ? [[total, "new row", "new rows"], [groups.length, "with matches", "with matches"], [duplicates, "match", "matches"]]
    : [[total, "text", "texts"], [groups.length, "group", "groups"], [duplicates, "duplicate", "duplicates"]];
  byId("counts").replaceChildren(
    ...counts.map(([count, one, many]) =>
      element("span", {}, element("strong", {}, whole(count)), ` ${count === 1 ? one : many} `),
    ),
  );
  byId("reset").disabled = threshold === data.threshold;
  arrange();
}

const redraw = coalesced(regroup);
const highest = Math.max(1, data.threshold, merges.length ? merges[0][2] : 0);
const written = (value) => String(Number(value.toFixed(4)));

function choose(value, from) {
  threshold = Math.min(highest, Math.max(data.lowest, value));
  if (from !== slider) slider.value = Math.round(threshold * 100);
  if (from !== number) number.value = written(threshold);
  slider.setAttribute("aria-valuetext", written(threshold));
  redraw();
}

// Hundredths as integers keep the slider's value equal to the decimal number shown.
slider.min = Math.ceil(data.lowest * 100 - 1e-9);
slider.max = Math.ceil(highest * 100 - 1e-9);
number.min = written(data.lowest);
number.max = written(highest);
byId("score-name").textContent = data.score_name;
byId("shading").textContent = columns.length
  ? "What a column adds to the log-odds of a duplicate, or takes from them: stronger for more. Equal values are grey."
  : (ALIGNED
    ? "Words that align with the first text of the group: stronger for larger contributions, dashed for negative ones. Without an alignment, the words in common."
    : "Words in common with the first text of the group.") +
  " Point at a text, or go to it with Tab.";
if (data.notes.length) {
  byId("notes").append(...data.notes.map((note) => element("li", { dir: "auto" }, visible(note))));
  byId("notes").hidden = false;
}

slider.addEventListener("input", () => choose(Number(slider.value) / 100, slider));
number.addEventListener("input", () => {
  if (number.value !== "" && number.validity.valid) choose(Number(number.value), number);
});
number.addEventListener("change", () => choose(number.value === "" ? threshold : Number(number.value)));
byId("reset").addEventListener("click", () => choose(data.threshold));
order.addEventListener("change", arrange);
search.addEventListener("input", coalesced(arrange));
for (const [button, open] of [["open-all", true], ["close-all", false]]) {
  byId(button).addEventListener("click", () => {
    for (const details of document.querySelectorAll("details.group")) details.open = open;
  });
}
byId("download").addEventListener("click", () => {
  downloadFile("groups.csv", csvTable(groupRows(listed), { formulas: !byId("escape").checked }));
});

byId("labels").addEventListener("click", () => {
  // Programs read this file and need the exact texts.
  downloadFile("labels.csv", csvTable(labelRows(), { formulas: true }));
  unsaved = false;
});
byId("forget").addEventListener("click", () => {
  if (!confirm(`Forget ${plural(judged.size, "decision", "decisions")}?`)) return;
  judged.clear();
  remember();
  arrange();
});
addEventListener("beforeunload", (event) => {
  if (unsaved && !stored) event.preventDefault();
});

slider.value = Math.round(threshold * 100);
number.value = written(threshold);
slider.setAttribute("aria-valuetext", written(threshold));
recall();
showJudged();
regroup();
