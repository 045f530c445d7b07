const { columns, threshold, goal, pairs, queues, sizes, model, rule } = data;
const strata = [...sizes.keys()];
const { steps } = rule;
const sum = (values) => values.reduce((total, value) => total + value, 0);

// Random numbers that are the same in every browser (mulberry32), evenly spread over (0, 1).
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
}

function binomial(n, p, random) {
  if (p > 0.5) return n - binomial(n, 1 - p, random);
  const spread = n * p * (1 - p);
  if (spread > 12) {
    const normal = Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
    return Math.max(0, Math.min(n, Math.round(n * p + Math.sqrt(spread) * normal)));
  }
  // Failures between two successes are geometric.
  const failure = Math.log1p(-p);
  let successes = -1;
  for (let tried = 0; tried <= n; successes++) tried += 1 + Math.floor(Math.log(random()) / failure);
  return successes;
}

// As film.judge.Review: log-odds of each stratum, by case, deviate by a step times a width.
const logistic = (x) => 1 / (1 + Math.exp(-x));
const logP = (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)));
const cases = model.weights.map((weight, c) => ({
  weight,
  strata: strata.map((h) => {
    const moved = steps.map((step) => model.logOdds[c][h] + model.widths[c][h] * step);
    return { p: moved.map(logP), q: moved.map((x) => logP(-x)) };
  }),
}));

function drawn(counts) {
  const each = cases.map(({ weight, strata: parts }) => {
    let logWeight = weight;
    const below = parts.map(({ p, q }, h) => {
      const [n, k] = [counts.sample[h], counts.sampleDuplicates[h]];
      const logs = steps.map((_, s) => rule.logPrior[s] + k * p[s] + (n - k) * q[s]);
      const top = Math.max(...logs);
      let total = 0;
      const cumulated = logs.map((log) => (total += Math.exp(log - top)));
      logWeight += Math.log(total) + top;
      return cumulated;
    });
    return { logWeight, below };
  });
  const top = Math.max(...each.map(({ logWeight }) => logWeight));
  let total = 0;
  const upTo = each.map(({ logWeight }) => (total += Math.exp(logWeight - top)));
  const random = generator(1);
  const place = (cumulated) => {
    const aim = random() * cumulated.at(-1);
    const found = cumulated.findIndex((below) => below >= aim);
    return found < 0 ? cumulated.length - 1 : found;
  };
  const width = steps[1] - steps[0];
  return Array.from({ length: rule.draws }, () => {
    const c = place(upTo);
    return strata.map((h) => {
      const step = steps[place(each[c].below[h])] + (random() - 0.5) * width;
      return logistic(model.logOdds[c][h] + model.widths[c][h] * step);
    });
  });
}

function interval(values, withBothTails) {
  const ordered = Float64Array.from(values).sort();
  const inside = Math.ceil(rule.level * ordered.length);
  let best = 0;
  for (let start = 0; start + inside <= ordered.length; start++) {
    const shorter = ordered[start + inside - 1] - ordered[start] < ordered[best + inside - 1] - ordered[best];
    if (shorter) best = start;
  }
  const [low, high] = [ordered[best], ordered[best + inside - 1]];
  if (!withBothTails) return [low, high];
  const at = (share) => ordered[Math.ceil(share * ordered.length - 1e-9) - 1];
  return [Math.min(low, at((1 - rule.level) / 2)), Math.max(high, at((1 + rule.level) / 2))];
}

function summary(counts, draws) {
  const random = generator(2);
  const nListed = sum(sizes.slice(0, data.nListed));
  const shares = draws.map((shown) => {
    const found = strata.map((h) => {
      const left = Math.max(0, Math.round(sizes[h] - counts.answers[h]));
      return counts.duplicates[h] + binomial(left, shown[h], random);
    });
    const listed = sum(found.slice(0, data.nListed));
    return [listed / Math.max(nListed, 1), listed / Math.max(sum(found), 1)];
  });
  const [precision, recall] = [0, 1].map((side) => {
    const values = shares.map((share) => share[side]);
    return { value: sum(values) / values.length, interval: interval(values, side === 1) };
  });
  return { precision, recall };
}

