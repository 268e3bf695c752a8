// The race: one lane per strategy on one clock. Each round is a block as wide as it took and as high as the tokens it
// gave, so a faster lane is a shorter one, and one sees why. A server's blocks are its deliveries.

import { inSteps, roomOf } from "./room.js";
import { become, sketch } from "../core/become.js";
import { mark, size, watchWidth, widthOf } from "../core/picture.js";
import { ticks } from "../core/stats.js";
import { brief, grouped, say } from "../core/words.js";
import { decodeNs, partsOf } from "./sample-state.js";

const HEIGHT = 44;
const AXIS = 18;
const BASE = 38; // where blocks stand
const TOP = 6;
const MARK = 5;
const EDGE = 48; // for the mark after the last round

export class RaceLanes {
  /** `lanes` is the element that holds a `[data-lane=run]` for each strategy, with an `svg` and places for numbers. */
  constructor(lanes, runs, baseline) {
    this.baseline = baseline; // whose time is the dotted line
    this.lanes = runs.map((run) => new Lane(run, lanes.querySelector(`[data-lane="${run.number}"]`)));
    this.axis = lanes.querySelector("[data-axis] svg");
    this.note = lanes.parentElement.querySelector("[data-cut]");
    watchWidth(this.axis, () => dispatchEvent(new Event("remeasured")));
    this.forget();
  }

  /** Another heat: nothing is known of the room it takes. */
  forget() {
    this.spanNs = 0;
    this.isCut = false;
    this.tallest = 2;
  }

  /** `states`: run → state. `lengths`: run → how long it takes, where all that is known; else the room grows under way. */
  draw(states, lengths) {
    this.#makeRoom(states, lengths);
    this.tallest = Math.max(this.tallest, ...[...states.values()].flatMap((state) => partsOf(state).map((round) => round.accepted + 1)));
    const width = widthOf(this.axis), edge = width - EDGE, x = (ns) => (ns / this.spanNs) * edge;
    const base = states.get(this.baseline);
    const toBeat = base?.reason ? x(decodeNs(base)) : null;
    const scale = `${this.spanNs} ${this.tallest} ${width} ${toBeat}`;
    const place = { x, edge, width, tallest: this.tallest, toBeat };
    for (const lane of this.lanes) lane.draw(states.get(lane.run.number), scale, place);
    if (scale !== this.scale) this.#drawAxis(x, width);
    this.scale = scale;
    this.note.hidden = !this.lanes.some((lane) => lane.isCut);
  }

  #makeRoom(states, lengths) {
    const { ns, isCut } = roomOf([...states].map(([run, state]) => ({
      ns: lengths?.get(run) ?? decodeNs(state),
      isOver: Boolean(lengths || state.reason),
      mayLeave: this.lanes.find((lane) => lane.run.number === run).run.mayLeave,
    })));
    const wanted = Math.max(ns, 1e6);
    if (wanted > this.spanNs || isCut !== this.isCut) this.spanNs = lengths ? wanted : inSteps(wanted);
    this.isCut = isCut;
  }

  #drawAxis(x, width) {
    const marks = ticks(this.spanNs / 1e6, Math.max(3, Math.round(width / 140)));
    size(this.axis, width, AXIS);
    become(this.axis,
      ...marks.map((ms, i) => sketch("text", { x: x(ms * 1e6), y: 12, "text-anchor": i ? "middle" : "start" }, i ? grouped(ms) : "0 ms")),
    );
  }
}

class Lane {
  constructor(run, element) {
    this.run = run;
    this.element = element;
    this.numbers = numbersIn(element);
    this.svg = element.querySelector(".track");
  }

  draw(state, scale, { x, edge, width, tallest, toBeat }) {
    if (state === this.state && scale === this.scale) return;
    this.state = state;
    this.scale = scale;
    size(this.svg, width, HEIGHT);
    this.element.classList.toggle("waiting", !state?.seq);
    const rounds = state ? partsOf(state) : [], end = state ? x(decodeNs(state)) : 0;
    this.isCut = end > edge + 1; // what goes on beyond the edge is not drawn
    const until = (ns) => Math.min(edge, x(ns));
    const blocks = rounds.map((round, i) => block(round, i ? rounds[i - 1].verifyEnd : state.prefillNs, state, until, tallest));
    const shapes = {
      ground: `M0,${BASE}H${width}`,
      beat: toBeat === null ? "" : `M${toBeat},0V${HEIGHT}`,
      tokens: blocks.map((b) => b.tokens).join(""),
      drafting: blocks.map((b) => b.drafting).join(""),
      finish: state?.reason && !this.isCut ? `M${end},${BASE + 4}V${TOP}` : "",
      "goes-on": this.isCut ? [4, 10].map((right) => `M${edge + right},${BASE - 20}l6,8l-6,8`).join("") : "",
    };
    become(this.svg, ...Object.entries(shapes).map(([name, d]) => sketch("path", { class: name, d })),
      rounds.length ? mark(this.run.strategy, MARK, (this.isCut ? edge + 20 : end) + 8, BASE - 6) : null);
    write(this.numbers, state);
  }
}

/** One round: its tokens above the ground, and on the ground the part of it that went into drafting. */
function block(round, from, state, x, tallest) {
  const left = x(from - state.prefillNs), right = x(round.verifyEnd - state.prefillNs);
  if (left === right) return { tokens: "", drafting: "" };
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
  say(numbers.tokens, state ? grouped(state.tokens.length) : "");
  say(numbers.speed, ns ? grouped(Math.round((state.tokens.length * 1e9) / ns)) : "");
  say(numbers.time, ns ? brief(ns) : "");
}
