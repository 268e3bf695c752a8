// Parallel coordinates: a line is a run. Dragging along an axis, or moving its two ends by key, asks for a range.

import { SIDE, TOP, layout, moved, passes, rounded, valueAt, withEnd, written } from "../core/axes.js";
import { svg } from "../core/svg.js";

const CLICK = 5; // pixels: a shorter drag clears

export class Parallel {
  /** `changed(ranges)` is called when somebody has let go. */
  constructor(place, chart, ranges, changed) {
    this.place = place;
    this.chart = chart;
    this.ranges = ranges;
    this.changed = changed;
  }

  draw() {
    const width = this.place.clientWidth || 600;
    const plan = (this.plan = layout(this.chart, width));
    this.lines = plan.lines.map((line) => [line.run, this.#line(line)]);
    this.axes = plan.axes.map((axis) => this.#axis(axis));
    const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${plan.height}`, role: "group",
      "aria-label": "Parallel coordinates: each axis has two ends to move; the runs that are left stand in the table below" },
      svg("g", { transform: `translate(${SIDE},${TOP})` },
        ...this.lines.map(([, path]) => path), ...this.axes.map(({ element }) => element)));
    picture.style.height = `${plan.height}px`;
    this.place.replaceChildren(picture);
    this.show();
  }

  /** Colours what is within the ranges; the rest stays as a shadow of itself. */
  show() {
    const length = this.plan.length;
    let count = 0;
    for (const [run, path] of this.lines) {
      const isIn = passes(run, this.ranges);
      count += isIn;
      path.classList.toggle("out", !isIn);
    }
    for (const { axis, range, ends } of this.axes) {
      const { from, to } = this.ranges[axis.name] ?? { from: null, to: null };
      const place = (value, usual) => length * ((Math.min(axis.high, Math.max(axis.low, value ?? usual)) - axis.low) / (axis.high - axis.low));
      const low = place(from, axis.low), high = place(to, axis.high);
      range.setAttribute("d", from === null && to === null ? "" : this.#along(axis.at, low, high));
      for (const [end, element, at, value] of [["from", ends.from, low, from], ["to", ends.to, high, to]]) {
        const [x, y] = this.#point(axis.at, at);
        element.setAttribute("transform", `translate(${x},${y})`);
        element.setAttribute("aria-valuenow", value ?? (end === "from" ? axis.low : axis.high));
        element.setAttribute("aria-valuetext", value === null ? "no bound" : written(value, axis.kind));
      }
    }
    return count;
  }

  focus(name) {
    this.place.querySelector(`[data-handle="${CSS.escape(name)}"]`)?.focus();
  }

  #point(at, along) {
    return this.plan.isUpright ? [at, this.plan.length - along] : [along, at];
  }

  #along(at, low, high) {
    return `M${this.#point(at, low)}L${this.#point(at, high)}`;
  }

  #line({ run, places }) {
    let pen = "M";
    const d = places.map((place) => {
      if (!place) { pen = "M"; return ""; }
      const [x, y] = this.#point(...place);
      const step = `${pen}${x.toFixed(1)},${y.toFixed(1)}`;
      pen = "L";
      return step;
    }).join("");
    return svg("path", { class: `line s-${run.strategy}${run.is_ranked ? "" : " unranked"}`, d },
      svg("title", {}, `${run.name} of ${run.comparison}`));
  }

  #axis(axis) {
    const { length, isUpright } = this.plan;
    const range = svg("path", { class: "range" });
    const ends = { from: this.#end(axis, "from"), to: this.#end(axis, "to") };
    const [x, y] = this.#point(axis.at, isUpright ? length : 0);
    const label = (value, along, anchor) => {
      const [lx, ly] = this.#point(axis.at, along);
      return svg("text", { x: lx, y: isUpright ? ly + (along ? -12 : 20) : ly + 18, "text-anchor": isUpright ? "middle" : anchor }, written(value, axis.kind));
    };
    const element = svg("g", { class: "axis" },
      svg("path", { class: "rule", d: this.#along(axis.at, 0, length) }), range,
      svg("text", { class: "name", x, y: isUpright ? y - 32 : y - 10, "text-anchor": isUpright ? "middle" : "start" }, axis.title),
      label(axis.low, 0, "start"), label(axis.high, length, "end"),
      svg("path", { class: "grip", d: this.#along(axis.at, 0, length) }), ends.from, ends.to);
    element.querySelector(".grip").addEventListener("pointerdown", (event) => this.#drag(event, axis));
    return { axis, element, range, ends };
  }

  #end(axis, end) {
    const name = `${axis.name}_${end}`;
    const element = svg("g", { class: `end ${end}`, role: "slider", tabindex: 0, "data-handle": name,
      "aria-label": `${axis.title} ${end === "from" ? "at least" : "at most"}`, "aria-valuemin": axis.low, "aria-valuemax": axis.high,
      "aria-orientation": this.plan.isUpright ? "vertical" : "horizontal" }, svg("circle", { r: 6 }));
    element.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const range = this.ranges[axis.name];
      if (event.key === "Escape") this.#set(axis, null);
      else {
        const value = moved(axis, end, range?.[end] ?? null, event.key);
        if (value === undefined) return;
        this.#set(axis, withEnd(range, end, value));
      }
      event.preventDefault();
      event.stopPropagation();
      this.#letGo(400);
    });
    return element;
  }

  #drag(event, axis) {
    event.preventDefault();
    const frame = event.target.ownerSVGElement.getBoundingClientRect();
    const { length, isUpright } = this.plan;
    const along = (moment) => (isUpright ? length - (moment.clientY - frame.top - TOP) : moment.clientX - frame.left - SIDE);
    const start = along(event);
    const move = (moment) => {
      const now = along(moment);
      const [low, high] = [start, now].sort((a, b) => a - b);
      const bound = (place, end) => (place <= 0 && end === "from") || (place >= length && end === "to") ? null : rounded(valueAt(axis, place, length), axis);
      this.#set(axis, high - low < CLICK ? null : { from: bound(low, "from"), to: bound(high, "to") });
    };
    const up = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", up);
      this.#letGo(0);
    };
    this.#set(axis, null);
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  }

  #set(axis, range) {
    const { [axis.name]: _, ...others } = this.ranges;
    this.ranges = range && (range.from !== null || range.to !== null) ? { ...others, [axis.name]: range } : others;
    this.show();
  }

  #letGo(after) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.changed(this.ranges), after);
  }
}
