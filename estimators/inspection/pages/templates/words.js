// Word alignment of two texts, for pages and notebooks.
const FOLD = 600;

// Data reaches the document as text nodes and attributes only, never as markup.
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Control characters have no glyph; replacing each by one character keeps the offsets.
const visible = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "\ufffd");

const whole = (count) => count.toLocaleString("en-US");
const plural = (count, one, many) => `${whole(count)} ${count === 1 ? one : many}`;
const decimals = (value) => value.toFixed(3).replace("-", "\u2212");
const signed = (value) => (value > 0 ? "+" : "") + decimals(value);

function beginning(text, length) {
  if (text.length <= length) return text;
  const half = /[\ud800-\udbff]/.test(text[length - 1]);
  return text.slice(0, length - (half ? 1 : 0)) + "\u2026";
}

// Python counts code points, the browser UTF-16 units; they differ after the first emoji.
function unitPositions(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (position) => position;
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  starts.push(unit);
  return (position) => starts[position];
}

// Start and end of words in UTF-16 units.
function places(text, spans) {
  const position = unitPositions(text);
  return spans.map(([start, end]) => ({ start: position(start), end: position(end) }));
}

function shade(node, weight, most) {
  if (!weight || !most) {
    node.removeAttribute("data-sign");
    return;
  }
  node.setAttribute("data-sign", weight > 0 ? "+" : "-");
  const strength = 20 + 80 * Math.min(1, Math.abs(weight) / most);
  node.style.setProperty("--strength", `${strength.toFixed(1)}%`);
}

const largest = (weights) => weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);

function moreButton(name, act) {
  const button = element("button", { type: "button", class: "more" }, name);
  button.addEventListener("click", () => act(button));
  return button;
}

// A block of text, truncated until the reader asks for more.
function textBlock(text, attributes, fill) {
  const block = element("p", { dir: "auto", ...attributes });
  const holder = element("div", { class: "body" }, block);
  const all = visible(text);
  const show = (length) => {
    const rest = all.length > length;
    const shown = rest ? beginning(all, length) : all;
    fill(block, shown, rest ? shown.length - 1 : shown.length);
    if (!rest) return;
    block.after(moreButton(`Show all ${whole(text.length)} characters`, (button) => {
      button.remove();
      show(Infinity);
    }));
  };
  show(FOLD);
  return { block, holder };
}

// Fills a block with a text whose words are elements; returns the visible elements.
function fillWords(block, shown, length, words, make) {
  const nodes = [];
  const parts = [];
  let position = 0;
  for (const word of words) {
    const start = Math.max(word.start, position);
    if (start >= length) break;
    const stop = Math.max(start, Math.min(word.end, length));
    const node = make(shown.slice(start, stop), word, nodes.length);
    parts.push(shown.slice(position, start), node);
    nodes.push(node);
    position = stop;
  }
  block.replaceChildren(...parts, shown.slice(position));
  return nodes;
}

// Words with their positions in UTF-16 units, and the partners of each.
function prepare(pair) {
  const rows = places(pair.text1, pair.words1 ?? []);
  const columns = places(pair.text2, pair.words2 ?? []);
  const ofRow = rows.map(() => new Map());
  const ofColumn = columns.map(() => new Map());
  let most = 0;
  const links = pair.links ?? [];
  for (let i = 0; i < links.length; i += 3) {
    const [k, l, weight] = [links[i], links[i + 1], links[i + 2]];
    ofRow[k].set(l, weight);
    ofColumn[l].set(k, weight);
    most = Math.max(most, Math.abs(weight));
  }
  return { rows, columns, ofRow, ofColumn, most };
}

function sentence(name, text, ofText) {
  const side = { words: [] };
  const make = (shown, _, k) => element("span", { class: "word", tabindex: k ? "-1" : "0" }, shown);
  const attributes = { class: "sentence", role: "group", "aria-label": name };
  return Object.assign(side, textBlock(text, attributes, (block, shown, length) => {
    side.words = fillWords(block, shown, length, ofText, make);
    block.dispatchEvent(new Event("filled"));
  }));
}

