const { pairs } = data;
const HEAT = 40;
const STEPS = 8;

// Positions of the words with the largest contributions, in the order of the text.
function heaviest(partnersOf) {
  const weight = partnersOf.map((weights) => largest([...weights.values()]));
  return weight
    .map((_, k) => k)
    .sort((a, b) => weight[b] - weight[a] || a - b)
    .slice(0, HEAT)
    .sort((a, b) => a - b);
}

function heatMap(pair, { rows, columns, ofRow, ofColumn, most }) {
  const name = (text, { start, end }) => element("bdi", {}, visible(beginning(text.slice(start, end), 24)));
  const [ks, ls] = [heaviest(ofRow), heaviest(ofColumn)];
  const head = element("tr", {}, element("td"));
  for (const l of ls) head.append(element("th", { scope: "col" }, element("span", {}, name(pair.text2, columns[l]))));
  const body = element("tbody");
  for (const k of ks) {
    const line = element("tr", {}, element("th", { scope: "row" }, name(pair.text1, rows[k])));
    for (const l of ls) {
      const weight = ofRow[k].get(l) ?? 0;
      const shown = Math.abs(weight) < 0.005 ? "" : weight.toFixed(2).replace("-", "\u2212");
      const box = element("td", {}, shown);
      shade(box, weight, most);
      line.append(box);
    }
    body.append(line);
  }
  const table = element("table", {}, element("thead", {}, head), body);
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Heat map of contributions" }, table);
  if (ks.length === rows.length && ls.length === columns.length) return scroll;
  const note = `The words with the largest contributions: ${ks.length} of ${whole(rows.length)} of the first text, ${ls.length} of ${whole(columns.length)} of the second.`;
  return element("div", {}, element("p", { class: "quiet" }, note), scroll);
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

const shownValue = (value) => Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 6 }).replace("-", "\u2212");
const percent = (p) => {
  if (p === 0 || p === 1) return `${100 * p}%`;
  if (p < 0.001) return "<0.1%";
  return p > 0.999 ? ">99.9%" : `${(100 * p).toFixed(1)}%`;
};
const EDGE = 1e-9;
const logOdds = (p) => {
  const inside = Math.min(1 - EDGE, Math.max(EDGE, p));
  return Math.log(inside / (1 - inside));
};
const probability = (z) => 1 / (1 + Math.exp(-z));
// By decreasing preference; ticks too close to an earlier one are left out.
const TICKS = [0.5, 0.1, 0.9, 0.01, 0.99, 0.0001, 0.9999, 0.000001, 0.999999, 0.25, 0.75, 0.05, 0.95, 0.4, 0.6];
const APART = 13;

// From the typical pair to this one: every bar starts where the bar above it ends.
function waterfall(verdict) {
  const start = logOdds(verdict.baseline);
  const holder = element("div", { class: "waterfall" });
  const draw = (shown) => {
    const steps = verdict.steps.slice(0, shown);
    const others = verdict.steps.slice(shown);
    if (others.length) {
      const effect = others.reduce((sum, step) => sum + step.effect, 0);
      steps.push({ kind: "others", name: `${whole(others.length)} other inputs`, effect });
    }
    if (verdict.sameness) steps.push({ kind: "rule", ...verdict.sameness });
    const path = [start];
    for (const { effect } of steps) path.push(path[path.length - 1] + effect);
    const end = logOdds(verdict.probability);
    const [low, high] = [Math.min(...path, end), Math.max(...path, end)];
    const pad = Math.max(0.25, (high - low) * 0.04);
    const at = (z) => (100 * (z - low + pad)) / (high - low + 2 * pad);
    const ticks = [];
    for (const z of TICKS.map(logOdds)) {
      const free = ticks.every((other) => Math.abs(at(other) - at(z)) >= APART);
      if (at(z) > 3 && at(z) < 97 && free) ticks.push(z);
    }
    const placed = (attributes, z, ...children) => {
      const mark = element("span", attributes, ...children);
      mark.style.setProperty("--at", `${at(z).toFixed(2)}%`);
      return mark;
    };
    const grid = () => ticks.map((z) => placed({ class: "tick" }, z));
    const point = (z) => placed({ class: "point" }, z);
    const rowOf = (className, label, values, marks, p) =>
      element("tr", { class: className }, element("th", { scope: "row" }, ...label), ...values.map((value) => element("td", { class: "number" }, value)), element("td", { class: "effect" }, ...grid(), ...marks), element("td", { class: "number result" }, p));
    const body = element("tbody", {}, rowOf("end", ["A typical pair"], ["", ""], [point(start)], percent(verdict.baseline)));
    steps.forEach(({ kind, name, value, typical, effect }, i) => {
      const bar = placed({ class: "bar", "data-sign": effect < 0 ? "-" : "+" }, Math.min(path[i], path[i + 1]));
      bar.style.setProperty("--length", `${(at(path[i + 1]) - at(path[i])) * Math.sign(effect)}%`);
      const label = [element("bdi", {}, visible(name))];
      if (kind === "member") label.push(element("span", { class: "kind" }, "member"));
      const values = value === undefined ? ["", ""] : [shownValue(value), shownValue(typical)];
      body.append(rowOf(kind === "others" ? kind : null, label, values, effect ? [bar] : [], percent(probability(path[i + 1]))));
    });
    body.append(rowOf("end", ["This pair"], ["", ""], [point(end)], percent(verdict.probability)));
    const scale = element("td", { class: "effect scale" });
    for (const z of ticks) {
      const p = probability(z);
      scale.append(placed({}, z, `${Number((100 * p).toPrecision(p > 0.5 ? 6 : 2))}%`));
    }
    const foot = element("tfoot", { "aria-hidden": "true" }, element("tr", {}, element("td"), element("td"), element("td"), scale, element("td")));
    const head = ["Input", "This pair", "Typical", "Less likely \u2190 \u2192 more likely", "Probability so far"].map((name) => element("th", { scope: "col" }, name));
    const caption = element("caption", {}, "From a typical pair to this one");
    const table = element("table", { class: "verdict" }, caption, element("thead", {}, element("tr", {}, ...head)), body, foot);
    holder.replaceChildren(table);
    if (!others.length) return;
    holder.append(moreButton(`Show all ${whole(verdict.steps.length)} inputs`, () => draw(Infinity)));
  };
  draw(STEPS);
  return holder;
}

