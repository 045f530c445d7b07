const { pairs } = data;
const CELLS = 10000;
const BARS = 8;

// Contributions between stretches rather than tokens, with what is left out of them.
function prepare(pair) {
  const rows = stretches(pair.text1, pair.offsets1, pair.special1);
  const columns = stretches(pair.text2, pair.offsets2, pair.special2);
  const matrix = rows.map((row) =>
    columns.map((column) => {
      let sum = 0;
      for (const k of row.tokens) for (const l of column.tokens) sum += pair.contributions[k][l];
      return sum;
    }),
  );
  const rowSums = matrix.map((row) => row.reduce((sum, c) => sum + c, 0));
  const columnSums = columns.map((_, l) => matrix.reduce((sum, row) => sum + row[l], 0));
  const every = pair.contributions.reduce((sum, row) => sum + row.reduce((s, c) => s + c, 0), 0);
  const rest = every - rowSums.reduce((sum, c) => sum + c, 0);
  const most = matrix.reduce((top, row) => Math.max(top, largest(row)), 0);
  return { rows, columns, matrix, rowSums, columnSums, rest, most };
}

function sentence(name, text, stretchesOfText) {
  const block = element("p", { class: "sentence", dir: "auto", role: "group", "aria-label": name });
  const holder = element("div", { class: "body" }, block);
  const words = [];
  const shownText = visible(text);
  foldable(block, shownText, (shown, length) => {
    words.length = 0;
    const parts = [];
    let position = 0;
    for (const { start, end } of stretchesOfText) {
      if (end > length) break;
      const word = element("span", { class: "word", tabindex: words.length ? "-1" : "0" }, shown.slice(start, end));
      parts.push(shown.slice(position, start), word);
      words.push(word);
      position = end;
    }
    block.replaceChildren(...parts, shown.slice(position));
    block.dispatchEvent(new Event("filled"));
  });
  return { block, holder, words };
}

// One stop for Tab; the arrows go from word to word.
function rove(words, event) {
  const at = words.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: words.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  const next = words[Math.max(0, Math.min(words.length - 1, to))];
  words[at].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

function sentences(pair) {
  const parts = prepare(pair);
  const one = sentence("First text", pair.text1, parts.rows);
  const two = sentence("Second text", pair.text2, parts.columns);
  const readout = element("p", { class: "readout", role: "status" });
  const turned = parts.columns.map((_, l) => parts.matrix.map((row) => row[l]));

  const rest = () => {
    const most = largest([...parts.rowSums, ...parts.columnSums]);
    one.words.forEach((word, k) => shade(word, parts.rowSums[k], most));
    two.words.forEach((word, l) => shade(word, parts.columnSums[l], most));
    for (const word of [...one.words, ...two.words]) word.classList.remove("chosen");
    readout.replaceChildren(...strongest(one, two, parts.matrix));
  };
  const choose = (own, other, weights, position) => {
    own.words.forEach((word, k) => {
      shade(word, 0, 0);
      word.classList.toggle("chosen", k === position);
    });
    other.words.forEach((word, l) => {
      shade(word, weights[l], parts.most);
      word.classList.remove("chosen");
    });
    readout.replaceChildren(...partners(own, other, weights, position));
  };
  for (const [own, other, rowsOf] of [[one, two, parts.matrix], [two, one, turned]]) {
    const at = (event) => own.words.indexOf(event.target);
    const show = (event) => {
      if (at(event) >= 0) choose(own, other, rowsOf[at(event)], at(event));
    };
    // Leaving the pointer goes back to the word that has the focus, if one has.
    const leave = () => {
      for (const [side, sideOther, weights] of [[one, two, parts.matrix], [two, one, turned]]) {
        const focused = side.words.indexOf(document.activeElement);
        if (focused >= 0) return choose(side, sideOther, weights[focused], focused);
      }
      rest();
    };
    own.block.addEventListener("mouseover", show);
    own.block.addEventListener("mouseleave", leave);
    own.block.addEventListener("focusin", show);
    own.block.addEventListener("focusout", rest);
    own.block.addEventListener("filled", rest);
    own.block.addEventListener("keydown", (event) => rove(own.words, event));
  }
  rest();
  return { parts, nodes: [one.holder, two.holder, readout] };
}

function strongest(one, two, matrix) {
  let best = null;
  one.words.forEach((first, k) => {
    two.words.forEach((second, l) => {
      const weight = matrix[k][l];
      if (weight && (!best || Math.abs(weight) > Math.abs(best.weight))) best = { first, second, weight };
    });
  });
  if (!best) return ["No word has a partner."];
  const [first, second] = [best.first, best.second].map((word) => element("bdi", {}, word.textContent));
  return ["Strongest: ", first, " with ", second, ` ${signed(best.weight)}`];
}

function partners(own, other, weights, position) {
  const named = weights
    .map((weight, l) => [weight, other.words[l]])
    .filter(([weight, word]) => word && Math.abs(weight) >= 0.0005)
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const line = [element("bdi", {}, own.words[position].textContent), ": "];
  if (!named.length) return [...line, "no partner"];
  named.slice(0, 4).forEach(([weight, word], rank) => {
    line.push(rank ? ", " : "", element("bdi", {}, word.textContent), ` ${signed(weight)}`);
  });
  if (named.length > 4) line.push(`, ${named.length - 4} more`);
  const sum = weights.reduce((s, weight) => s + weight, 0);
  return [...line, `; all together ${signed(sum)}`];
}

function heatMap(pair, { rows, columns, matrix, most }) {
  if (rows.length * columns.length > CELLS) {
    return element("p", {}, `Too large to show: ${whole(rows.length)} by ${whole(columns.length)} words.`);
  }
  const name = (text, { start, end }) => element("bdi", {}, visible(beginning(text.slice(start, end), 24)));
  const head = element("tr", {}, element("td"));
  for (const column of columns) {
    head.append(element("th", { scope: "col" }, element("span", {}, name(pair.text2, column))));
  }
  const body = element("tbody");
  rows.forEach((row, k) => {
    const line = element("tr", {}, element("th", { scope: "row" }, name(pair.text1, row)));
    matrix[k].forEach((weight) => {
      const shown = Math.abs(weight) < 0.005 ? "" : weight.toFixed(2).replace("-", "\u2212");
      const box = element("td", {}, shown);
      shade(box, weight, most);
      line.append(box);
    });
    body.append(line);
  });
  const table = element("table", {}, element("thead", {}, head), body);
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Heat map of contributions" }, table);
}

function toggled(name, make) {
  const button = element("button", { type: "button", "aria-expanded": "false" }, name);
  const place = element("div", { class: "heat", hidden: "" });
  button.addEventListener("click", () => {
    if (!place.firstChild) place.append(make());
    place.hidden = !place.hidden;
    button.setAttribute("aria-expanded", String(!place.hidden));
  });
  return [button, place];
}

function shownValue(value) {
  if (typeof value !== "number") return value === null ? "" : visible(String(value));
  return Number.isInteger(value) ? String(value).replace("-", "\u2212") : decimals(value);
}

function verdictTable(verdict) {
  const rows = [
    ...verdict.members.map((member) => ({ ...member, kind: "member" })),
    ...verdict.features.map((feature) => ({ ...feature, kind: "feature" })),
  ].sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  const most = largest(rows.map(({ effect }) => effect));
  const body = element("tbody");
  const line = ({ name, value, effect, kind }) => {
    const bar = element("span", { class: "bar", "data-sign": effect < 0 ? "-" : "+" });
    bar.style.setProperty("--length", `${most ? (50 * Math.abs(effect)) / most : 0}%`);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, element("bdi", {}, visible(name)), kind === "member" ? element("span", { class: "kind" }, "member") : ""),
      element("td", { class: "number" }, shownValue(value)),
      element("td", { class: "effect" }, bar),
      element("td", { class: "number" }, signed(effect)),
    );
  };
  body.append(...rows.slice(0, BARS).map(line));
  const head = ["Said by", "Value", "Against \u2190 \u2192 for", "Log-odds"].map((name) => element("th", { scope: "col" }, name));
  const table = element("table", { class: "verdict" }, element("thead", {}, element("tr", {}, ...head)), body);
  if (rows.length <= BARS) return [table];
  const more = element("button", { type: "button" }, `Show all ${whole(rows.length)}`);
  more.addEventListener("click", () => {
    body.append(...rows.slice(BARS).map(line));
    more.remove();
  });
  return [table, more];
}

