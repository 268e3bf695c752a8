// The race: one lane per strategy on one clock. Each round is a block as wide as it took and as high as the tokens it
// gave, so a faster lane is a shorter one, and one sees why.

import { mark, measured, svg } from "./svg.js";
import { grouped, ticks } from "./stats.js";
import { decodeNs } from "./trace.js";

const HEIGHT = 44;
const BASE = 38; // where blocks stand
const TOP = 6;

export class Race {
  /** `lanes` is the element that holds a `[data-lane=run]` for each strategy, with an `svg` and places for numbers. */
  constructor(lanes, runs, baseline) {
    this.baseline = baseline; // whose time is the dotted line
    this.lanes = runs.map((run) => {
      const element = lanes.querySelector(`[data-lane="${run.number}"]`);
      return { run, element, svg: element.querySelector(".track"), numbers: numbersIn(element) };
    });
    this.axis = lanes.querySelector("[data-axis] svg");
    this.size = measured(this.axis);
    this.tallest = 2;
    this.spanNs = 0;
  }

  /** `states`: run → state. `spanNs`: how long the slowest takes, where that is known; it never shrinks under way. */
  draw(states, spanNs, isFresh) {
    const longest = Math.max(spanNs, ...[...states.values()].map(decodeNs), 1e6);
    this.spanNs = isFresh || longest > this.spanNs ? roomFor(longest, spanNs) : this.spanNs;
    const most = Math.max(2, ...[...states.values()].flatMap((state) => state.rounds.map((round) => round.accepted + 1)));
    this.tallest = isFresh ? most : Math.max(this.tallest, most);
    const { width } = this.size;
    const x = (ns) => (ns / this.spanNs) * (width - 48);
    const base = states.get(this.baseline);
    const toBeat = base?.reason ? x(decodeNs(base)) : null;
    for (const lane of this.lanes) drawLane(lane, states.get(lane.run.number), x, this.tallest, width, toBeat);
    this.#drawAxis(x, width);
  }

  #drawAxis(x, width) {
    const marks = ticks(this.spanNs / 1e6, Math.max(3, Math.round(width / 140)));
    this.axis.replaceChildren(
      ...marks.map((ms, i) => svg("text", { x: x(ms * 1e6), y: 12, "text-anchor": i ? "middle" : "start" }, i ? grouped(ms) : "0 ms")),
    );
  }
}

/** Under way the scale grows in steps, so that lanes do not creep with every round. */
function roomFor(longest, known) {
  if (known) return longest;
  const power = 2 ** Math.ceil(Math.log2(longest));
  return longest <= power * 0.75 ? power * 0.75 : power;
}

function drawLane(lane, state, x, tallest, width, toBeat) {
  lane.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  lane.element.classList.toggle("waiting", !state || !state.seq);
  const ground = svg("path", { class: "ground", d: `M0,${BASE}H${width}` });
  const line = toBeat === null ? "" : svg("path", { class: "beat", d: `M${toBeat},0V${HEIGHT}` });
  if (!state) {
    lane.svg.replaceChildren(ground, line);
    return write(lane.numbers, null);
  }
  const blocks = state.rounds.map((round, i) => block(round, i ? state.rounds[i - 1].verifyEnd : state.prefillNs, state, x, tallest));
  const end = x(decodeNs(state));
  lane.svg.replaceChildren(
    ground,
    line,
    svg("path", { class: "tokens", d: blocks.map((b) => b.tokens).join("") }),
    svg("path", { class: "drafting", d: blocks.map((b) => b.drafting).join("") }),
    state.rounds.length ? mark(lane.run.strategy, 5, end + 8, BASE - 6) : "",
    state.reason ? svg("path", { class: "finish", d: `M${end},${BASE + 4}V${TOP}` }) : "",
  );
  write(lane.numbers, state);
}

/** One round: its tokens above the ground, and on the ground the part of it that went into drafting. */
function block(round, from, state, x, tallest) {
  const left = x(from - state.prefillNs), right = x(round.verifyEnd - state.prefillNs);
  const gap = Math.min(1, (right - left) / 4);
  const high = ((round.accepted + 1) / tallest) * (BASE - TOP);
  const drafted = x(round.draftEnd - round.draftStart);
  return {
    tokens: `M${left.toFixed(1)},${BASE}V${(BASE - high).toFixed(1)}H${(right - gap).toFixed(1)}V${BASE}Z`,
    drafting: drafted > 0 ? `M${left.toFixed(1)},${BASE + 2}h${Math.max(0.5, drafted - gap).toFixed(1)}v3h${-Math.max(0.5, drafted - gap).toFixed(1)}Z` : "",
  };
}

const numbersIn = (element) =>
  Object.fromEntries([...element.querySelectorAll("[data-number]")].map((place) => [place.dataset.number, place]));

function write(numbers, state) {
  const ns = state ? decodeNs(state) : 0;
  say(numbers.tokens, state ? String(state.tokens.length) : "");
  say(numbers.speed, ns ? `${((state.tokens.length * 1e9) / ns).toFixed(0)}` : "");
  say(numbers.time, ns ? `${grouped(Math.round(ns / 1e6))} ms` : "");
}

export function say(place, text) {
  if (place && place.textContent !== text) place.textContent = text;
}