function pairEntry({ pair, number }) {
  const { verdict } = pair;
  const facts = element("p", { class: "facts" }, element("span", { class: "id" }, `Pair ${whole(number)}`));
  const fact = (name, value) => facts.append(element("span", {}, `${name} `, element("strong", {}, value)));
  if (verdict) fact("Probability of a duplicate", percent(verdict.probability));
  if (pair.links) fact(verdict && !pair.title ? "Cosine" : "Similarity", decimals(pair.similarity));
  if (pair.title) facts.append(element("bdi", { class: "quiet" }, visible(pair.title)));
  const { parts, nodes } = sentences(pair);
  const entry = element("article", { class: "pair", "aria-label": `Pair ${whole(number)}` }, facts, ...nodes);
  if (verdict?.difference) entry.append(element("p", { class: "difference" }, visible(verdict.difference)));
  const quiet = (text) => entry.append(element("p", { class: "quiet rest" }, text));
  if (Math.abs(pair.hidden ?? 0) >= 0.0005) quiet(`Special tokens, which are not shown, add ${signed(pair.hidden)}.`);
  if (pair.truncation) quiet(pair.truncation);
  if (verdict?.unseen) entry.append(element("p", { class: "note" }, visible(verdict.unseen)));
  if (verdict?.familiarity) entry.append(element("p", { class: "note familiarity" }, visible(verdict.familiarity)));
  if (verdict?.steps.length) entry.append(waterfall(verdict));
  if (pair.links) {
    const [button, place] = toggled("Heat map of words", () => heatMap(pair, parts));
    entry.append(element("div", { class: "actions" }, button), place);
  }
  return entry;
}

const items = pairs.map((pair, i) => {
  return { pair, number: i + 1 };
});
const VALUES = {
  given: ({ number }) => number,
  similarity: ({ pair }) => pair.similarity,
  probability: ({ pair }) => pair.verdict.probability,
};
const order = byId("order");
const search = byId("search");
const list = pagedList(25, "Pairs", pairEntry, () =>
  items.length ? "No pair matches your search." : "No pairs.",
);

function arrange() {
  const wanted = search.value.trim().toLowerCase();
  const found = items.filter(({ pair }) => `${pair.text1}\n${pair.text2}`.toLowerCase().includes(wanted));
  const [by, direction] = order.value.split("-");
  const sign = direction === "down" ? -1 : 1;
  found.sort((a, b) => sign * compare(VALUES[by](a), VALUES[by](b)) || a.number - b.number);
  list.show(found);
}

const without = (value) => [...order.options].filter((option) => option.value.startsWith(value)).forEach((option) => option.remove());
if (!pairs.length || pairs.some(({ verdict }) => !verdict)) {
  without("probability");
  for (const part of document.querySelectorAll(".of-verdict")) part.remove();
}
if (pairs.some(({ links }) => !links)) without("similarity");
byId("counts").append(element("span", {}, element("strong", {}, whole(items.length)), items.length === 1 ? " pair" : " pairs"));
order.addEventListener("change", arrange);
search.addEventListener("input", coalesced(arrange));
arrange();