// A single Tab stop; the arrow keys move from word to word.
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
  if (!pair.links) return { parts, nodes: [one.holder, two.holder] };
  const readout = element("p", { class: "readout", role: "status" });
  const sides = [
    { own: one, other: two, partnersOf: parts.ofRow, sums: pair.sums1, added: pair.added1 },
    { own: two, other: one, partnersOf: parts.ofColumn, sums: pair.sums2, added: pair.added2 },
  ];
  const largestSum = largest(sides.flatMap(({ sums, added }) => added ?? sums));

  const rest = () => {
    for (const { own, sums, added } of sides) {
      own.words.forEach((word, k) => {
        shade(word, (added ?? sums)[k], largestSum);
        word.classList.remove("chosen");
      });
    }
    readout.replaceChildren(...strongest(pair, parts));
  };
  const choose = ({ own, other, partnersOf, sums, added }, position) => {
    const weights = partnersOf[position];
    own.words.forEach((word, k) => {
      shade(word, 0, 0);
      word.classList.toggle("chosen", k === position);
    });
    other.words.forEach((word, l) => {
      shade(word, weights.get(l) ?? 0, parts.most);
      word.classList.remove("chosen");
    });
    const line = partners(own, other, weights, position, sums[position]);
    if (added) line.push(`; adds ${signed(added[position])} to the log-odds of a duplicate`);
    readout.replaceChildren(...line);
  };
  for (const side of sides) {
    const at = (event) => side.own.words.indexOf(event.target);
    const show = (event) => {
      if (at(event) >= 0) choose(side, at(event));
    };
    // When the pointer leaves, show the focused word again, if any.
    const leave = () => {
      for (const each of sides) {
        const focused = each.own.words.indexOf(document.activeElement);
        if (focused >= 0) return choose(each, focused);
      }
      rest();
    };
    side.own.block.addEventListener("mouseover", show);
    side.own.block.addEventListener("mouseleave", leave);
    side.own.block.addEventListener("focusin", show);
    side.own.block.addEventListener("focusout", rest);
    side.own.block.addEventListener("filled", rest);
    side.own.block.addEventListener("keydown", (event) => rove(side.own.words, event));
  }
  rest();
  return { parts, nodes: [one.holder, two.holder, readout] };
}

const wordAt = (text, { start, end }) => element("bdi", {}, visible(beginning(text.slice(start, end), 60)));

function strongest(pair, { rows, columns, ofRow }) {
  let best = null;
  ofRow.forEach((weights, k) => {
    for (const [l, weight] of weights) {
      if (!best || Math.abs(weight) > Math.abs(best.weight)) best = { k, l, weight };
    }
  });
  if (!best) return ["No word has a partner."];
  const [first, second] = [wordAt(pair.text1, rows[best.k]), wordAt(pair.text2, columns[best.l])];
  return ["Strongest: ", first, " with ", second, ` ${signed(best.weight)}`];
}

function partners(own, other, weights, position, sum) {
  const named = [...weights]
    .map(([l, weight]) => [weight, other.words[l]])
    .filter(([weight, word]) => word && Math.abs(weight) >= 0.0005)
    .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  const line = [element("bdi", {}, own.words[position].textContent), ": "];
  if (!named.length) return [...line, "no partner"];
  named.slice(0, 4).forEach(([weight, word], rank) => {
    line.push(rank ? ", " : "", element("bdi", {}, word.textContent), ` ${signed(weight)}`);
  });
  if (named.length > 4) line.push(`, ${plural(named.length - 4, "other word", "other words")}`);
  return [...line, `; all together ${signed(sum)}`];
}

// In notebooks, replace the static texts that serve readers without scripts.
for (const box of document.querySelectorAll(".film [data-pair]")) {
  const pair = JSON.parse(box.dataset.pair);
  box.removeAttribute("data-pair");
  box.replaceChildren(...sentences(pair).nodes);
}