function allocation(counts, draws, n, free) {
  const mean = strata.map((h) => Math.min(Math.max(sum(draws.map((shown) => shown[h])) / draws.length, 1e-6), 1 - 1e-6));
  const isListed = (h) => h < data.nListed;
  const hedged = (h) => (goal === null && isListed(h) ? Math.min(Math.max(mean[h], rule.hedged), 1 - rule.hedged) : mean[h]);
  const spreads = strata.map((h) => hedged(h) * (1 - hedged(h)));
  const variance = strata.map((h) =>
    goal === null ? spreads[h] / (counts.asked[h] + 1) : sum(draws.map((shown) => (shown[h] - mean[h]) ** 2)) / draws.length,
  );
  const inside = sum(strata.filter(isListed).map((h) => sizes[h] * mean[h]));
  const outside = sum(strata.filter((h) => !isListed(h)).map((h) => sizes[h] * mean[h]));
  const every = goal === null ? 2 : rule.every;
  const more = strata.map(() => 0);
  while (sum(more) < n) {
    const open = strata.filter((h) => more[h] < free[h]);
    if (!open.length) break;
    const asked = (h) => counts.asked[h] + more[h];
    const byRecall = sum(strata.map(asked)) % every === every - 1;
    const gain = (h) => {
      const spread = spreads[h];
      const left = (variance[h] * spread) / (spread + more[h] * variance[h]);
      const weight = byRecall ? sizes[h] * (isListed(h) ? outside : inside) : isListed(h) ? sizes[h] : 0;
      return (weight ** 2 * left ** 2) / (spread + left);
    };
    const unseen = open.find((h) => asked(h) === 0 && (goal === null || byRecall || isListed(h)));
    const place = unseen ?? open.reduce((best, h) => (gain(h) > gain(best) ? h : best));
    more[place] += 1;
  }
  return more;
}

function forecast(counts, draws, n) {
  const more = allocation(counts, draws, n, strata.map((h) => sizes[h] - counts.asked[h]));
  const found = strata.map((h) => (more[h] * sum(draws.map((shown) => shown[h]))) / draws.length);
  const plus = (values, added) => values.map((value, h) => value + added[h]);
  const later = {
    answers: plus(counts.answers, more),
    duplicates: plus(counts.duplicates, found),
    sample: plus(counts.sample, more),
    sampleDuplicates: plus(counts.sampleDuplicates, found),
  };
  return summary(later, drawn(later));
}

// Answers of this page: [pair, 1, 0 or null, reason]. Those of the file have [stratum, rank, answer].
let given = [];
let again = null;
let reason = "";
let stored = true;
let unsaved = false;
const STORE = `film review ${data.key}`;

function counted() {
  const none = () => strata.map(() => 0);
  const counts = { asked: none(), answers: none(), duplicates: none(), sample: none(), sampleDuplicates: none() };
  const ranks = queues.map(() => new Map());
  const outside = [];
  for (const [h, rank, answer] of data.known) {
    if (rank < queues[h].length) ranks[h].set(rank, answer);
    else outside.push([h, answer]);
  }
  for (const [pair, answer] of given) ranks[pairs[pair].stratum].set(pairs[pair].rank, answer);
  const add = (h, answer, inSample) => {
    counts.asked[h] += 1;
    if (answer === null) return;
    counts.answers[h] += 1;
    counts.duplicates[h] += answer;
    counts.sample[h] += inSample ? 1 : 0;
    counts.sampleDuplicates[h] += inSample ? answer : 0;
  };
  const next = ranks.map((answers, h) => {
    let first = 0;
    while (answers.has(first)) first += 1;
    for (const [rank, answer] of answers) add(h, answer, rank < first);
    return queues[h][first];
  });
  for (const [h, answer] of outside) add(h, answer, false);
  return { counts, next };
}

const percent = ({ value, interval: [low, high] }) =>
  `${(100 * value).toFixed(0)} % (${(100 * low).toFixed(0)}\u2013${(100 * high).toFixed(0)} %)`;
const halfWidth = ({ interval: [low, high] }) => `\u00b1${(50 * (high - low)).toFixed(0)} %`;

function stopLine(counts, draws, now) {
  const n = sum(counts.answers);
  if (goal === null || n < rule.fewest || n % rule.checkedEvery) return "";
  const [low, high] = now.precision.interval;
  const name = low >= goal ? "shown" : high < goal ? "refuted" : "far";
  if (name === "far" && forecast(counts, draws, rule.far).precision.interval[0] >= goal) return "";
  const values = { wanted: goal, low, high, precision: now.precision.value };
  return rule.stops[name].replace(/\{(\w+):\.(\d)%\}/g, (_, key, digits) => `${(100 * values[key]).toFixed(digits)}%`);
}

const WORDS = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu;

// A text with the words marked that the other one lacks.
function markedText(text, other) {
  const known = new Set([...other.matchAll(WORDS)].map(([word]) => word.toLowerCase()));
  const own = [...text.matchAll(WORDS)].filter(([word]) => !known.has(word.toLowerCase()));
  const words = own.map((match) => ({ start: match.index, end: match.index + match[0].length }));
  return textBlock(text, { class: "text" }, (block, shown, length) => {
    fillWords(block, shown, length, words, (word) => {
      const mark = element("mark", {}, word);
      shade(mark, -1, 1);
      return mark;
    });
  }).holder;
}

