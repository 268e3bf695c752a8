// Round by round: how far the draft looked ahead, how much it drafted, how much of that was kept, and how far it ought
// to have looked: the oracle's lookahead.

import { ticks } from "../core/stats.js";
import { measured, set, svg } from "../core/svg.js";

const HEIGHT = 120, LEFT = 24, BOTTOM = 20, TOP = 8;
const FEWEST = 24; // columns there is room for

/** One shape for all rounds of a kind, and for each round the place that shows it is looked at: texts come and go. */
export class Rounds {
  constructor(picture, onRound) {
    this.picture = picture;
    this.size = measured(picture);
    this.open = null;
    this.scale = "";
    this.grid = svg("g");
    this.columns = svg("g", { class: "columns" });
    const kinds = { drafted: "drafted", kept: "kept", asked: "asked", oracle: "oracle", least: "oracle least", bonus: "bonus" };
    this.paths = Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, svg("path", { class: kind })]));
    picture.replaceChildren(this.grid, this.columns, ...Object.values(this.paths));
    picture.addEventListener("pointerover", (event) => {
      const column = event.target.closest?.("[data-round]");
      if (column) onRound(Number(column.dataset.round));
    });
  }

  /** `whole` is all that is known of the sample, so that a replay does not rescale under way. */
  draw(state, whole, oracle) {
    const { width } = this.size;
    const bounds = whole.rounds.map(oracle);
    const most = Math.max(3, ...whole.rounds.map((round, i) => Math.max(round.lookahead, round.accepted + 1, bounds[i].lookahead)));
    const step = (width - LEFT) / roomFor(whole);
    const y = (count) => HEIGHT - BOTTOM - (count / most) * (HEIGHT - BOTTOM - TOP);
    this.#rescale(`${width} ${most}`, () => grid(most, y, width));
    const shapes = state.rounds.map((round, i) => column(round, LEFT + i * step, step, y, bounds[i]));
    for (const [name, path] of Object.entries(this.paths)) set(path, { d: shapes.map((shape) => shape[name]).join("") });
    while (this.columns.children.length > state.rounds.length) this.columns.lastChild.remove();
    state.rounds.forEach((round, i) => {
      const place = this.columns.children[i] ?? this.columns.appendChild(svg("rect", { y: 0, height: HEIGHT }));
      set(place, { "data-round": round.number, x: LEFT + i * step, width: step });
    });
    this.choose(this.open);
  }

  choose(number) {
    this.open = number;
    this.picture.querySelector(".open")?.classList.remove("open");
    this.picture.querySelector(`[data-round="${number}"]`)?.classList.add("open");
  }

  #rescale(scale, grid) {
    if (scale === this.scale) return;
    this.scale = scale;
    set(this.picture, { viewBox: `0 0 ${this.size.width} ${HEIGHT}` });
    this.grid.replaceChildren(...grid());
  }
}

/** Under way there is room for rounds to come, so that not each of them moves all columns. */
function roomFor({ rounds, reason }) {
  const least = Math.max(rounds.length, FEWEST);
  if (reason !== null) return least;
  const power = 2 ** Math.ceil(Math.log2(least));
  return least <= power * 0.75 ? power * 0.75 : power;
}

function grid(most, y, width) {
  return ticks(most, 3).filter(Number.isInteger).flatMap((count) => [
    svg("path", { class: "rule", d: `M${LEFT},${y(count)}H${width}` }),
    svg("text", { x: LEFT - 6, y: y(count) + 4, "text-anchor": "end" }, String(count)),
  ]);
}

/** Of one round, what it adds to each shape. */
function column(round, x, step, y, oracle) {
  const w = Math.max(1, step - Math.min(2, step / 4));
  const bar = (count) => (count ? `M${x},${y(0)}V${y(count)}h${w}V${y(0)}Z` : "");
  const level = (count) => (count ? `M${x},${y(count)}h${w}` : "");
  const dot = (r) => `M${x + w / 2 - r},${y(round.accepted + 0.5)}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
  return {
    drafted: bar(round.drafted.length),
    kept: bar(round.accepted),
    asked: level(round.lookahead),
    oracle: oracle.isLeast ? "" : level(oracle.lookahead),
    least: oracle.isLeast ? level(oracle.lookahead) : "",
    bonus: round.drafted.length && round.outcome === "bonus" ? dot(Math.min(3, w / 2)) : "",
  };
}