function pairEntry({ pair, verdict, number }) {
  const facts = element("p", { class: "facts" }, element("span", { class: "id" }, `Pair ${whole(number)}`));
  const fact = (name, value) => facts.append(element("span", {}, `${name} `, element("strong", {}, value)));
  if (verdict) fact("probability", decimals(verdict.probability));
  fact("similarity", decimals(pair.similarity));
  if (pair.title) facts.append(element("bdi", { class: "quiet" }, visible(pair.title)));
  const { parts, nodes } = sentences(pair);
  const entry = element("article", { class: "pair", "aria-label": `Pair ${whole(number)}` }, facts, ...nodes);
  if (Math.abs(parts.rest) >= 0.0005) {
    entry.append(element("p", { class: "quiet rest" }, `Special tokens, which are not shown, add ${signed(parts.rest)}.`));
  }
  const actions = element("div", { class: "actions" });
  if (verdict && verdict.members.length + verdict.features.length) {
    const [table, ...more] = verdictTable(verdict);
    entry.append(table);
    actions.append(...more);
  }
  const [button, place] = toggled("Heat map", () => heatMap(pair, parts));
  actions.append(button);
  entry.append(actions, place);
  return entry;
}

const items = pairs.map((pair, i) => {
  return { pair, verdict: data.verdicts?.[i], number: i + 1 };
});
const VALUES = {
  given: ({ number }) => number,
  similarity: ({ pair }) => pair.similarity,
  probability: ({ verdict }) => verdict.probability,
};
const order = byId("order");
const search = byId("search");
const list = pagedList(25, "Pairs", pairEntry, () =>
  items.length ? "No pair holds what you search for." : "There is no pair.",
);

function arrange() {
  const wanted = search.value.trim().toLowerCase();
  const found = items.filter(({ pair }) => `${pair.text1}\n${pair.text2}`.toLowerCase().includes(wanted));
  const [by, direction] = order.value.split("-");
  const sign = direction === "down" ? -1 : 1;
  found.sort((a, b) => sign * compare(VALUES[by](a), VALUES[by](b)) || a.number - b.number);
  list.show(found);
}

if (!data.verdicts) {
  for (const option of [...order.options]) if (option.value.startsWith("probability")) option.remove();
}
byId("counts").append(element("span", {}, element("strong", {}, whole(items.length)), items.length === 1 ? " pair" : " pairs"));
order.addEventListener("change", arrange);
search.addEventListener("input", coalesced(arrange));
arrange();