function pairTable({ left, right }) {
  const rows = left.map((cell, place) => {
    const sides = [markedText(cell, right[place]), markedText(right[place], cell)];
    const heading = columns.length ? [element("th", { scope: "row", dir: "auto" }, visible(columns[place]))] : [];
    return element("tr", {}, ...heading, ...sides.map((holder) => element("td", {}, holder)));
  });
  return element("table", { class: "sides" }, ...rows);
}

let question = null;

function update() {
  const { counts, next } = counted();
  const draws = drawn(counts);
  const now = summary(counts, draws);
  const later = forecast(counts, draws, rule.next);
  byId("estimate").textContent =
    `At threshold ${threshold.toFixed(2)}: precision ${percent(now.precision)}, recall ${percent(now.recall)}; ` +
    `with ${rule.next} more answers about ${halfWidth(later.precision)} and ${halfWidth(later.recall)}`;
  const stop = stopLine(counts, draws, now);
  byId("stop").textContent = stop;
  byId("stop").hidden = !stop;
  const free = strata.map((h) => (next[h] === undefined ? 0 : 1));
  const place = allocation(counts, draws, 1, free).indexOf(1);
  question = again ?? next[place] ?? null;
  byId("asked").hidden = question === null;
  byId("end").hidden = question !== null;
  byId("shown").replaceChildren(...(question === null ? [] : [pairTable(pairs[question])]));
  const [same, different] = [sum(counts.duplicates), sum(counts.answers) - sum(counts.duplicates)];
  const all = sum(counts.asked);
  byId("counts").textContent = `${plural(all, "answer", "answers")}: ${whole(same)} same, ${whole(different)} different, ${whole(all - same - different)} can't tell`;
  for (const id of ["same", "different", "skip"]) byId(id).disabled = question === null;
  byId("undo").disabled = byId("forget").disabled = !given.length;
  byId("labels").disabled = !given.length && !data.earlier.length;
  byId("kept").textContent = stored ? "Stored in this browser" : "Lost when you close this page, unless downloaded";
  for (const button of byId("reasons").children) {
    button.setAttribute("aria-pressed", String(button.dataset.reason === reason));
  }
}

function remember() {
  unsaved = given.length > 0;
  try {
    localStorage.setItem(STORE, JSON.stringify(given));
    stored = true;
  } catch {
    stored = false;
  }
  update();
}

function recall() {
  try {
    for (const [pair, answer, why] of JSON.parse(localStorage.getItem(STORE) ?? "[]")) {
      if (pairs[pair] && [0, 1, null].includes(answer)) given.push([pair, answer, String(why)]);
    }
  } catch {
    stored = false;
  }
}

const ACTIONS = {
  y: () => answer(1),
  n: () => answer(0),
  s: () => answer(null),
  u: () => {
    if (!given.length) return;
    [again] = given.pop();
    remember();
  },
};

function answer(label) {
  if (question === null) return;
  given.push([question, label, reason]);
  again = null;
  reason = "";
  remember();
}

function choose(why) {
  reason = reason === why ? "" : why;
  update();
}

data.reasons.slice(0, 9).forEach((why, place) => {
  const button = element("button", { type: "button", "data-reason": why }, `${visible(why)} (${place + 1})`);
  button.addEventListener("click", () => choose(why));
  byId("reasons").append(button);
});
for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => ACTIONS[button.dataset.key]());
}
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const name = event.key.toLowerCase();
  const why = /^[1-9]$/.test(name) ? data.reasons[Number(name) - 1] : undefined;
  if (why !== undefined) choose(why);
  else ACTIONS[name]?.();
});

byId("labels").addEventListener("click", () => {
  const made = given.map(([pair, label, why]) => {
    const { left, right } = pairs[pair];
    const row = [...left.flatMap((cell, place) => [cell, right[place]]), label ?? ""];
    // Other columns of an earlier file stay empty.
    return [...row, ...Array(data.header.length - row.length).fill(""), why];
  });
  let rows = [[...data.header, "reason"], ...data.earlier, ...made];
  if (!rows.slice(1).some((row) => row.at(-1))) rows = rows.map((row) => row.slice(0, -1));
  // Programs read this file and need the exact texts.
  downloadFile(data.file, csvTable(rows, { formulas: true }));
  unsaved = false;
});
byId("forget").addEventListener("click", () => {
  if (!confirm(`Forget ${plural(given.length, "answer", "answers")}?`)) return;
  given = [];
  again = null;
  remember();
});
addEventListener("beforeunload", (event) => {
  if (unsaved && !stored) event.preventDefault();
});

recall();
update();
