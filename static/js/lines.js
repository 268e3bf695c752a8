// Tokens over time, a line per strategy: the steeper, the faster.

import uPlot from "../vendor/uplot.js";
import { roomOf } from "./room.js";
import { grouped } from "./stats.js";
import { mark, measured, set, svg } from "./svg.js";
import { decodeNs, progress } from "./trace.js";

const HEIGHT = 220;
const MARK = 4;

export class Lines {
  constructor(place, runs) {
    this.place = place;
    this.size = measured(place);
    this.runs = runs;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#forget());
    new MutationObserver(() => this.#forget()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  draw(states, chosen) {
    const known = this.runs.filter((run) => states.get(run.number)?.rounds.length);
    if (!known.length) return this.#forget();
    const tables = known.map((run) => {
      const points = progress(states.get(run.number));
      return [points.map((point) => point[0]), points.map((point) => point[1])];
    });
    this.ends = tables.map(([ms, tokens]) => [ms.at(-1), tokens.at(-1)]);
    this.until = roomOf(known.map((run) => {
      const state = states.get(run.number);
      return { ns: decodeNs(state), isOver: state.reason !== null, mayLeave: run.mayLeave };
    })).ns / 1e6;
    const signature = `${known.map((run) => run.number)} ${chosen} ${this.size.width}`;
    if (this.signature !== signature) this.#make(known, chosen, signature);
    this.plot.setData(uPlot.join(tables, tables.map(() => [2, 2])));
  }

  #make(known, chosen, signature) {
    this.#forget();
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const dash = (name) => (name ? color(name).split(" ").map(Number) : undefined);
    const axis = { stroke: color("soft"), grid: { stroke: color("rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    this.signature = signature;
    this.plot = new uPlot({
      width: this.size.width, height: HEIGHT, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: () => [0, this.until] } },
      axes: [{ ...axis, values: (_, values) => values.map((value, i) => (i ? grouped(value) : `${value} ms`)), size: 28 }, { ...axis, size: 40 }],
      series: [{}, ...known.map((run) => ({
        label: run.label, stroke: color(run.strategy), width: run.number === chosen ? 2.5 : 1.25, spanGaps: true,
        dash: dash(run.dash), points: { show: false },
      }))],
      hooks: { draw: [(plot) => this.#place(plot)] },
    }, [[]], this.place);
    this.marks = known.map((run) => svg("g", { class: `s-${run.strategy}` }, mark(run.strategy, MARK, 0, 0)));
    this.plot.over.append(svg("svg", { class: "ends" }, ...this.marks));
  }

  /** Each strategy's mark stands where its line ends; of a line that goes on, nowhere. */
  #place(plot) {
    this.marks.forEach((group, i) => {
      const [ms, tokens] = this.ends[i];
      set(group, {
        transform: `translate(${plot.valToPos(ms, "x")},${plot.valToPos(tokens, "y")})`,
        visibility: ms <= this.until ? "visible" : "hidden",
      });
    });
  }

  /** Colours are read once, so another theme or choice makes it anew. */
  #forget() {
    this.plot?.destroy();
    this.plot = null;
    this.signature = "";
  }
}
